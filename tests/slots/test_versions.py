"""Values of several times: the newest holds, and the older one keeps its day."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent import research
from agent.settings import Settings
from agent.slots.grounding import ground_rows
from agent.slots.rows import SlotValue
from agent.slots.versions import group_by_time, is_time
from agent.state import Page, Slot, Source
from tests.support.typed_slots import build_source

TOPIC = "How many days of holiday do employees of Velmora Works have?"
OLD = "Every employee of Velmora Works has 25 days of holiday a year."
NEW = "Employees of Velmora Works have 28 days of holiday a year."


def dated(n: int, title: str, text: str, date: str) -> Source:
    source = build_source(n, text)
    page = Page.from_text(f"https://s{n}.com/", title, text, source.page.retrieved_at)
    return source.model_copy(update={"page": page.model_copy(update={"date": date})})


def order(*sources: Source, values: tuple[str, ...], topic: str = TOPIC) -> list[tuple[str, str]]:
    rows = [
        SlotValue(name="days", value=value, source=source.n, quote=value)
        for source, value in zip(sources, values, strict=True)
    ]
    said, _ = ground_rows(rows, (Slot(name="days"),), sources)
    groups = group_by_time(said, sources, topic)
    return [(time, str(own[0].value)) for time, own in groups]


TWO = ("Handbook 2021", OLD, "2021-03-01"), ("Handbook 2026", NEW, "2026-01-10")
NEWS = "This rule replaces all earlier ones. " + NEW


@pytest.mark.parametrize(
    ("pages", "values", "expected"),
    [
        (TWO, ("25", "28"), [("2026", "28"), ("2021", "25")]),
        (TWO[::-1], ("28", "25"), [("2026", "28"), ("2021", "25")]),
        (
            (("Rules", OLD, "2021-03-01"), ("News", NEWS, "2026-01-10")),
            ("25", "28"),
            [("2026-01-10", "28"), ("2021-03-01", "25")],
        ),
        (
            (
                ("A", "As of 2019 the firm has 300 people.", ""),
                ("B", "In 2025, the firm had 420 people.", ""),
            ),
            ("300", "420"),
            [("2025", "420"), ("2019", "300")],
        ),
        # the day of a page alone, and a year that is of something else, tell nothing
        ((("Rules", OLD, "2021-03-01"), ("News", NEW, "2026-01-10")), ("25", "28"), []),
        (
            (
                ("A", "The tower is 330 m tall, built in 1889.", ""),
                ("B", "It is 324 m tall, begun in 1887.", ""),
            ),
            ("330 m", "324 m"),
            [],
        ),
        ((("Orbit (1990)", OLD, ""), ("Orbit (2001)", NEW, "")), ("25", "28"), []),
    ],
)
def test_which_value_is_the_newest(
    pages: tuple[Any, ...], values: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    sources = [dated(n, *page) for n, page in enumerate(pages, 1)]
    assert order(*sources, values=values) == expected
    assert not order(*sources, values=values, topic=f"{TOPIC[:-1]} in 2021?")


def test_a_value_that_was_kept_is_of_its_newest_time() -> None:
    sources = [dated(n, f"Handbook {year}", OLD, "") for n, year in enumerate((2020, 2021), 1)]
    sources.append(dated(3, "Handbook 2026", NEW, ""))
    assert order(*sources, values=("25", "25", "28")) == [("2026", "28"), ("2021", "25")]
    assert is_time("2026") and is_time("2026-01-10") and not is_time("1 Main Street")


def test_the_newer_rule_is_told_first_and_the_older_with_its_year(tmp_path: Path) -> None:
    for name, year, text in (("a", 2021, OLD), ("b", 2026, f"This replaces all others. {NEW}")):
        head = f"---\ntitle: Staff handbook {year}\ndate: {year}-02-01\n---\n"
        (tmp_path / f"{name}.md").write_text(f"{head}# Staff handbook {year}\n\n{text}\n")
    answer = research(TOPIC, Settings(offline=True, corpus=str(tmp_path))).answer()
    slot = answer.slots["how_many"]
    assert (slot.value, slot.of, slot.status) == ("28 days", "2026", "filled")
    assert [(one.value, one.of) for one in slot.alternatives] == [("25 days", "2021")]
    assert [claim.text for claim in answer.claims] == [NEW, OLD]
    assert [claim.intro for claim in answer.claims] == ["2026: 28 days", "2021: 25 days"]
    assert "disagree" not in json.dumps(answer.warnings)


def test_anybody_can_write_a_date_and_a_word() -> None:
    """A page of no standing replaces none of a reference work; nor does a word far off."""
    work = dated(1, "Holiday", OLD, "2021-03-01")
    moved = work.page.model_copy(update={"url": "https://en.wikipedia.org/wiki/Holiday"})
    claimed = dated(2, "News", f"This page replaces all others. {NEW}", "2026-01-10")
    standing = (work.model_copy(update={"page": moved}), claimed)
    assert not order(*standing, values=("25", "28"))
    assert order(work, claimed, values=("25", "28"))[0] == ("2026-01-10", "28")
    filler = "The canteen serves soup. " * 40
    far = dated(2, "News", f"{filler}A new pump replaces the old. {filler}{NEW}", "2026-01-10")
    assert not order(work, far, values=("25", "28"))


def test_things_of_one_name_are_no_versions(tmp_path: Path) -> None:
    """Two films of two years are two things, although each sentence names its year."""
    films = {"1931": "Tod Browning", "1979": "John Badham"}
    said = "Dracula is a {} horror film directed by {}."
    rows = [
        {"title": f"Dracula ({year} film)", "text": said.format(year, name)}
        for year, name in films.items()
    ]
    corpus = tmp_path / "films.jsonl"
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answer = research("Who directed Dracula?", Settings(offline=True, corpus=str(corpus))).answer()
    (slot,) = answer.slots.values()
    told = {slot.of: slot.value} | {other.of: other.value for other in slot.alternatives}
    assert told == {f"Dracula ({year} film)": name for year, name in films.items()}
