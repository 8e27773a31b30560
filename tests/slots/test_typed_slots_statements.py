"""Slots with a schema: values in a model's reply, grounded in their sources and weighed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import settings as chosen
from hypothesis import strategies as st

from agent.evidence import find_copies
from agent.llm.model import Generation
from agent.llm.replies import parse_reply
from agent.slots.conversion import holds_value
from agent.slots.grounding import ground_rows
from agent.slots.reply_rows import SlotValue
from agent.slots.slot_data import data_leaves, keep_valid, schema_faults
from agent.slots.slot_schema import slots_of
from agent.slots.weighing import RIGHT, make_findings, rate_confidence, weigh_values
from agent.state import Finding, Source
from agent.state.json_data import Json
from agent.steps.reading_tasks import CheckCoverage
from tests.support.typed_slots import SCHEMA, TEXT, build_source, build_statement, object_schema

TWO = [("Messi", "23"), ("Di Maria", "36")]
ITEMS = [{"player": player, "minute": minute} for player, minute in TWO]


def one_by_one(name: str) -> list[Json]:
    """A row for each part of each item, under such names."""
    parts = [(n, key, item[key]) for n, item in enumerate(ITEMS) for key in ("player", "minute")]
    return [{"name": name.format(n, key), "value": value} for n, key, value in parts]


FORMS_OF_A_LIST: dict[str, list[Json]] = {
    "objects": [
        {"name": "goalscorers", "value": [i | {"minute": int(i["minute"])} for i in ITEMS]}
    ],
    "json": [{"name": "goalscorers", "value": json.dumps(ITEMS)}],
    "numbered": one_by_one("goalscorers[{}].{}"),
    "repeated": sorted(one_by_one("goalscorers[].{1}"), key=lambda row: row["name"], reverse=True),
    "pointers": one_by_one("/goalscorers/{}/{}"),
}


@pytest.mark.parametrize("form", FORMS_OF_A_LIST)
def test_lists_are_read_in_whatever_form_they_come(form: str) -> None:
    cited, pages = {"source": 1, "quote": TEXT}, [build_source(1, TEXT)]
    rows = [SlotValue.model_validate({**row, **cited}) for row in FORMS_OF_A_LIST[form]]
    statements, misfits = ground_rows(rows, slots_of(SCHEMA), pages)
    found = {f.slot: f for f in make_findings(slots_of(SCHEMA), statements, pages)}
    _, data, _ = keep_valid(SCHEMA, found)
    assert data["goalscorers"] == [{"player": p, "minute": int(m)} for p, m in TWO]
    assert not misfits


NAMES = st.sampled_from(
    [*(slot.name for slot in slots_of(SCHEMA)), "goalscorers", "goalscorers[0].minute", "$.day"]
)
WORDS = st.sampled_from(["Messi", "Messi 23'", "29 June 1987", "Argentina", '[{"player"'])
KEYS = st.sampled_from(["player", "minute", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
QUOTES = st.sampled_from([TEXT, TEXT[:22], "Messi scored in the 23rd minute", ""])
ROW = {
    "name": NAMES | st.text(max_size=12),
    "value": VALUES,
    "source": st.integers(-1, 3) | st.text(max_size=3) | st.none(),
    "quote": QUOTES | st.text(max_size=9),
}


@pytest.mark.slow
@given(st.lists(st.fixed_dictionaries(ROW), max_size=8))
@chosen(max_examples=30, deadline=None)
def test_whatever_a_model_sends_only_what_sources_say_is_found(rows: list[Json]) -> None:
    pages = [build_source(1, TEXT), build_source(2, "France won the cup. Messi scored 2 goals.")]
    slots = slots_of(SCHEMA)
    try:
        reply, _ = parse_reply(
            Generation(text=json.dumps({"slots": rows})), CheckCoverage(topic="t")
        )
    except ValueError:
        return  # it is asked for again
    statements, _ = ground_rows(reply.slots, slots, pages)
    for statement in statements:
        page = pages[statement.quote.source - 1].page.text
        assert page[statement.quote.start : statement.quote.end] == statement.quote.text
        assert holds_value(statement.quote.text, statement.value, page)
    found = {f.slot: f for f in make_findings(slots, statements, pages)}
    kept, data, _ = keep_valid(SCHEMA, found)
    assert not list(schema_faults(SCHEMA, data))
    assert dict(data_leaves(data)) == {name: f.value for name, f in kept.items()}
    json.dumps(data, allow_nan=False)


def weigh(pages: list[Source], *values: str) -> Finding:
    """What each page says of the winner, weighed."""
    statements = [build_statement(n, value, pages) for n, value in enumerate(values, 1)]
    return weigh_values("winner", statements, pages)


LONG = "There was much rain in the night before, and the grass was long. " * 3


def test_copies_count_once_and_independent_sources_each() -> None:
    text = f"{LONG}Brazil won the cup on a day that nobody who was there has forgotten since."
    two = "Whatever the papers said, France won the cup, and deservedly so, by all counts."
    four = "The better side was France, which won the cup after a hard summer of matches."
    three, five = f"Another heading is here\n{text} Read more.", text.replace("forgotten", "let go")
    pages = [build_source(n, page) for n, page in enumerate((text, two, three, four, five), 1)]
    assert find_copies(pages) == {1: 1, 2: 2, 3: 1, 4: 4, 5: 1}
    found = weigh(pages, "Brazil", "France", "Brazil", "France", "Brazil")
    assert (found.status, found.value, found.weight) == ("filled", "France", 0.7)
    (other,) = found.alternatives
    assert (other.value, other.citations, other.weight) == ("Brazil", (1, 3, 5), 0.4)
    assert found.confidence == RIGHT["words"]  # one of the two is cancelled by the one against


def test_confidence_depends_on_the_form_and_the_judge() -> None:
    text = "Country | Winner\nQatar | Argentina"
    found = weigh([build_source(1, text)], "Argentina")
    assert rate_confidence(found) == found.confidence == RIGHT["row"]
    sure, doubtful = (
        rate_confidence(found.model_copy(update={"verdict": verdict, "by": "m"}))
        for verdict in ("supported", "partial")
    )
    assert 0 < doubtful < found.confidence < sure < 1


def test_credibility_resolves_what_numbers_do_not() -> None:
    pages = [build_source(1, "Brazil won."), build_source(2, "France won.", "https://bbc.co.uk/")]
    found = weigh(pages, "Brazil", "France")
    assert (found.status, found.value) == ("filled", "France") and found.alternatives
    pages[1] = build_source(2, "France won.")
    found = weigh(pages, "Brazil", "France")
    assert found.status == "conflict" and found.confidence == 0.5
    pages = [
        build_source(n, f"Writer number {n} says that France won the cup.") for n in range(1, 6)
    ]
    pages.append(build_source(6, "Argentina won.", "https://en.wikipedia.org/"))
    found = weigh(pages, *["France"] * 5, "Argentina")
    assert (found.status, found.value) == ("conflict", "Argentina")
    assert [a.value for a in found.alternatives] == ["France"]


def test_items_are_matched_in_another_order_and_with_another_minute() -> None:
    other = "Di Maria 37', Messi 23'"
    pages = [build_source(1, TEXT), build_source(2, f"{other}, by our count of it.")]
    theirs = json.dumps([ITEMS[1] | {"minute": 37}, ITEMS[0]])
    rows = [
        SlotValue(name="goalscorers", value=json.dumps(ITEMS), source=1, quote=TEXT),
        SlotValue(name="goalscorers", value=theirs, source=2, quote=other),
    ]
    slots = slots_of(SCHEMA)
    found = {f.slot: f for f in make_findings(slots, ground_rows(rows, slots, pages)[0], pages)}
    assert found["goalscorers[0].player"].value == "Messi"
    assert found["goalscorers[0].minute"].confidence == RIGHT["words"]
    minute = found["goalscorers[1].minute"]
    assert minute.status == "conflict" and minute.value == 36
    assert [a.value for a in minute.alternatives] == [37]
    assert "goalscorers[2].player" not in found


def test_a_list_that_breaks_its_limits_is_missing() -> None:
    limited = object_schema(names={"type": "array", "items": {"type": "string"}, "minItems": 3})
    pages = [build_source(1, "A Jones and B Smith were there.")]
    rows = [SlotValue(name="names", value="A Jones, B Smith", source=1, quote=pages[0].page.text)]
    slots = slots_of(limited)
    found = {f.slot: f for f in make_findings(slots, ground_rows(rows, slots, pages)[0], pages)}
    assert set(found) == {"names[0]", "names[1]"}
    kept, data, warnings = keep_valid(limited, found)
    assert data == {"names": None} and kept["names"].status == "missing"
    assert "names" in warnings[0]


def test_hosts_of_one_owner_count_once() -> None:
    hosts = ("https://a.cupfan.com/", "https://b.cupfan.com/", "https://cupfan.com/")
    texts = ("France won it.", "The cup went to France.", "It was France that had the cup at last.")
    pages = [build_source(n, texts[n - 1], host) for n, host in enumerate(hosts, 1)]
    assert weigh(pages, *["France"] * 3).weight == 0.4
