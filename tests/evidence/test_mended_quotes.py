"""Altered quotes: found in their page, or not; nothing is invented."""

from __future__ import annotations

import pytest

from agent.evidence.citing import compose_answer
from agent.evidence.quoting import locate_quote, nearest_quote
from agent.slots.grounding import ground_rows
from agent.slots.reply_rows import SlotValue
from agent.state import Cited, Draft, Slot
from tests.evidence.test_evidence import source

PAGE = """# Port of Elmsworth

## History

The port of St. Anne (later Elmsworth) was opened in 1904 – two years late. It was paid for by
the county, which had sold its railway for 1.5 million crowns.

## Traffic

In 2019 the harbour handled 4,200 ships. Most of them carried timber from Norway and Sweden.
"""
OPENED = "The port of St. Anne (later Elmsworth) was opened in 1904 – two years late."
SHIPS = "In 2019 the harbour handled 4,200 ships."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        (OPENED, [OPENED]),
        (f"Traffic {OPENED}", [OPENED[:-1]]),
        ("The port of St. Anne, later Elmsworth, was opened in 1904", [OPENED[:57]]),
        (f"{OPENED} […] {SHIPS}", [OPENED[:-1], SHIPS[:-1]]),
        (f"**{OPENED[:-1]}** ... {SHIPS}", [OPENED[:-1], SHIPS[:-1]]),
        ("The port of St.", ["The port of St"]),
        ("the county, which had sold its railway", ["the county, which had sold its railway"]),
    ],
)
def test_a_quote_is_found_whatever_its_reader_did_to_it(quote: str, found: list[str]) -> None:
    page = source(PAGE)
    quotes = locate_quote(quote, page)
    assert [PAGE[one.start : one.end] for one in quotes] == [one.text for one in quotes]
    texts = [" ".join(one.text.split()).strip(".") for one in quotes]
    assert texts == [text.strip(".") for text in found]


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "The port was opened in 1904 by the queen, and blessed by a bishop from Rome.",
        "In 2018 the harbour handled 4,200 ships.",
        "sold its railway for 15 million crowns",
    ],
)
def test_words_that_are_nowhere_are_not_found(quote: str) -> None:
    assert locate_quote(quote, source(PAGE)) == ()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("The harbour handled some 4,200 ships in 2019", SHIPS),
        ("The harbour handled 4,300 ships in 2019", None),
        ("Denmark and Sweden sent most of the timber they carried", None),
        ("", None),
    ],
)
def test_the_nearest_sentence_has_the_numbers_and_the_names(wanted: str, found: str | None) -> None:
    quote = nearest_quote(wanted, source(PAGE))
    assert (quote and quote.text) == found


def test_a_marker_without_a_quote_gets_the_sentence_of_its_source() -> None:
    cited = (Cited(source=1),)
    draft = Draft(answer="The harbour handled 4,200 ships in 2019 [1].", citations=cited)
    answer, warnings = compose_answer(draft, [source(PAGE)])
    assert [quote.text for quote in answer.quotes] == [SHIPS] and not warnings
    assert answer.claims[0].verdict == "unchecked"


def test_a_value_keeps_its_quote() -> None:
    quotes = {f"{OPENED} […] {SHIPS}": [SHIPS[:-1]], "In 2018 the harbour handled 4,200 ships.": []}
    for quote, found in quotes.items():
        row = SlotValue(name="it", value="4,200", source=1, quote=quote)
        statements, _ = ground_rows([row], [Slot(name="it")], [source(PAGE)])
        assert [one.quote.text for one in statements] == found


def test_only_the_blanks_of_a_marker_are_taken_from_a_sentence() -> None:
    sentence = "Remove the .git folder :-) of the port"
    draft = Draft(answer=f"{sentence} [1] .", citations=(Cited(source=1, quote=sentence),))
    answered, _ = compose_answer(draft, [source(f"{sentence}.")])
    assert [claim.text for claim in answered.claims] == [f"{sentence}."]
