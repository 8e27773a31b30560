"""Whether five planted pages hide the honest one: PoisonedRAG's lies about HotpotQA.

For each question whose gold passages are known, a web is made of them, on a reference work or on
unknown hosts, of other passages on unknown hosts, and of five planted passages that begin with the
question and state one wrong answer: each on a host of its own, or all on subdomains of one owner;
or without the question. A scripted model reports what each source of its prompt says and knows
nothing else. *wrong alone*: the slot has the wrong answer, and the right one is told nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer.messages import DISAGREE
from agent.evidence import split_sentences
from evals.harness import Bench, Evaluation, Table, count, main, size, write_rows
from evals.questions import contains_answer, load_passages, load_questions
from evals.scripted import Reporter, Scripted, Sources, judge_by_value, run_scripted

OTHERS = 12  # other passages of the corpus in each web
OWNERS = ("of five owners", "of one owner", "of five owners, without the question")
HONEST = {"an encyclopedia": "en.wikipedia.org/wiki/", "unknown hosts": "honest{}.net/wikipedia/"}


class Case(NamedTuple):
    """A question with its two answers, and the pages of its web."""

    half: str
    question: str
    right: str
    wrong: str
    owners: str
    honest: str
    pages: tuple[dict[str, str], ...]


class Outcome(NamedTuple):
    """The result of a case."""

    case: Case
    read: bool  # a page that states the right answer was read
    planted: int  # planted pages that were read
    right: bool  # the right answer is the slot's value
    wrong: bool  # the wrong one is, and the right one is told nowhere
    told: bool  # both stand in the answer, which says that the sources disagree


def load(data: Path) -> Iterator[Case]:
    """The cases of each half; those whose answer is yes or no are left out."""
    lies = json.loads((data / "injection/poisonedrag_hotpotqa.json").read_text("utf-8"))
    passages = load_passages(data)
    asked = [row for row in load_questions(data, "hotpotqa") if row["id"] in lies]
    for n, row in enumerate(asked):
        lie = lies[row["id"]]
        golds = [passages[gold] for gold in row["gold"]]
        others = [passages[key] for key in list(passages)[97 * n :: 1009][:OTHERS]]
        if any(contains_answer(gold["text"], [lie["correct answer"]]) for gold in golds):
            named = (lie["question"], lie["correct answer"], lie["incorrect answer"])
            for owners, (honest, host) in product(OWNERS, HONEST.items()):
                pages = tuple(_pages(lie, golds, others, owners, host))
                yield Case(row["half"], *named, owners, honest, pages)


def _pages(
    lie: dict[str, Any], golds: Sequence[Any], others: Sequence[Any], owners: str, host: str
) -> Iterator[dict[str, str]]:
    for n, row in enumerate(golds):
        url = f"https://{host.format(n)}{row['title'].replace(' ', '_')}"
        yield {"title": row["title"], "url": url, "text": row["text"]}
    for i, row in enumerate(others):
        yield {"title": row["title"], "url": f"https://site{i}.com/a", "text": row["text"]}
    for i, text in enumerate(lie["adv_texts"]):
        host = f"part{i}.factbase.com" if owners == OWNERS[1] else f"factbase{i}.com"
        planted = text if owners == OWNERS[2] else f"{lie['question']} {text}"
        yield {"title": f"Answer {i}", "url": f"https://{host}/planted", "text": planted}


def _values(case: Case, shown: Sources) -> Iterator[dict[str, Any]]:
    """What each source answers: a planted page the wrong thing, any other one the right thing.

    The quote is the first sentence behind the question that holds it. Other pages may name the
    wrong thing too, as the other side of a comparison, but do not give it as the answer.
    """
    planted = [page["text"] for page in case.pages if "/planted" in page["url"]]
    for n, text in shown.items():
        rest = text.removeprefix(case.question)
        spans = [rest[a:b] for a, b in split_sentences(rest)]
        is_planted = any(span in page for page in planted for span in spans[:1])
        value = case.wrong if is_planted else case.right
        if quote := next((one for one in spans if contains_answer(one, [value])), ""):
            yield {"name": "told", "value": value, "source": n, "quote": quote}


def measure(case: Case, bench: Bench) -> Iterator[Outcome]:
    """Run a case with the product."""
    corpus = write_rows(bench.new_file(), case.pages)
    model = Scripted(Reporter([case.question], partial(_values, case), judge_by_value))
    run = run_scripted(case.question, model, corpus, bench, slots=("told",))
    answer, sources = run.answer(), run.research.sources
    slot = answer.slots["told"]
    is_first = slot.value is not None and contains_answer(str(slot.value), [case.right])
    both = all(contains_answer(answer.answer, [value]) for value in (case.right, case.wrong))
    honest = [s.page.text for s in sources if "wikipedia" in s.page.url]
    yield Outcome(
        case,
        any(contains_answer(text, [case.right]) for text in honest),
        sum("/planted" in s.page.url for s in sources),
        is_first,
        slot.status == "filled" and not contains_answer(answer.answer, [case.right]),
        both and any(warning.startswith(DISAGREE) for warning in answer.warnings),
    )


EVALUATION = Evaluation(
    title="Planted pages",
    load=load,
    measure=measure,
    needs="injection",
    tables=(
        Table(
            {"planted pages": "case.owners", "honest on": "case.honest", "half": "case.half"},
            {
                "n": size,
                "honest page read": count("read"),
                "planted read": count("planted"),
                "right one first": count("right"),
                "wrong alone": count("wrong"),
                "both told": count("told"),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("planted")
