"""Text made to take long, or to break what reads it: of pages, of models and of users.

No time is asserted: what takes exponential or cubic time does not end within pytest's timeout.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import UsageError
from agent.evidence import closest_sentences, select_passages, split_sentences
from agent.evidence.citing import MOST_CLAIMS, compose_answer
from agent.evidence.quantities import number_values, read_numbers
from agent.evidence.quoting import anchor_quote
from agent.evidence.sentences import DENSE, LEAST_BORDERS, LONGEST
from agent.slots.conversion import holds_value, to_typed
from agent.slots.slot_data import schema_faults
from agent.slots.slot_schema import slots_of
from agent.slots.user_patterns import compile_pattern, has_match
from agent.state import Draft
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import decide_verdict
from tests.evidence.test_evidence import source
from tests.support.hostile_readers import readers
from tests.support.hostile_shapes import SHAPES
from tests.support.typed_slots import object_schema

SIZE = 3_000  # characters
SLOW_PATTERN = ".*" * 12 + "X"
READERS = readers()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_no_function_hangs_or_raises_for_a_hostile_shape(shape: str) -> None:
    text = SHAPES[shape](SIZE)
    for reader in READERS.values():
        reader(text)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["a. ", "lines", "dots", "quoted stops", "Chinese"])
def test_sentences_of_a_long_text_are_bounded_and_cover_it(shape: str) -> None:
    text = SHAPES[shape](300_000)
    spans = split_sentences(text)
    assert all(0 < end - start <= LONGEST for start, end in spans)
    assert len(spans) <= max(LEAST_BORDERS, len(text) // DENSE) + len(text) // LONGEST + 1
    shown = "".join(text[start:end] for start, end in spans)
    assert "".join(shown.split()) == "".join(text.split())


@given(st.text(alphabet="1234567890,.$€ 万元一二个mk+-−\u00a0e", max_size=400))
def test_numbers_are_read_or_left_out(text: str) -> None:
    for number, (start, end) in read_numbers(text.casefold()):
        assert abs(number) < float("inf") and start < end
    number_values(text)


@pytest.mark.parametrize("many", ["9" * 310, "9" * 5000, "1" + ",000" * 200, "1e999", "inf", "nan"])
def test_a_number_that_no_float_holds_fills_no_slot(many: str) -> None:
    for kind in ("integer", "number"):
        (slot,) = slots_of(object_schema(count={"type": kind}))
        assert to_typed(many, slot) is None
    assert not holds_value(f"It is {many} metres.", 7, many)
    assert holds_value(f"It is {many} and 7 metres.", 7)


def test_passages_of_a_long_page_are_its_own_words() -> None:
    head = "# Opening\nThe bridge was opened in 1904 by Anna Quill, who had designed it."
    page = source("Nothing of it. " * 30_000 + f"\n{head}\n" + "Nothing more. " * 30_000)
    (shown,) = select_passages([page], "When was the bridge opened?", 500)
    assert any("opened in 1904" in passage for passage in shown.passages)
    assert all(passage in page.page.text for passage in shown.passages)
    (quote,) = closest_sentences("The bridge was opened in 1904.", [page], most=1)
    assert page.page.text[quote.start : quote.end] == quote.text and "1904" in quote.text


@pytest.mark.parametrize("text, piece", [("a" * 200_000, "a" * 5000), ("aa " * 60_000, "aa " * 99)])
def test_a_piece_found_again_and_again_within_words_is_given_up(text: str, piece: str) -> None:
    assert anchor_quote(f"{piece}a", source(text)) is None
    assert anchor_quote("the end", source(f"{text} the end")) is not None


@pytest.mark.parametrize("marks", ["\u0301\u0316" * 50_000, "\u0301" * 100_000])
def test_a_claim_and_its_quote_may_be_marks_without_end(marks: str) -> None:
    claim, text = "The bridge was opened in 1904.", f"The bridge was opened in 1904. {marks}"
    place = QuotePlace(text, "", 0, len(text))
    assert decide_verdict(claim, (place,)).verdict == "quoted"
    assert decide_verdict(f"{claim} a{marks}", (place,)).verdict != "quoted"


def test_an_answer_of_countless_sentences_keeps_the_first() -> None:
    draft = Draft(answer=" ".join(f"Line {n} is here." for n in range(2000)))
    answer, warnings = compose_answer(draft, [source("nothing")])
    assert len(answer.claims) == MOST_CLAIMS and warnings


def test_a_pattern_that_takes_exponential_time_elsewhere_is_matched() -> None:
    schema = object_schema(code={"type": "string", "pattern": SLOW_PATTERN})
    (slot,) = slots_of(schema)
    assert to_typed("a" * 1000, slot) is None
    assert to_typed("aX", slot) == "aX"
    assert list(schema_faults(schema, {"code": "a" * 100_000}))
    assert not list(schema_faults(schema, {"code": "a X"}))


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", "a(?=b)", "(?<!a)b", "(?!a)b", "(a{1000}){1000}", "(", "[", r"a\Z", "a" * 201],
)
def test_a_pattern_that_cannot_be_matched_in_bounded_time_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="at #/properties/code: the pattern"):
        slots_of(object_schema(code={"type": "string", "pattern": pattern}))


@pytest.mark.parametrize(
    "pattern, text, found",
    [
        (r"^\w+$", "Müller", False),
        (r"^\d{4}-\d\d$", "2022-12", True),
        (r"\u00e9$", "café", True),
        (r"", "\ud800", True),
    ],
)
def test_patterns_mean_what_ecma_262_says(pattern: str, text: str, found: bool) -> None:
    compile_pattern(pattern)
    assert has_match(pattern, text) is found


@given(st.text(max_size=30), st.text(max_size=60))
def test_any_pattern_is_matched_or_refused(pattern: str, text: str) -> None:
    try:
        compile_pattern(pattern)
    except UsageError:
        return
    has_match(pattern, text)
