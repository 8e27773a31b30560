"""Slots with a schema: what is asked, what counts as found, what disagrees, the plain object."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as chosen
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent.answer import Answer, answer_schema, to_json
from agent.audit.changes import changes
from agent.errors import UsageError
from agent.evidence import copies
from agent.run import Run, research
from agent.run.proof import audit
from agent.settings import Settings, load
from agent.slots.data import faults, leaves, settled, unlike
from agent.slots.forms import holds, typed
from agent.slots.grounding import grounded
from agent.slots.rows import SlotValue
from agent.slots.rows import leaves as rows_as_leaves
from agent.slots.sameness import same, swapped
from agent.slots.schema import resolved, slots_of
from agent.slots.weighing import findings, weighed
from agent.state import Form, Hit, Page, Quote, Said, Scalar, Slot, Source
from tests.services import Asked, Reply, Services

Json = dict[str, Any]
TOPIC = "Who won the cup of 1987?"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "winner": {"type": "string", "description": "who won the final"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "stage": {"enum": ["Final", "Group"]},
        "venue": {"$ref": "#/$defs/Venue"},
        "goalscorers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "player": {"type": "string"},
                    "minute": {"type": "integer", "minimum": 1, "maximum": 130},
                },
                "required": ["player"],
            },
        },
    },
    "$defs": {"Venue": {"type": "object", "properties": {"capacity": {"type": "integer"}}}},
}
TEXT = (
    "Argentina won the cup. The final was on 29 June 1987 before 114,600 people, the whole "
    "capacity. Messi scored in the 23rd minute and Di Maria in the 36th minute."
)


def source(n: int, text: str, url: str = "https://example.net/") -> Source:
    page = Page(url=f"{url}{n}", title="", text=text, sha256=str(n), retrieved_at="")
    return Source(n=n, page=page, hit=Hit(url=page.url))


def said(n: int, value: Scalar, sources: list[Source], slot: str = "winner") -> Said:
    text = sources[n - 1].page.text
    return Said(
        slot=slot,
        value=value,
        quote=Quote(source=n, text=text, start=0, end=len(text), match="exact"),
    )


# --- the schema --------------------------------------------------------------------------------


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


def _of(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


LOOP = {**_of(a={"$ref": "#/$defs/L"}), "$defs": {"L": _of(a={"$ref": "#/$defs/L"})}}
BOMB: Json = {**_of(a={"$ref": "#/$defs/0"}), "$defs": {"6": {"type": "string"}}}
for i in range(6):
    BOMB["$defs"][str(i)] = _of(**{k: {"$ref": f"#/$defs/{i + 1}"} for k in "abcdefgh"})
REFUSED: list[tuple[Any, str]] = [
    ("text", "at #: it is not an object"),
    ({"type": "string"}, "at #: the whole must be an object"),
    (_of(), "at #: an object needs properties"),
    (_of(a={"type": "nonsense"}), "at #/properties/a/type"),
    (_of(a={"type": ["string", "integer"]}), "at #/properties/a: give it one type"),
    (_of(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}), "at #/properties/a: anyOf"),
    (_of(a={"$ref": "https://example.org/s.json"}), "at #/properties/a: $ref"),
    (_of(a={"$ref": "#/nowhere"}), "at #/properties/a: $ref"),
    (_of(a=True), "at #/properties/a: a schema that is only true"),
    (_of(a={"type": "string", "not": {"const": "x"}}), "at #/properties/a: not is not supported"),
    (_of(a={"type": "array", "items": {"type": "array"}}), "a list within a list"),
    (_of(**{"a.b": {"type": "string"}}), "a name may not be 'a.b'"),
    (_of(a={"type": "string", "pattern": "(a+)+$"}), "could take too long"),
    (_of(**{f"a{i}": {"type": "string"} for i in range(101)}), "it has 101 leaves"),
    ({**_of(a={"type": "string"}), "required": ["b"]}, "at #: 'b' is required and no property"),
    (LOOP, "too large or too deep"),
    (BOMB, "too large or too deep"),
    ({**_of(a={"type": "string"}), "title": "x" * 100_001}, "at most 100,000 characters"),
]


@pytest.mark.parametrize("given_, told", REFUSED, ids=[told for _, told in REFUSED])
def test_what_is_not_supported_is_refused_naming_its_place(given_: Any, told: str) -> None:
    with pytest.raises(UsageError) as error:
        slots_of(given_)
    assert told in error.value.message


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type properties items enum const $ref anyOf format pattern a b".split()
            ),
            inner | st.sampled_from(["object", "array", "string", "integer", "#/properties/a"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSONS)
@chosen(max_examples=150, deadline=None)
def test_any_schema_is_slots_or_a_clear_error(value: Any) -> None:
    try:
        assert slots_of(value)
    except UsageError as error:
        assert error.message.startswith("--slots-schema, at #")


# --- forms -------------------------------------------------------------------------------------

FORMS: list[tuple[str, Json, Any, Any]] = [
    ("goals", {"type": "integer"}, "3", 3),
    ("goals", {"type": "integer"}, "3 goals", 3),  # the unit is the slot itself
    ("age", {"type": "integer"}, "3 goals", None),
    ("minute", {"type": "integer"}, "23'", 23),
    ("minute", {"type": "integer"}, "23rd minute", 23),
    ("minute", {"type": "integer"}, "90+2'", None),
    ("people", {"type": "integer"}, "88,966", 88966),
    ("people", {"type": "integer"}, "1.5 million", 1_500_000),
    ("people", {"type": "integer"}, "88.5", None),
    ("people", {"type": "integer"}, "between 3 and 4", None),
    ("length", {"type": "number"}, "-1,234.5", -1234.5),
    ("on", {"type": "string", "format": "date"}, "18 December 2022", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "December 18th, 2022", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "2022年12月18日", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "18/12/2022", "2022-12-18"),
    ("on", {"type": "string", "format": "date"}, "11/12/2022", None),  # which is the month?
    ("on", {"type": "string", "format": "date"}, "31 February 2022", None),
    ("on", {"type": "string", "format": "date"}, "December 2022", None),
    ("at", {"type": "string", "format": "date-time"}, "2022-12-18T18:00:00+03:00",
     "2022-12-18T18:00:00+03:00"),
    ("at", {"type": "string", "format": "date-time"}, "2022-12-18T18:00:00", None),
    ("won", {"type": "boolean"}, "Yes", True),
    ("won", {"type": "boolean"}, "perhaps", None),
    ("stage", {"enum": ["Final", "Group"]}, "final", "Final"),
    ("stage", {"enum": ["Final", "Group"]}, "semi-final", None),
    ("year", {"enum": [1986, 1990]}, "1990", 1990),
    ("minute", {"type": "integer", "maximum": 130}, "131", None),
    ("code", {"type": "string", "pattern": "^[A-Z]{3}$"}, "Argentina", None),
    ("code", {"type": "string", "pattern": "^[A-Z]{3}$"}, "ARG", "ARG"),
]  # fmt: skip


@pytest.mark.parametrize("name, form, text, value", FORMS)
def test_a_value_is_of_its_form_or_nothing(name: str, form: Json, text: str, value: Any) -> None:
    (slot,) = slots_of(_of(**{name: form}))
    found = typed(text, slot)
    assert found == value and type(found) is type(value)


def test_a_value_stands_in_its_quote_in_its_own_form() -> None:
    assert holds("in the 23rd minute", 23) and not holds("in the 123rd minute", 23)
    assert holds("scored three goals", 3) and holds("114,600 people", 114600)
    assert holds("on 29 June", "1987-06-29", "The cup of 1987")
    assert not holds("on 28 June", "1987-06-29", "The cup of 1987, 29 pages")
    assert not holds("It rained.", 23, "In the 23rd minute")  # pages are full of numbers
    assert not holds("It rained 2 times.", "rained 23 times", "23 pages")


@pytest.mark.parametrize(
    ("text", "day", "is_there"),
    [
        ("on 12 May 1865", "1865-05-12", True),
        ("on 12 May 1865", "1865-07-12", False),  # a day and a year are no date
        ("am 12. Mai 1865", "1865-05-12", True),
        ("am 12. Mai 1865", "1865-07-12", False),
        ("05/12/1865", "1865-12-05", True),
        ("05/12/1865", "1865-07-12", False),
        ("5.12.1865", "1865-05-12", False),
        ("le 12 août 1865", "1865-08-12", True),
        ("on 12 May 1865", "1865-05-12T00:00:00Z", False),  # nobody said when
        ("on 12 May 1865 at 3:30 pm", "1865-05-12T15:30:00Z", True),
        ("1865年5月12日15时", "1865-05-12T15:00:00Z", True),
    ],
)
def test_a_date_is_there_with_its_month_and_its_hour(text: str, day: str, is_there: bool) -> None:
    assert holds(text, day, f"{text} and more") is is_there


def test_no_value_in_words_is_no_value() -> None:
    text, pages = Slot(name="a"), [source(1, "The rest is unknown, or null.")]
    for word in ("null", "N/A", "Unknown.", "未知"):
        row = SlotValue(name="a", value=word, source=1, quote="The rest is unknown")
        assert grounded([row], [text], pages)[0] == ()
    assert typed("unknown", Slot(name="a", form=Form(type="string", options=("unknown",))))


def test_an_object_that_may_be_null_is_where_nothing_was_found() -> None:
    part = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
    other = {**_of(d={"type": "integer"}), "type": ["object", "null"]}
    whole = _of(a={"anyOf": [part, {"type": "null"}]}, c=other)
    _, data, _ = settled(whole, {})
    assert data == {"a": None, "c": None}
    Draft202012Validator(whole).validate(data)
    values: dict[str, Scalar | None] = {"a.b": None, "c.d": None}
    assert not list(unlike(data, values, whole))
    assert [path for path, _ in unlike(data, values | {"a.b": "x"}, whole)] == ["a.b"]


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
    assert same(one, other) and same(other, one)


@pytest.mark.parametrize("one, other", OTHER)
def test_not_the_same(one: Scalar, other: Scalar) -> None:
    assert not same(one, other) and not same(other, one)


def test_a_copy_of_a_copy_is_one_but_who_quotes_an_excerpt_is_none() -> None:
    def text(start: int, end: int) -> str:
        return " ".join(f"word{i}" for i in range(start, end))

    near = [text(0, 100), text(40, 140), text(85, 185), text(0, 20), text(0, 20) + text(500, 600)]
    pages = [source(n, page) for n, page in enumerate(near, 1)]
    assert copies(pages) == {1: 1, 2: 1, 3: 1, 4: 1, 5: 5}


def test_a_score_seen_from_the_other_side_is_the_same() -> None:
    assert swapped("4-2", "Germany beat Argentina 4-2.", "2–4", "Argentina lost 2–4 to Germany.")
    assert not swapped("4-2", "Germany beat Argentina 4-2.", "2-4", "Germany met Argentina, 2-4.")
    table, row = "4 May\nGermany | 4–2 | Argentina\nLusail", "4 May\nArgentina | 2–4 | Germany"
    assert swapped("4–2", table, "2–4", row)
    assert not swapped("4-2", "It ended 4-2.", "2-4", "It ended 2-4.")


# --- what models send --------------------------------------------------------------------------

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
    pages = [source(1, TEXT)]
    told, misfits = grounded(rows, slots_of(SCHEMA), pages)
    found = {f.slot: f for f in findings(slots_of(SCHEMA), told, pages)}
    _, data, _ = settled(SCHEMA, found)
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


@given(ROWS)
@chosen(max_examples=200, deadline=None)
def test_whatever_a_model_sends_only_what_sources_say_is_found(rows: list[Json]) -> None:
    pages = [source(1, TEXT), source(2, "France won the cup. Messi scored 2 goals.")]
    slots = slots_of(SCHEMA)
    told, _ = grounded([SlotValue.model_validate(row) for row in rows], slots, pages)
    for one in told:
        page = pages[one.quote.source - 1].page.text
        assert page[one.quote.start : one.quote.end] == one.quote.text
        assert holds(one.quote.text, one.value, page)
    found = {f.slot: f for f in findings(slots, told, pages)}
    kept, data, _ = settled(SCHEMA, found)
    assert not list(faults(SCHEMA, data))
    assert dict(leaves(data)) == {name: f.value for name, f in kept.items()}
    json.dumps(data, allow_nan=False)


# --- weighing ----------------------------------------------------------------------------------

LONG = "There was much rain in the night before, and the grass was long. " * 3


def test_copies_are_one_witness_and_two_writers_are_two() -> None:
    text = f"{LONG}Brazil won the cup on a day that nobody who was there has forgotten since."
    pages = [
        source(1, text),
        source(
            2, "Whatever the papers said, France won the cup, and deservedly so, by all counts."
        ),
        source(3, f"Another heading stands here\n{text} Read more."),
        source(4, "The better side was France, which won the cup after a hard summer of matches."),
        source(5, text.replace("forgotten", "let go")),
    ]
    assert copies(pages) == {1: 1, 2: 2, 3: 1, 4: 4, 5: 1}
    values = {1: "Brazil", 2: "France", 3: "Brazil", 4: "France", 5: "Brazil"}
    found = weighed("winner", [said(n, v, pages) for n, v in values.items()], pages)
    assert (found.status, found.value, found.weight) == ("filled", "France", 0.8)
    assert [(a.value, a.citations, a.weight) for a in found.alternatives] == [
        ("Brazil", (1, 3, 5), 0.4)
    ]
    assert found.confidence == pytest.approx(0.85 * 2 / 3, abs=0.001)


def test_credibility_settles_what_numbers_do_not() -> None:
    pages = [source(1, "Brazil won."), source(2, "France won.", "https://www.bbc.co.uk/")]
    found = weighed("winner", [said(1, "Brazil", pages), said(2, "France", pages)], pages)
    assert (found.status, found.value) == ("filled", "France") and found.alternatives
    pages[1] = source(2, "France won.")
    found = weighed("winner", [said(1, "Brazil", pages), said(2, "France", pages)], pages)
    assert found.status == "conflict" and found.confidence == 0.5


def test_items_are_known_again_in_another_order_and_with_another_minute() -> None:
    pages = [
        source(1, TEXT),
        source(2, "Di Maria 37', Messi 23', by our count of it."),
        source(3, "x"),
    ]
    rows = [
        SlotValue(name="goalscorers", value="Messi 23', Di Maria 36'", source=1, quote=TEXT),
        SlotValue(name="goalscorers", value="Di Maria 37', Messi 23'", source=2,
                  quote="Di Maria 37', Messi 23'"),
    ]  # fmt: skip
    slots = slots_of(SCHEMA)
    found = {f.slot: f for f in findings(slots, grounded(rows, slots, pages)[0], pages)}
    assert found["goalscorers[0].player"].value == "Messi"
    assert found["goalscorers[0].minute"].confidence == 0.85
    minute = found["goalscorers[1].minute"]
    assert minute.status == "conflict" and minute.value == 36
    assert [a.value for a in minute.alternatives] == [37]
    assert "goalscorers[2].player" not in found


def test_a_list_that_breaks_its_limits_is_not_found() -> None:
    limited = _of(names={"type": "array", "items": {"type": "string"}, "minItems": 3})
    pages = [source(1, "A Jones and B Smith were there.")]
    rows = [SlotValue(name="names", value="A Jones, B Smith", source=1, quote=pages[0].page.text)]
    slots = slots_of(limited)
    found = {f.slot: f for f in findings(slots, grounded(rows, slots, pages)[0], pages)}
    assert set(found) == {"names[0]", "names[1]"}
    kept, data, warnings = settled(limited, found)
    assert data == {"names": None} and kept["names"].status == "missing"
    assert "names" in warnings[0]


# --- whole runs --------------------------------------------------------------------------------


def ended(settings: Settings, topic: str = TOPIC) -> tuple[Run, Answer, Json]:
    """A run to its end, its answer, and the answer as the user receives it, audited."""
    run = research(topic, settings)
    for _ in run:
        pass
    answer = run.answer()
    shown: Json = json.loads(to_json(answer))
    assert audit(shown)["failures"] == []
    return run, answer, shown


def row(name: str, value: Any, n: int, quote: str) -> Json:
    return {"name": name, "value": value, "source": n, "quote": quote}


def thinking(reflect: Callable[[Asked], list[Json]]) -> Callable[[Asked], Reply]:
    """A model that reflects as given, and writes from the first source."""

    def think(asked: Asked) -> Reply:
        if asked.task == "generate_queries":
            return {"queries": ["cup 1987"], "slots": []}
        if asked.task == "reflect":
            return {"slots": reflect(asked), "need_more": False, "new_queries": []}
        cited = [{"source": 1, "quote": "Argentina won the cup."}]
        return {"answer": "Argentina won the cup [1].", "citations": cited}

    return think


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {"ours": TEXT}
    services.hits = {TOPIC: ["ours"]}
    goals = [{"player": "Messi", "minute": "23rd minute"}, {"player": "Di Maria", "minute": 236}]
    services.think = thinking(
        lambda asked: [
            row("winner", "Argentina", 1, "Argentina won the cup."),
            row("day", "29 June 1987", 1, "The final was on 29 June 1987"),
            row("venue", {"capacity": "114,600"}, 1, "before 114,600 people, the whole capacity"),
            row("goalscorers", goals, 1, TEXT[-80:]),
            row("stage", "The last match", 1, "The final"),
        ]
    )
    return services


def test_a_schema_is_asked_filled_and_told_as_one_object(
    world: Services, settings: Settings
) -> None:
    run, answer, shown = ended(settings.model_copy(update={"slots_schema": SCHEMA}))
    assert (
        "- goalscorers[].minute (integer, digits alone, maximum 130, minimum 1):"
        in world.asked[1].prompt
    )
    assert '- stage (one of ["Final", "Group"]):' in world.asked[1].prompt
    assert shown["data"] == {
        "winner": "Argentina",
        "day": "1987-06-29",
        "stage": None,
        "venue": {"capacity": 114600},
        "goalscorers": [{"player": "Messi", "minute": 23}, {"player": "Di Maria", "minute": None}],
    }
    assert answer.slots["goalscorers[0].minute"].citations == (1,)
    assert answer.slots["goalscorers[1].minute"].status == "missing"
    assert any(
        "'236' is not a value of type integer within its limits" in w for w in answer.warnings
    )
    assert any("'The last match' is not one of its options" in w for w in answer.warnings)
    assert run.research.round == 2  # a leaf was missing: more was searched
    assert f"{TOPIC} stage" in run.research.queries
    Draft202012Validator(answer_schema()).validate(shown)


def test_a_replay_and_a_resume_repeat_the_schema(world: Services, settings: Settings) -> None:
    typed_ = settings.model_copy(update={"slots_schema": SCHEMA, "resume": "typed"})
    _, answer, shown = ended(typed_)
    assert answer.run and answer.run.journal
    asked = len(world.asked)
    _, _, again = ended(settings.model_copy(update={"resume": "typed"}), "")
    _, _, replayed = ended(Settings(replay=Path(answer.run.journal)), "")
    assert shown["data"] == again["data"] == replayed["data"] and len(world.asked) == asked


def test_without_a_schema_there_is_no_data(world: Services, settings: Settings) -> None:
    named = settings.model_copy(update={"slots": ("winner",)})
    _, _, shown = ended(named)
    assert "data" not in shown and shown["slots"]["winner"]["value"] == "Argentina"
    assert "data" in answer_schema()["properties"] and "data" not in answer_schema()["required"]
    with pytest.raises(UsageError, match="Slots and a schema"):
        research(TOPIC, named.model_copy(update={"slots_schema": SCHEMA}))


WINNER = _of(winner={"type": "string"})
RIVALS = {"ours": "Argentina won the cup.", "theirs": "France won the cup, said a paper."}
THIRD = "It is well known in Rosario that Argentina won the cup then."


def disputing(asked: Asked) -> list[Json]:
    """What each source says; in the second round only what is new, as forgetful models do."""
    told = [("Argentina", RIVALS["ours"]), ("France", RIVALS["theirs"]), ("Argentina", THIRD)]
    shown = [(n, v, q) for n, (v, q) in enumerate(told, 1) if q in asked.prompt]
    return [row("winner", v, n, q) for n, v, q in (shown[2:] or shown)]


def test_a_conflict_is_searched_for_and_settled_by_a_third_source(
    services: Services, settings: Settings
) -> None:
    query = f"{TOPIC} winner Argentina or France"
    services.pages = {**RIVALS, "third": THIRD}
    services.hits = {TOPIC: ["ours", "theirs"], query: ["third"]}
    services.think = thinking(disputing)
    run, answer, shown = ended(settings.model_copy(update={"slots_schema": WINNER}))
    assert services.tasks() == ["generate_queries", "reflect", "reflect", "synthesize"]
    assert services.searched[-1] == query
    winner = answer.slots["winner"]
    assert (winner.value, winner.status, winner.weight) == ("Argentina", "filled", 0.8)
    assert [(a.value, a.citations) for a in winner.alternatives] == [("France", (2,))]
    assert shown["data"] == {"winner": "Argentina"}


def test_a_conflict_that_stays_is_told_with_both_sides(
    services: Services, settings: Settings
) -> None:
    services.pages, services.hits = dict(RIVALS), {TOPIC: ["ours", "theirs"]}
    services.think = thinking(disputing)
    _, answer, shown = ended(settings.model_copy(update={"slots_schema": WINNER}))
    winner = answer.slots["winner"]
    assert (winner.status, winner.value, winner.citations) == ("conflict", "Argentina", (1, 2))
    assert [(a.value, a.citations) for a in winner.alternatives] == [("France", (2,))]
    assert {c.id: c.quote for c in answer.citations if c.id == 2} == {2: RIVALS["theirs"]}
    settled_ = json.loads(json.dumps(shown))
    settled_["slots"]["winner"] |= {"status": "filled", "confidence": 0.6}
    told = changes(shown, settled_)["slots"]["winner"]
    assert told["old"]["alternatives"][0]["weight"] == 0.4 and told["new"]["confidence"] == 0.6


MINUTE = "goalscorers[0].minute"
TAMPERED: list[tuple[str, Callable[[Json], Any]]] = [
    ("slots.winner.value", lambda a: a["slots"]["winner"].update(value="Brazil")),
    (f"slots.{MINUTE}.value", lambda a: a["slots"][MINUTE].update(value=24)),
    ("slots.stage.status", lambda a: a["slots"]["stage"].update(status="filled")),
    ("slots.winner", lambda a: a["slots"]["winner"].update(citations=[9])),
    ("data.winner", lambda a: a["data"].update(winner="Brazil")),
    ("data.goalscorers[0].minute", lambda a: a["data"]["goalscorers"][0].update(minute=23.0)),
    ("data.goalscorers[2].player", lambda a: a["data"]["goalscorers"].append({"player": "X"})),
    ("data.more", lambda a: a["data"].update(more=1)),
    ("data", lambda a: a.pop("data")),
]  # fmt: skip


def test_tampering_with_slots_or_data_is_told_where(world: Services, settings: Settings) -> None:
    _, _, shown = ended(settings.model_copy(update={"slots_schema": SCHEMA}))
    for where, tamper in TAMPERED:
        changed = json.loads(json.dumps(shown))
        tamper(changed)
        assert where in [fault["where"] for fault in audit(changed)["failures"]], where


def test_offline_the_demo_fills_a_schema(tmp_path: Path) -> None:
    goals = SCHEMA["properties"]["goalscorers"]
    wanted = _of(
        winner={"type": "string"},
        date={"type": "string", "format": "date", "description": "day of the final"},
        goalscorers=goals,
        referee={"type": "string"},
        mascot={"type": "string"},
    )
    kept = {"runs_dir": tmp_path / "runs", "cache_dir": tmp_path / "cache"}
    given_ = load({}, offline=True, slots_schema=wanted, **kept)
    _, answer, shown = ended(given_, "Who won the 2022 FIFA World Cup?")
    names = ["Lionel Messi"] * 2 + ["Ángel Di María"] + ["Kylian Mbappé"] * 3
    minutes = [23, 108, 36, 80, 81, 118]
    assert shown["data"] == {
        "winner": "Argentina",
        "date": "2022-12-18",
        "goalscorers": [
            {"player": name, "minute": minute} for name, minute in zip(names, minutes, strict=True)
        ],
        "referee": "Szymon Marciniak",
        "mascot": None,
    }


def test_offline_pages_that_disagree_are_both_heard(tmp_path: Path) -> None:
    rows = [
        ("a", "Report", "Chile | 2–1 | Peru\nRojas 3' | Report | Vega 9'\nArena | Referee: Al Pay"),
        ("b", "File", "Chile | 3–1 | Peru\nSoto 8' | Report | Vega 9'\nGround | Referee: Al Pay"),
    ]
    corpus = tmp_path / "c.jsonl"
    text = "{0} of the 1999 Copa America, Chile against Peru.\n\n4 May 1999 | 18:00\n{1}\n"
    corpus.write_text(
        "".join(
            json.dumps(
                {
                    "title": f"1999 Copa America {kind}",
                    "text": text.format(kind, body),
                    "url": f"https://{host}.example/",
                }
            )
            + "\n"
            for host, kind, body in rows
        )
    )
    kept = {"runs_dir": tmp_path / "runs", "cache_dir": tmp_path / "cache", "corpus": corpus}
    given_ = load({}, offline=True, slots=("score", "referee"), **kept)
    run, answer, _ = ended(
        given_, "What was the score of Chile against Peru at the 1999 Copa America?"
    )
    score = answer.slots["score"]
    assert score.status == "conflict" and {score.value, score.alternatives[0].value} == {
        "2–1",
        "3–1",
    }
    assert answer.slots["referee"].status == "filled"
    assert any("2–1" in query and "3–1" in query for query in run.research.queries)


def test_a_named_slot_takes_a_list_as_words() -> None:
    slots = (Slot(name="people", form=Form()),)
    rows = [SlotValue.model_validate({"name": "people", "value": ["A", "B"], "source": "1"})]
    assert [(r.value, r.source) for r in rows_as_leaves(rows, slots)] == [("A, B", 1)]
    assert resolved(SCHEMA)["properties"]["venue"]["properties"]["capacity"]["type"] == "integer"
