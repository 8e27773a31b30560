"""Things of one name are kept apart; sources that disagree about one thing are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.run.begin import research
from agent.settings import Settings
from agent.slots.grounding import ground_rows
from agent.slots.reply_rows import SlotValue
from agent.slots.weighing import make_findings
from agent.state import Finding, Page, Slot, Source
from tests.support.typed_slots import build_source

TOPIC = "When was Ida Morn born?"
SINGER = "Ida Morn is a Danish singer with four albums made in Aarhus. Ida Morn was born in {}."
JUDGE = "Ida Morn sat in the high court at Leeds for twenty winters. Ida Morn was born in {}."


def titled(n: int, title: str, text: str, host: str = "") -> Source:
    source = build_source(n, text)
    page = source.page
    moved = Page.from_text(f"https://{host or f's{n}.com'}/{n}", title, text, page.retrieved_at)
    return source.model_copy(update={"page": moved})


JUDGED = titled(2, "Ida Morn (judge)", JUDGE.format(1931))
TWO = (titled(1, "Ida Morn (singer)", SINGER.format(1990)), JUDGED)


def find(
    topic: str, *sources: Source, values: tuple[str, ...], of: tuple[str, ...] = ()
) -> Finding:
    """The finding of a slot of which each source states a value in its last sentence."""
    rows = [
        SlotValue(name="born", value=value, source=source.n, quote=value, of=thing)
        for source, value, thing in zip(sources, values, of or ("",) * len(values), strict=True)
    ]
    slots = (Slot(name="born"),)
    statements, _ = ground_rows(rows, slots, sources)
    return make_findings(slots, statements, sources, topic)[0]


def things(finding: Finding) -> list[str]:
    return [finding.of, *(other.of for other in finding.alternatives)]


@pytest.mark.parametrize(
    ("one", "other", "are_two"),
    [
        ("Ida Morn (singer)", "Ida Morn (judge)", True),
        ("Ida Morn", "Ida Morn", False),  # nothing distinguishes them
        ("Ida B. Morn", "Ida Morn", False),
        ("Ida Morn (1931)", "Ida Morn (1990)", False),  # may be two editions of one
        ("Ida Morn (singer)", "A page about courts", False),
    ],
)
def test_titles_tell_things_apart(one: str, other: str, are_two: bool) -> None:
    sources = titled(1, one, SINGER.format(1990)), titled(2, other, JUDGE.format(1931))
    finding = find(TOPIC, *sources, values=("1990", "1931"))
    assert finding.status == ("filled" if are_two else "conflict")
    assert all(things(finding)) is are_two and len({*things(finding)}) == 1 + are_two


def test_a_reference_work_has_one_page_for_each_thing() -> None:
    texts = ("Marl is a town on the river Ell. It has 900 people.", "Marl has 70 people.")
    titles = ("Marl", "Marl, Ohio")
    pair = [titled(n + 1, titles[n], texts[n], "en.wikipedia.org") for n in (0, 1)]
    finding = find("How many people has Marl?", *pair, values=("900", "70"))
    assert finding.status == "filled" and finding.alternatives[0].of == "Marl, Ohio"


def test_a_topic_that_says_which_one_gets_that_one() -> None:
    finding = find("When was the judge Ida Morn born?", *TWO, values=("1990", "1931"))
    assert (finding.value, finding.status, finding.alternatives) == ("1931", "filled", ())


def test_within_one_thing_sources_may_still_disagree() -> None:
    third = titled(3, "Ida Morn (judge)", "At Leeds sat Ida Morn. It is said she was born in 1940.")
    finding = find(TOPIC, *TWO, third, values=("1990", "1931", "1940"))
    assert finding.status == "conflict" and len({*things(finding)}) == 2


def test_what_a_model_says_of_a_thing_counts_if_its_source_has_the_words() -> None:
    page = "Ida Morn may be a singer, born in 1990, or a judge, who was born in 1931."
    source = titled(1, "Names", page)
    for of, are_two in ((("singer", "judge"), True), (("dancer", "pilot"), False)):
        finding = find(TOPIC, source, source, values=("1990", "1931"), of=of)
        assert (finding.status == "filled") is are_two
        assert things(finding) == ([*of] if are_two else ["", ""])
    long = find(TOPIC, source, values=("1990",), of=("judge " * 200,))
    assert long.of == ""  # bounded


@pytest.mark.parametrize(
    ("topic", "slots"),
    [
        ("Who is the mayor of Zum in Ohio?", {"mayor": "Bo Lind"}),
        ("Who is the mayor of Zum?", {}),  # of two towns of one name
    ],
)
def test_a_question_that_is_of_two_things_is_not_answered_of_one(
    topic: str, slots: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {
            "title": f"Zum ({of})",
            "text": f"Zum is a town.\n\nMayor: {who}",
            "url": f"https://{of}.org/",
        }
        for of, who in (("Iowa", "Ada Quill"), ("Ohio", "Bo Lind"))
    ]
    corpus = tmp_path / "pages.jsonl"
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answer = research(topic, Settings(offline=True, corpus=str(corpus))).answer()
    found = {name: slot.value for name, slot in answer.slots.items() if slot.value}
    assert (answer.status, found) == ("partial", slots)
