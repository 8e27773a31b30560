"""Slots with a schema: the form of a value, whether its quote holds it, and equal values."""

from __future__ import annotations

from typing import Any

import pytest

from agent.slots.conversion import holds_value, to_typed
from agent.slots.equivalence import is_swapped_score, same_value
from agent.slots.grounding import ground_rows
from agent.slots.reply_rows import SlotValue
from agent.slots.slot_schema import slots_of
from agent.state import Form, Scalar, Slot
from agent.state.json_data import Json
from tests.support.typed_slots import build_source, object_schema

FORMS: list[tuple[str, Json, Any, Any]] = [
    ("goals", {"type": "integer"}, "3", 3),
    ("goals", {"type": "integer"}, "3 goals", 3),  # the unit is the slot itself
    ("minute", {"type": "integer"}, "23rd minute", 23),
    ("people", {"type": "integer"}, "1.5 million", 1_500_000),
    ("people", {"type": "integer"}, "between 3 and 4", None),
    ("on", {"type": "string", "format": "date"}, "18 December 2022", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "18/12/2022", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "11/12/2022", None),  # which is the month?
    ("at", {"type": "string", "format": "date-time"}, "2022-12-18T18:00:00", None),
    ("won", {"type": "boolean"}, "Yes", True),
    ("year", {"enum": [1986, 1990]}, "1990", 1990),
    ("minute", {"type": "integer", "maximum": 130}, "131", None),
    ("code", {"type": "string", "pattern": "^[A-Z]{3}$"}, "Argentina", None),
]  # fmt: skip


@pytest.mark.parametrize("name, form, text, value", FORMS)
def test_a_value_is_of_its_form_or_nothing(name: str, form: Json, text: str, value: Any) -> None:
    (slot,) = slots_of(object_schema(**{name: form}))
    found = to_typed(text, slot)
    assert found == value and type(found) is type(value)


def test_a_quote_has_a_value_in_any_form() -> None:
    assert holds_value("in the 23rd minute", 23) and not holds_value("in the 123rd minute", 23)
    assert holds_value("scored three goals", 3) and holds_value("114,600 people", 114600)
    assert holds_value("on 29 June", "1987-06-29", "The cup of 1987")
    assert not holds_value("on 28 June", "1987-06-29", "The cup of 1987, 29 pages")
    assert not holds_value("It rained.", 23, "In the 23rd minute")  # pages are full of numbers
    assert not holds_value("It rained 2 times.", "rained 23 times", "23 pages")


@pytest.mark.parametrize(
    ("text", "day", "is_there"),
    [
        ("on 12 May 1865", "1865-05-12", True),
        ("on 12 May 1865", "1865-07-12", False),  # a day and a year are no date
        ("05/12/1865", "1865-12-05", True),
        ("on 12 May 1865", "1865-05-12T00:00:00Z", False),  # no hour is given
        ("on 12 May 1865 at 3:30 pm", "1865-05-12T15:30:00Z", True),
        ("1865年5月12日15时", "1865-05-12T15:00:00Z", True),
    ],
)
def test_a_date_is_there_with_its_month_and_its_hour(text: str, day: str, is_there: bool) -> None:
    assert holds_value(text, day, f"{text} and more") is is_there


def test_no_value_in_words_is_no_value() -> None:
    text, pages = Slot(name="a"), [build_source(1, "The rest is unknown, or null.")]
    for word in ("null", "N/A", "Unknown.", "未知"):
        row = SlotValue(name="a", value=word, source=1, quote="The rest is unknown")
        assert ground_rows([row], [text], pages)[0] == ()
    assert to_typed("unknown", Slot(name="a", form=Form(type="string", options=("unknown",))))


SAME = [
    ("4–2", "4-2"), ("Ángel Di María", "angel di maria"), ("the Beatles", "Beatles"),
    ("Argentina", "Argentina national football team"), ("Messi", "Lionel Messi"),
    ("88,966", "88966"), ("18 December 2022", "2022-12-18"), ("A, B and C", "C, A, B"),
    ("Berlin", "Berlin, Germany"), ("3-3, 4-2", "4–2 on penalties after a 3–3 draw"), (3, 3.0),
]  # fmt: skip
OTHER = [
    ("Korea", "South Korea"), ("4-2", "2-4"), ("Argentina", "France"),
    ("Messi", "Messi, Di María, Mbappé"),
    ("1986", "1987"), ("18 December 2022", "19 December 2022"), ("5 km", "5 miles"), (3, 4),
    ("Guinea", "Equatorial Guinea"), (True, 1), ("Pelé", "Pelé Jr"),
]  # fmt: skip


@pytest.mark.parametrize("one, other", SAME)
def test_the_same(one: Scalar, other: Scalar) -> None:
    assert same_value(one, other) and same_value(other, one)


@pytest.mark.parametrize("one, other", OTHER)
def test_not_the_same(one: Scalar, other: Scalar) -> None:
    assert not same_value(one, other) and not same_value(other, one)


def test_a_score_seen_from_the_other_side_is_the_same() -> None:
    beat = "Germany beat Argentina 4-2."
    assert is_swapped_score("4-2", beat, "2–4", "Argentina lost 2–4 to Germany.")
    assert not is_swapped_score("4-2", beat, "2-4", "Germany met Argentina, 2-4.")
    table, row = "4 May\nGermany | 4–2 | Argentina\nLusail", "4 May\nArgentina | 2–4 | Germany"
    assert is_swapped_score("4–2", table, "2–4", row)
    assert not is_swapped_score("4-2", "It ended 4-2.", "2-4", "It ended 2-4.")
