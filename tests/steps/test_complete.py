"""What `complete` means: each asked part is told, text and slots say the same, lists are whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent.outside import Task
from evals.harness import Bench, write_rows
from evals.scripted import Scripted, run_scripted, shown_sources

BRIDGE = "The Tarn Bridge was built in 1889. It was designed by Otto Weil. It is 330 metres long."
BUILT, LONG = "The Tarn Bridge was built in 1889.", "It is 330 metres long."
FERRY = "The Zum Ferry serves Alm, Bram, Cold and Dorn. It runs daily."
BULLETS = "The Zum Ferry serves these towns:\n\n- Alm\n- Bram\n- Cold\n- Dorn\n\nIt runs daily."
COUNT = "The Zum Ferry serves four towns. It stops at Alm. It also calls at Bram. It goes on north."
WHEN_AND_WHO = "When was the Tarn Bridge built and who designed it?"
WHEN, TOWNS = "When was the Tarn Bridge built?", "Which towns does the Zum Ferry serve?"
ALM = "It serves Alm and Bram"
LEFT_OUT = "Of a list of a source these are not told: Cold, Dorn."


class Reply(NamedTuple):
    """A question, the page, and what a reader replies: an answer, a quote, slots with values."""

    topic: str
    text: str
    answer: str
    quote: str
    slots: dict[str, tuple[str | None, str]] = {}
    other: str = ""  # another page


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

    texts = filter(None, (reply.text, reply.other))
    rows = [
        {"title": f"Page {n}", "text": t, "url": f"https://s{n}.org/"} for n, t in enumerate(texts)
    ]
    corpus = write_rows(tmp_path / "pages.jsonl", rows)
    run = run_scripted(reply.topic, Scripted(think), corpus, Bench(tmp_path, tmp_path))
    return run.answer()


@pytest.mark.parametrize(
    ("reply", "warning"),
    [
        (Reply(WHEN_AND_WHO, BRIDGE, "It was built in 1889", BUILT), "Not told: who designed it."),
        (
            Reply(WHEN_AND_WHO, BRIDGE, "Built in 1889", BUILT, {"facts": ("1889", BUILT)}),
            "Not told: who designed it.",
        ),
        (
            Reply("How long is the Tarn Bridge, and why was it built?", BRIDGE, "330 metres", LONG),
            "Not told: why was it built.",
        ),
        (Reply(WHEN, BRIDGE, "It is 330 metres long", LONG), f"Not told: {WHEN[:-1]}."),
        (Reply(TOWNS, FERRY, ALM, FERRY[:46]), LEFT_OUT),
        (Reply(TOWNS, FERRY, ALM, "The Zum Ferry serves Alm, Bram"), LEFT_OUT),
        (Reply(TOWNS, BULLETS, ALM, "- Alm\n- Bram"), LEFT_OUT),
        (Reply(TOWNS, COUNT, ALM, "It stops at Alm."), "A source counts 4, of which 2 are told."),
        (
            Reply(
                "When was Acme founded?",
                "Acme was founded in 1901.",
                "In 1901",
                "Acme was founded in 1901.",
                other="Acme was founded in 1911.",
            ),
            "The sources disagree about: answer.",
        ),
    ],
)
def test_an_answer_that_tells_half_is_partial(reply: Reply, warning: str, tmp_path: Path) -> None:
    answer = ask(reply, tmp_path)
    assert answer.status == "partial"
    assert warning in answer.warnings


@pytest.mark.parametrize(
    ("reply", "slots", "told"),
    [
        (  # a slot is not missing whose value the text tells
            Reply(WHEN, BRIDGE, "It was built in 1889", BUILT, {"year_built": (None, "")}),
            {"year_built": "1889"},
            "It was built in 1889 [1].",
        ),
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


# --- several right answers, without a model ------------------------------------------------------

OPEN = "Ada Bly won the Tarn Open in 2019. Cora Dent won the Tarn Open in 2020."
MAYORS = {"Iowa": "Ada Quill", "Ohio": "Bo Lind"}
PLANT = "Casgevy is made by Vertex Pharmaceuticals. In Europe Casgevy is made by Lonza Works."
COACH = "John Carver is an English football coach. John Carver was born in 1965."
OLD_RULE = "As of January 2021, employees have 25 days of holiday a year. Ask the team lead."
NEW_RULE = (
    "This handbook of 2026 replaces all earlier rules. Employees have 28 days of holiday a year."
)
STAFF = "Velmora Works has 4,200 employees."
EMPLOYS = "Velmora Works employs 3,850 people at three sites."
TWO = "Lund and Ystad are towns of the Hansa ring."
FOUR = "The Hansa ring has four towns: Lund, Ystad, Malmo and Visby. It was formed in 1340."
GUIDE = "The Orbita tower was designed by Ada Quill, our guide says."
BUILDER = "The architect of the Orbita tower was not Ada Quill but Bo Lind."
GOVERNOR = "John Carver was the first governor of Plymouth. John Carver was born in 1584."


@pytest.mark.parametrize(
    ("topic", "pages", "status", "said", "told"),
    [
        (
            "Who won the Tarn Open?",
            {"Tarn Open": OPEN},
            "complete",
            {"Cora Dent": "2020", "Ada Bly": "2019"},
            "2020: Cora Dent\n- Cora Dent won the Tarn Open in 2020 [1].",
        ),
        (  # one source tells both, so they do not disagree
            "Who makes Casgevy?",
            {"Casgevy": PLANT},
            "complete",
            {"Vertex Pharmaceuticals": "Vertex Pharmaceuticals", "Lonza Works": "Lonza Works"},
            "In Europe Casgevy is made by Lonza Works [1].",
        ),
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
        (  # the newer rule leads, though its sentence differs in nothing but its number
            "How many days of holiday do employees have?",
            {"Holiday policy 2021": OLD_RULE, "Handbook 2026": NEW_RULE},
            "complete",
            {"28 days": "2026", "25 days": "2021"},
            "2026: 28 days\n- Employees have 28 days of holiday a year [1].",
        ),
        (  # one part disputed: the sentence of the other keeps the one that it follows
            "When was Velmora Works founded and how many employees does it have?",
            {"Velmora Works": f"{STAFF} It was founded in 1951.", "About": EMPLOYS},
            "partial",
            {"4,200": "", "3,850": "", "1951": ""},
            f"\n\n{STAFF[:-1]} [1]. It was founded in 1951 [1].",
        ),
        (  # each slot has the sentence of its own part
            "Which towns are in the Hansa ring and when was it formed?",
            {"Members of the Hansa ring": FOUR},
            "complete",
            {FOUR.partition(" It")[0]: "", "1340": ""},
            "It was formed in 1340 [1].",
        ),
        (  # the text tells four towns, the slot two
            "Which towns are in the Hansa ring?",
            {"Members of the Hansa ring": FOUR, "Ring towns": TWO},
            "partial",
            {TWO: ""},
            f"{FOUR.partition('.')[0]} [2]",
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
def test_several_answers_are_told_each_with_its_source(
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
