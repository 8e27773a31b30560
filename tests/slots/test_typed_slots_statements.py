"""Slots with a schema: values in a model's reply, grounded in their sources and weighed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as chosen
from hypothesis import strategies as st

from agent.evidence import find_copies
from agent.slots.data import data_leaves, keep_valid, schema_faults
from agent.slots.forms import holds_value
from agent.slots.grounding import ground_rows
from agent.slots.rows import SlotValue
from agent.slots.schema import slots_of
from agent.slots.weighing import RIGHT, make_findings, rate_confidence, weigh_values
from agent.state.json_data import Json
from tests.support.typed_slots import SCHEMA, TEXT, build_source, build_statement, object_schema

TWO = [("Messi", "23"), ("Di Maria", "36")]
FORMS_OF_A_LIST: dict[str, list[Json]] = {
    "objects": [
        {"name": "goalscorers", "value": [{"player": p, "minute": int(m)} for p, m in TWO]}
    ],
    "json": [
        {
            "name": "goalscorers",
            "value": '[{"player": "Messi", "minute": "23"}, {"player": "Di Maria", "minute": 36}]',
        }
    ],
    "words": [{"name": "goalscorers", "value": "Messi 23', Di Maria 36'"}],
    "strings": [{"name": "goalscorers", "value": ["Messi 23'", "Di Maria (36')"]}],
    "one object a row": [
        {"name": "Goalscorers", "value": {"player": p, "minute": m}} for p, m in TWO
    ],
    "numbered": [
        {"name": f"goalscorers[{i}].{key}", "value": value}
        for i, (p, m) in enumerate(TWO)
        for key, value in (("player", p), ("minute", m))
    ],
    "dotted": [
        {"name": f"goalscorers.{i}.{key}", "value": value}
        for i, (p, m) in enumerate(TWO)
        for key, value in (("minute", m), ("player", p))
    ],
    "repeated": [
        *({"name": "goalscorers[].player", "value": p} for p, _ in TWO),
        *({"name": "goalscorers[].minute", "value": m} for _, m in TWO),
    ],
    "pointers": [
        {"name": f"/goalscorers/{i}/{key}", "value": value}
        for i, (p, m) in enumerate(TWO)
        for key, value in (("player", p), ("minute", f"{m}rd minute"))
    ],
}


@pytest.mark.parametrize("form", FORMS_OF_A_LIST)
def test_lists_are_read_in_whatever_form_they_come(form: str) -> None:
    rows = [
        SlotValue.model_validate({**row, "source": 1, "quote": TEXT})
        for row in FORMS_OF_A_LIST[form]
    ]
    pages = [build_source(1, TEXT)]
    statements, misfits = ground_rows(rows, slots_of(SCHEMA), pages)
    found = {f.slot: f for f in make_findings(slots_of(SCHEMA), statements, pages)}
    _, data, _ = keep_valid(SCHEMA, found)
    assert data["goalscorers"] == [
        {"player": "Messi", "minute": 23},
        {"player": "Di Maria", "minute": 36},
    ]
    assert not misfits


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(
                [s.name for s in slots_of(SCHEMA)]
                + ["goalscorers", "goalscorers[0].minute", "goalscorers.1.player", "venue", "$.day"]
            )
            | st.text(max_size=12),
            "value": st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False)
                | st.sampled_from(["Messi", "Messi 23'", "29 June 1987", "Argentina", '[{"player"'])
                | st.text(max_size=12),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["player", "minute", "x"]), inner, max_size=3)
                ),
                max_leaves=6,
            ),
            "source": st.integers(-1, 3) | st.text(max_size=3) | st.none(),
            "quote": st.sampled_from([TEXT, TEXT[:22], "Messi scored in the 23rd minute", ""])
            | st.text(max_size=9),
        }
    ),
    max_size=8,
)


@pytest.mark.slow
@given(ROWS)
@chosen(max_examples=30, deadline=None)
def test_whatever_a_model_sends_only_what_sources_say_is_found(rows: list[Json]) -> None:
    pages = [build_source(1, TEXT), build_source(2, "France won the cup. Messi scored 2 goals.")]
    slots = slots_of(SCHEMA)
    statements, _ = ground_rows([SlotValue.model_validate(row) for row in rows], slots, pages)
    for statement in statements:
        page = pages[statement.quote.source - 1].page.text
        assert page[statement.quote.start : statement.quote.end] == statement.quote.text
        assert holds_value(statement.quote.text, statement.value, page)
    found = {f.slot: f for f in make_findings(slots, statements, pages)}
    kept, data, _ = keep_valid(SCHEMA, found)
    assert not list(schema_faults(SCHEMA, data))
    assert dict(data_leaves(data)) == {name: f.value for name, f in kept.items()}
    json.dumps(data, allow_nan=False)


def test_a_copy_of_a_copy_is_one_but_who_quotes_an_excerpt_is_none() -> None:
    def text(start: int, end: int) -> str:
        return " ".join(f"word{i}" for i in range(start, end))

    near = [text(0, 100), text(40, 140), text(85, 185), text(0, 20), text(0, 20) + text(500, 600)]
    pages = [build_source(n, page) for n, page in enumerate(near, 1)]
    assert find_copies(pages) == {1: 1, 2: 1, 3: 1, 4: 1, 5: 5}


LONG = "There was much rain in the night before, and the grass was long. " * 3


def test_copies_are_one_witness_and_two_writers_are_two() -> None:
    text = f"{LONG}Brazil won the cup on a day that nobody who was there has forgotten since."
    pages = [
        build_source(1, text),
        build_source(
            2, "Whatever the papers said, France won the cup, and deservedly so, by all counts."
        ),
        build_source(3, f"Another heading stands here\n{text} Read more."),
        build_source(
            4, "The better side was France, which won the cup after a hard summer of matches."
        ),
        build_source(5, text.replace("forgotten", "let go")),
    ]
    assert find_copies(pages) == {1: 1, 2: 2, 3: 1, 4: 4, 5: 1}
    values = {1: "Brazil", 2: "France", 3: "Brazil", 4: "France", 5: "Brazil"}
    found = weigh_values("winner", [build_statement(n, v, pages) for n, v in values.items()], pages)
    assert (found.status, found.value, found.weight) == ("filled", "France", 0.7)
    assert [(a.value, a.citations, a.weight) for a in found.alternatives] == [
        ("Brazil", (1, 3, 5), 0.4)
    ]
    assert found.confidence == RIGHT["words"]  # one of the two is cancelled by the one against


def test_credibility_settles_what_numbers_do_not() -> None:
    pages = [
        build_source(1, "Brazil won."),
        build_source(2, "France won.", "https://www.bbc.co.uk/"),
    ]
    found = weigh_values(
        "winner", [build_statement(1, "Brazil", pages), build_statement(2, "France", pages)], pages
    )
    assert (found.status, found.value) == ("filled", "France") and found.alternatives
    share = found.weight / (found.weight + found.alternatives[0].weight)
    assert found.confidence == pytest.approx(RIGHT["words"] * share, abs=0.001)
    pages[1] = build_source(2, "France won.")
    found = weigh_values(
        "winner", [build_statement(1, "Brazil", pages), build_statement(2, "France", pages)], pages
    )
    assert found.status == "conflict" and found.confidence == 0.5


@pytest.mark.parametrize(
    ("text", "value", "form"),
    [
        ("Country | Winner\nQatar | Argentina", "Argentina", "row"),
        ("Argentina won the cup.", "Argentina", "words"),
        ("Argentina won the cup.", "argentina won the cup", "sentence"),
    ],
)
def test_confidence_depends_on_the_form_and_the_judge(text: str, value: str, form: Any) -> None:
    pages = [build_source(1, text)]
    found = weigh_values("winner", [build_statement(1, value, pages)], pages)
    assert rate_confidence(found) == found.confidence == RIGHT[form]
    sure, doubtful = (
        rate_confidence(found.model_copy(update={"verdict": verdict, "by": "m"}))
        for verdict in ("supported", "partial")
    )
    assert 0 < doubtful < found.confidence < sure < 1


def test_a_reference_work_outweighs_unknown_hosts_that_agree_and_both_are_told() -> None:
    said = [f"Writer number {n} says that France won the cup." for n in range(5)]
    pages = [build_source(n, text) for n, text in enumerate(said, 1)]
    pages.append(build_source(6, "Argentina won.", "https://en.wikipedia.org/"))
    values = dict.fromkeys(range(1, 6), "France") | {6: "Argentina"}
    found = weigh_values("winner", [build_statement(n, v, pages) for n, v in values.items()], pages)
    assert (found.status, found.value) == ("conflict", "Argentina")
    assert [a.value for a in found.alternatives] == ["France"]


def test_hosts_of_one_owner_are_one_witness() -> None:
    hosts = ("https://a.cupfan.com/", "https://b.cupfan.com/", "https://cupfan.com/")
    said = ("France won it.", "The cup went to France.", "It was France that had the cup at last.")
    pages = [build_source(n, said[n - 1], host) for n, host in enumerate(hosts, 1)]
    found = weigh_values("winner", [build_statement(n, "France", pages) for n in (1, 2, 3)], pages)
    assert found.weight == 0.4


def test_items_are_known_again_in_another_order_and_with_another_minute() -> None:
    pages = [
        build_source(1, TEXT),
        build_source(2, "Di Maria 37', Messi 23', by our count of it."),
        build_source(3, "x"),
    ]
    rows = [
        SlotValue(name="goalscorers", value="Messi 23', Di Maria 36'", source=1, quote=TEXT),
        SlotValue(name="goalscorers", value="Di Maria 37', Messi 23'", source=2,
                  quote="Di Maria 37', Messi 23'"),
    ]  # fmt: skip
    slots = slots_of(SCHEMA)
    found = {f.slot: f for f in make_findings(slots, ground_rows(rows, slots, pages)[0], pages)}
    assert found["goalscorers[0].player"].value == "Messi"
    assert found["goalscorers[0].minute"].confidence == RIGHT["words"]
    minute = found["goalscorers[1].minute"]
    assert minute.status == "conflict" and minute.value == 36
    assert [a.value for a in minute.alternatives] == [37]
    assert "goalscorers[2].player" not in found


def test_a_list_that_breaks_its_limits_is_not_found() -> None:
    limited = object_schema(names={"type": "array", "items": {"type": "string"}, "minItems": 3})
    pages = [build_source(1, "A Jones and B Smith were there.")]
    rows = [SlotValue(name="names", value="A Jones, B Smith", source=1, quote=pages[0].page.text)]
    slots = slots_of(limited)
    found = {f.slot: f for f in make_findings(slots, ground_rows(rows, slots, pages)[0], pages)}
    assert set(found) == {"names[0]", "names[1]"}
    kept, data, warnings = keep_valid(limited, found)
    assert data == {"names": None} and kept["names"].status == "missing"
    assert "names" in warnings[0]
