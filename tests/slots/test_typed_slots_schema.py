"""Slots with a schema: the schema as leaves, which schemas are refused, and the plain object."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as chosen
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent.errors import UsageError
from agent.slots.reply_rows import SlotValue
from agent.slots.reply_rows import leaf_rows as rows_as_leaves
from agent.slots.slot_data import data_differences, keep_valid
from agent.slots.slot_schema import resolve_schema, slots_of
from agent.state import Form, Scalar, Slot
from agent.state.json_data import Json
from tests.support.typed_slots import SCHEMA, object_schema


def test_a_schema_is_its_leaves() -> None:
    assert [(slot.name, slot.form.type) for slot in slots_of(SCHEMA)] == [
        ("winner", "string"),
        ("day", "date"),
        ("stage", "string"),
        ("venue.capacity", "integer"),
        ("goalscorers[].player", "string"),
        ("goalscorers[].minute", "integer"),
    ]
    assert slots_of(SCHEMA)[2].form.options == ("Final", "Group")
    assert slots_of(SCHEMA)[5].form.limits == {"minimum": 1, "maximum": 130}


AGAIN = object_schema(a={"$ref": "#/$defs/L"})
LOOP = {**AGAIN, "$defs": {"L": AGAIN}}
BOMB: Json = {**object_schema(a={"$ref": "#/$defs/0"}), "$defs": {"6": {"type": "string"}}}
for i in range(6):
    BOMB["$defs"][str(i)] = object_schema(**{k: {"$ref": f"#/$defs/{i + 1}"} for k in "abcdefgh"})
REFUSED: list[tuple[Any, str]] = [
    ("text", "at #: it is not an object"),
    (object_schema(), "at #: an object needs properties"),
    (object_schema(a={"type": "nonsense"}), "at #/properties/a/type"),
    (object_schema(a={"type": ["string", "integer"]}), "at #/properties/a: give it one type"),
    (object_schema(a={"$ref": "https://example.org/s.json"}), "at #/properties/a: $ref"),
    (object_schema(a=True), "at #/properties/a: a schema that is only true"),
    (object_schema(a={"type": "string", "not": {"const": "x"}}), "a: not is not supported"),
    (object_schema(a={"type": "array", "items": {"type": "array"}}), "a list within a list"),
    (object_schema(**{"a.b": {"type": "string"}}), "a name may not be 'a.b'"),
    (object_schema(a={"type": "number", "multipleOf": 10**400}), "a limit is no number"),
    (object_schema(**{f"a{i}": {"type": "string"} for i in range(101)}), "it has 101 leaves"),
    ({**object_schema(a={"type": "string"}), "required": ["b"]}, "'b' is required and no property"),
    (LOOP, "too large or too deep"),
    (BOMB, "too large or too deep"),
    ({**object_schema(a={"type": "string"}), "title": "x" * 100_001}, "at most 100,000 characters"),
]


@pytest.mark.parametrize("schema, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_not_supported_is_refused_naming_its_place(schema: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        slots_of(schema)
    assert message in error.value.message


KEYS = st.sampled_from("type properties items enum const $ref anyOf format pattern a b".split())
KINDS = st.sampled_from("object array string integer #/properties/a".split())
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner | KINDS, max_size=4),
    max_leaves=12,
)


@given(JSONS)
@chosen(max_examples=30, deadline=None)
def test_any_schema_is_slots_or_a_clear_error(value: Any) -> None:
    try:
        assert slots_of(value)
    except UsageError as error:
        assert error.message.startswith("--slots-schema, at #")


def test_an_object_that_may_be_null_is_where_nothing_was_found() -> None:
    part = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
    other = {**object_schema(d={"type": "integer"}), "type": ["object", "null"]}
    whole = object_schema(a={"anyOf": [part, {"type": "null"}]}, c=other)
    _, data, _ = keep_valid(whole, {})
    assert data == {"a": None, "c": None}
    Draft202012Validator(whole).validate(data)
    values: dict[str, Scalar | None] = {"a.b": None, "c.d": None}
    assert not list(data_differences(data, values, whole))
    assert [path for path, _ in data_differences(data, values | {"a.b": "x"}, whole)] == ["a.b"]


def test_a_named_slot_takes_a_list_as_words() -> None:
    slots = (Slot(name="people", form=Form()),)
    rows = [SlotValue.model_validate({"name": "people", "value": ["A", "B"], "source": "1"})]
    assert [(r.value, r.source) for r in rows_as_leaves(rows, slots)] == [("A, B", 1)]
    venue = resolve_schema(SCHEMA)["properties"]["venue"]
    assert venue["properties"]["capacity"]["type"] == "integer"
