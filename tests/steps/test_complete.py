"""What `complete` means: text and slots say the same, and each thing of a name has its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent.outside import Task
from evals.harness import Bench, write_rows
from evals.scripted import Scripted, run_scripted, shown_sources

BRIDGE = "The Tarn Bridge was built in 1889. It was designed by Otto Weil. It is 330 metres long."
BUILT = "The Tarn Bridge was built in 1889."
LONG = "It is 330 metres long."
WHEN = "When was the Tarn Bridge built?"


class Reply(NamedTuple):
    """A question, the page, and what a reader replies: an answer, a quote, slots with values."""

    topic: str
    text: str
    answer: str
    quote: str
    slots: dict[str, tuple[str | None, str]] = {}


def ask(reply: Reply, tmp_path: Path) -> Any:
    """The answer of a run whose reader replies so, whatever it is shown."""

    def think(task: Task[Any]) -> dict[str, Any]:
        shown = {source.n: source.text for source in shown_sources(task.prompt())}

        def holder(quote: str) -> int | None:
            return next((n for n, text in shown.items() if quote and quote in text), None)

        if task.name == "generate_queries":
            return {"queries": [], "slots": [{"name": name} for name in reply.slots]}
        if task.name == "verify":
            verdicts = range(1, task.prompt().count("<claim ") + 1)
            return {
                "verdicts": [{"claim": n, "verdict": "supported", "source": None} for n in verdicts]
            }
        rows = [
            {"name": name, "value": value, "source": holder(quote), "quote": quote}
            for name, (value, quote) in reply.slots.items()
        ]
        n = holder(reply.quote)
        cited = {
            "answer": f"{reply.answer} [{n}].",
            "citations": [{"source": n, "quote": reply.quote}],
        }
        return {"answerable": True, **cited, "slots": rows, "need_more": False, "new_queries": []}

    rows = [{"title": "Page", "text": reply.text, "url": "https://s.org/"}]
    corpus = write_rows(tmp_path / "pages.jsonl", rows)
    run = run_scripted(reply.topic, Scripted(think), corpus, Bench(tmp_path, tmp_path))
    return run.answer()


@pytest.mark.parametrize(
    ("reply", "slots", "told"),
    [
        (  # the text tells the length, the slot the year: both are told
            Reply(WHEN, BRIDGE, "It is 330 metres long", LONG, {"year": ("1889", BUILT)}),
            {"year": "1889"},
            "year: 1889",
        ),
        (  # of a length of time a question for a day asks for no list
            Reply(
                "What year is the Tarn Bridge from?",
                "The Tarn Bridge is from 1889, after five years of planning by Otto Weil.",
                "It is from 1889",
                "The Tarn Bridge is from 1889",
                {"year": ("1889", "The Tarn Bridge is from 1889")},
            ),
            {"year": "1889"},
            "It is from 1889 [1].",
        ),
    ],
)
def test_text_and_slots_say_the_same(
    reply: Reply, slots: dict[str, str], told: str, tmp_path: Path
) -> None:
    answer = ask(reply, tmp_path)
    assert answer.status == "complete"
    assert {name: slot.value for name, slot in answer.slots.items()} == slots
    assert told in answer.answer


# --- several things of one name, without a model -------------------------------------------------

MAYORS = {"Iowa": "Ada Quill", "Ohio": "Bo Lind"}
COACH = "John Carver is an English football coach. John Carver was born in 1965."
FOUR = "The Hansa ring has four towns: Lund, Ystad, Malmo and Visby. It was formed in 1340."
GUIDE = "The Orbita tower was designed by Ada Quill, our guide says."
BUILDER = "The architect of the Orbita tower was not Ada Quill but Bo Lind."
GOVERNOR = "John Carver was the first governor of Plymouth. John Carver was born in 1584."


@pytest.mark.parametrize(
    ("topic", "pages", "status", "said", "told"),
    [
        (  # two sources, each with one: perhaps two people, perhaps an error of one
            "When was John Carver born?",
            {"John Carver": COACH, "John Carver ": GOVERNOR},
            "partial",
            {"1965": "", "1584": ""},
            "when: 1965 (John Carver is an English football coach) / 1584 (John Carver was the",
        ),
        (  # the question says of which
            "Who is the mayor of Zum in Ohio?",
            {f"Zum ({of})": f"The mayor of Zum is {who}." for of, who in MAYORS.items()},
            "complete",
            {"Bo Lind": ""},
            "The mayor of Zum is Bo Lind [1].",
        ),
        (  # of two towns of one name, each with its own
            "Who is the mayor of Zum?",
            {f"Zum ({of})": f"The mayor of Zum is {who}." for of, who in MAYORS.items()},
            "complete",
            {who: f"Zum ({of})" for of, who in MAYORS.items()},
            "Zum (Iowa): Ada Quill\n- The mayor of Zum is Ada Quill [1].",
        ),
        (  # each slot has the sentence of its own part
            "Which towns are in the Hansa ring and when was it formed?",
            {"Members of the Hansa ring": FOUR},
            "complete",
            {FOUR.partition(" It")[0]: "", "1340": ""},
            "It was formed in 1340 [1].",
        ),
        (  # a page says that it is not so
            "Who designed the Orbita tower?",
            {"Orbita tower": BUILDER, "Tower guide": GUIDE},
            "partial",
            {"Ada Quill": ""},
            "was not Ada Quill but Bo Lind",
        ),
    ],
)
def test_each_thing_of_a_name_is_told_with_its_source(
    topic: str, pages: dict[str, str], status: str, said: dict[str, str], told: str, tmp_path: Path
) -> None:
    rows = [
        {"title": title, "text": text, "url": f"https://s{n}.org/"}
        for n, (title, text) in enumerate(pages.items())
    ]
    corpus = write_rows(tmp_path / "pages.jsonl", rows)
    answer = Bench(tmp_path, tmp_path).run(topic, corpus).answer()
    slots = answer.slots.values()
    values = {str(one.value): one.of for slot in slots for one in (slot, *slot.alternatives)}
    assert (answer.status, values) == (status, said)
    assert told in answer.answer
