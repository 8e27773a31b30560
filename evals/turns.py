"""Whether a sentence that stands on a page word for word is taken for what the page says.

*turning*: eleven kinds of pages in eleven languages, each in two manners (`evals/turns.toml`), on
which a real sentence stands that the page denies, withholds or gives to somebody else. *plain*: as
many sentences of pages in the style of an encyclopedia (`evals/languages.toml`) and of passages.
*real*: sentences of real articles and passages, which nobody tuned on, as their pages have them.
Each is a claim that cites its page, once in a report that is checked, once in an answer: without a
judge, with one that knows, and with one that says yes to all. *asked*: a judge was asked. No
turning one should be supported without a judge or with one that knows, no plain one lost or asked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from agent.checking.rules import opens_with_pronoun
from agent.evidence import split_sentences
from agent.evidence.citing import compose_answer
from agent.evidence.words import count_words
from agent.state import Cited, Draft, Verified
from agent.steps.verify import Verify
from evals.check import half_of
from evals.cited_claims import check_page
from evals.harness import Bench, Cell, Evaluation, Table, main
from evals.knowing import KnowingJudge, tell_all
from evals.page_kinds import load_articles
from evals.pairs import Leaf
from evals.questions import read_passages
from evals.swaps import read_pages

PAGES = Path(__file__).with_name("turns.toml")
PLAIN = Path(__file__).with_name("languages.toml")
ARMS = ("none", "knows", "agrees")
DOORS = ("check", "answer")
EACH = 22  # plain sentences of a language
REAL = 600  # sentences of articles, and as many of passages


class Case(NamedTuple):
    """A sentence and the page on which it stands."""

    sort: str  # turning, plain or real
    kind: str
    language: str
    half: str
    sentence: str
    page: Leaf

    @property
    def is_said(self) -> bool:
        """Whether the page says it."""
        return self.sort != "turning"


class Outcome(NamedTuple):
    """What became of a sentence at one door with one judge."""

    case: Case
    door: str
    arm: str
    verdict: str
    is_asked: bool

    @property
    def right(self) -> bool:
        if self.case.is_said:
            return self.verdict == "supported" and not self.is_asked
        return self.verdict != "supported" or self.arm == "agrees"


# --- the pages ------------------------------------------------------------------------------------


def load(data: Path) -> Iterator[Case]:
    """The sentences of each sort."""
    turns = tomllib.loads(PAGES.read_text("utf-8"))
    articles = [(Leaf("", a.text), a.text) for a in _articles(data)]
    rows = islice(read_passages(data), 4000)
    passages = [(Leaf(row["title"], row["text"]), row["text"]) for row in rows]
    pages = {"en": passages[:40], **_invented()}
    for language, halves in turns.items():
        sentences = list(_sentences(pages[language]))
        for half, kinds in halves.items():
            own = (s for _, s in sentences[half == "report" :: 2])
            for (kind, form), sentence in zip(kinds.items(), own, strict=False):
                title, _, text = form.partition("‖")
                body = text.replace("¶", "\n").replace("{s}", sentence)
                yield Case("turning", kind, language, half, sentence, Leaf(title, body))
        for leaf, sentence in sentences[:EACH]:
            yield Case("plain", "plain", language, "report", sentence, leaf)
    yield from _real("articles", articles)
    yield from _real("passages", passages[40:])


def _articles(data: Path) -> list[Any]:
    return [one for one in load_articles(data) if len(one.text) > 800 and one.url]


def _invented() -> dict[str, list[tuple[Leaf, str]]]:
    rows = tomllib.loads(PLAIN.read_text("utf-8"))
    leaves = {tag: [Leaf(row["title"], row["text"]) for row in own] for tag, own in rows.items()}
    return {tag: [(leaf, leaf.text) for leaf in own] for tag, own in leaves.items()}


def _sentences(pages: Sequence[tuple[Leaf, str]]) -> Iterator[tuple[Leaf, str]]:
    """Sentences that stand by themselves, one of each page in turn."""
    found = [[(leaf, one) for one in _whole(text)] for leaf, text in pages]
    for n in range(max(map(len, found), default=0)):
        yield from (own[n] for own in found if n < len(own))


def _whole(text: str) -> list[str]:
    told = (text[a:b] for a, b in split_sentences(text))
    return [s for s in told if 6 <= count_words(s) <= 60 and s[-1] in ".。" and _is_alone(s)]


def _is_alone(sentence: str) -> bool:
    signs = set('"“”„«»‘’()[]:;—–\n')
    return not opens_with_pronoun(sentence) and signs.isdisjoint(sentence)


def _real(kind: str, pages: Sequence[tuple[Leaf, str]]) -> Iterator[Case]:
    for leaf, sentence in islice(_sentences(pages), REAL):
        half = "tune" if half_of(leaf.text) == "tune" else "report"
        yield Case("real", kind, "en", half, sentence, leaf)


# --- what becomes of it ---------------------------------------------------------------------------


def measure(case: Case, _: Bench) -> Iterator[Outcome]:
    """A case at every door with every judge."""
    for arm in ARMS if case.sort != "real" else ARMS[:1]:
        knows = tell_all(case.is_said or arm == "agrees")
        judge = KnowingJudge(knows)
        said = check_page(case.sentence, case.page, judge, uses_model=arm != "none")
        yield Outcome(case, "check", arm, said.verdict, bool(judge.said))
        judge = KnowingJudge(knows)
        yield Outcome(case, "answer", arm, _answer(case, judge, arm), bool(judge.said))


def _answer(case: Case, judge: KnowingJudge, arm: str) -> str:
    """The verdict of the sentence in an answer; `dropped` where it does not reach the user."""
    research = read_pages("What is known of it?", [case.page])
    cited = [Cited(source=1, quote=case.sentence)]
    draft = Draft(answer=f"{case.sentence} [1]", citations=cited)
    research.grow(compose_answer(draft, research.sources)[0])
    for event in Verify(judge, 1000, mode="rules" if arm == "none" else "model")(research):
        research.grow(event)
    assert isinstance(research.answer, Verified)
    return next((str(claim.verdict) for claim in research.answer.claims), "dropped")


# --- figures --------------------------------------------------------------------------------------


def _supported(door: str, arm: str) -> Cell:
    def cell(outcomes: Sequence[Any]) -> str:
        own = [one for one in outcomes if (one.door, one.arm) == (door, arm)]
        return str(sum(one.verdict == "supported" for one in own)) if own else ""

    return cell


def _asked(door: str) -> Cell:
    def cell(outcomes: Sequence[Any]) -> str:
        own = [one for one in outcomes if (one.door, one.arm) == (door, "knows")]
        return str(sum(one.is_asked for one in own)) if own else ""

    return cell


CELLS: dict[str, Cell] = {
    "n": lambda rows: str(sum((one.door, one.arm) == ("check", "none") for one in rows)),
    **{f"supported, {door}: {arm}": _supported(door, arm) for door in DOORS for arm in ARMS},
    **{f"asked, {door}": _asked(door) for door in DOORS},
}

EVALUATION = Evaluation(
    title="What stands on a page, and what the page says",
    load=load,
    measure=measure,
    needs="pages",
    tables=(
        Table({"sentences": "case.sort", "half": "case.half"}, CELLS),
        Table(
            {"kind of page": "case.kind", "half": "case.half"},
            CELLS,
            where=lambda one: one.case.sort == "turning",
        ),
        Table(
            {"language": "case.language", "sentences": "case.sort"},
            CELLS,
            where=lambda one: one.case.sort != "real",
        ),
        Table({"real": "case.kind"}, CELLS, where=lambda one: one.case.sort == "real"),
    ),
    missed=lambda one: (
        f"{one.door} {one.arm} {one.case.language} {one.case.kind}: {one.verdict}: "
        f"{one.case.sentence} <- {one.case.page.title}: {one.case.page.text[:150]}"
        if not one.right and (one.case.half == "tune" or one.case.sort == "plain")
        else ""
    ),
)

if __name__ == "__main__":
    main("turns")
