"""What an answer is beside its draft: both sides of a conflict, facts, numbers, and the status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.build import build_answer
from agent.answer.formats import to_markdown
from agent.answer.schema import Answer, RunInfo, Usage
from agent.evidence import anchor_quote
from agent.slots.grounding import ground_rows
from agent.slots.reply_rows import SlotValue
from agent.slots.weighing import make_findings
from agent.state import (
    Alternative,
    Answered,
    Asked,
    Attempt,
    Cited,
    Claim,
    Draft,
    Finding,
    Hit,
    PageRead,
    Quote,
    Reflected,
    Research,
    Searched,
    SearchResults,
    Slot,
    Source,
    Verified,
)
from agent.steps.resolve_conflicts import resolve_conflicts
from agent.steps.synthesize import build_abstention
from agent.verification.claim_batch import ClaimBatch
from tests.support.typed_slots import build_source

RUN = RunInfo(id="monday", strategy="slots", started_at="2026-01-02T03:04:05Z")
STAFF = ("Acme Pumps has 4,200 employees in Ulm.", "Acme Pumps has 3,850 employees in Ulm.")


def read(
    *texts: str,
    slots: tuple[Slot, ...] = (),
    topic: str = "How many employees does Acme Pumps have?",
) -> Research:
    """A research that has read these pages."""
    research = Research(topic, slots)
    for n, text in enumerate(texts, 1):
        page = build_source(n, text).page
        research.grow(PageRead(page=page, hit=Hit(url=page.url)))
    return research


def settle(verified: Verified, research: Research) -> Verified:
    """An answer as it is given where nobody judged."""
    batch = ClaimBatch(Answered(text="", claims=(), quotes=()), research)
    return resolve_conflicts(verified, research, batch.judge_added)


def quote(source: Source, text: str) -> Quote:
    found = anchor_quote(text, source)
    assert found
    return found


def reflect(research: Research, *rows: tuple[Any, ...], answerable: bool = True) -> None:
    """Let a reader find these values: each with its source, its quote and perhaps its slot."""
    names = ("value", "source", "quote", "name")
    known = [dict(zip(names, (*row, "employees"), strict=False)) for row in rows]
    values = [SlotValue.model_validate(row) for row in known]
    said, _ = ground_rows(values, research.slots, research.sources)
    findings = make_findings(research.slots, said, research.sources)
    research.grow(
        Reflected(round=1, findings=findings, said=said, answerable=answerable, need_more=False)
    )


def end(research: Research, said: str = "", n: int = 1, by: str = "rule", **claim: Any) -> Answer:
    """The answer of a run with a checked draft of one sentence of a source, or with none."""
    draft: dict[str, Any] = {"text": "", "quotes": (), "claims": ()}
    if said:
        known = {"text": said, "citations": (n,), "verdict": "quoted", "by": by, **claim}
        quotes = (quote(research.sources[n - 1], said),)
        draft = {"text": "x", "quotes": quotes, "claims": (Claim.model_validate(known),)}
    research.grow(Answered(**draft))
    research.grow(settle(Verified(**draft), research))
    return build_answer(research, usage=Usage(), run=RUN)


EMPLOYEES = (Slot(name="employees", description="how many people work there"),)


@pytest.mark.parametrize("needed", [True, False])  # the slot of a plan that names none is not
def test_both_sides_of_a_settled_slot_are_shown_if_the_other_weighs_enough(needed: bool) -> None:
    told = (*STAFF, "In Ulm, 4,200 employees work at Acme Pumps, says a paper.")
    research = read(*told, slots=(EMPLOYEES[0].model_copy(update={"needed": needed}),))
    reflect(research, ("4,200", 1, told[0]), ("3,850", 2, told[1]), ("4,200", 3, told[2]))
    answer = end(research, told[2], 3)
    assert answer.slots["employees"].status == "filled"
    assert [claim.text for claim in answer.claims] == [told[2], STAFF[0], STAFF[1]]
    assert {claim.intro for claim in answer.claims[1:]} == {"employees: 4,200 / 3,850"}
    assert any("The better supported value is shown." in warning for warning in answer.warnings)


def test_what_the_answer_needs_comes_before_the_draft_and_the_rest_behind_it() -> None:
    founded = ("Acme Pumps was founded in 1921.", "Acme Pumps was founded in 1908 as a forge.")
    slots = (*EMPLOYEES, Slot(name="founded", needed=False))
    draft = "Acme Pumps makes pumps for mines."
    research = read(STAFF[0], f"{founded[0]} {draft}", f"{STAFF[1]} {founded[1]}", slots=slots)
    years = ("1921", 2, founded[0], "founded"), ("1908", 3, founded[1], "founded")
    reflect(research, ("4,200", 1, STAFF[0]), ("3,850", 3, STAFF[1]), *years)
    answer = end(research, draft, 2)
    assert [claim.text for claim in answer.claims] == [*STAFF, draft, *founded]


def test_the_quotes_of_the_slots_are_the_answer_where_no_draft_is_left() -> None:
    research = read(f"Pumps are fine. {STAFF[0]}", slots=EMPLOYEES)
    reflect(research, answerable=False)
    answer = end(research)
    assert answer.status == "insufficient" and not answer.claims
    assert "do not answer" in answer.answer
    reflect(research, ("4,200", 1, "4,200 employees"))
    answer = end(research)
    assert answer.answer == "Acme Pumps has 4,200 employees in Ulm [1]."
    assert answer.status == "partial" and "draft" in " ".join(answer.warnings)
    missing = Finding(slot="a", status="missing")
    nothing = Verified(text="", quotes=(), claims=(), findings=(missing,))
    assert settle(nothing, read("It rained.")).claims == ()


def supported(research: Research, **changed: Any) -> Answer:
    return end(research, STAFF[0], **changed)


def test_an_answer_is_complete_only_where_nothing_is_missing() -> None:
    assert supported(read(STAFF[0])).status == "complete"
    assert supported(read(STAFF[0]), verdict="unchecked", by="").status == "partial"
    assert supported(read(STAFF[0]), verdict="partial", by="m").status == "partial"
    needed = supported(read(STAFF[0], slots=EMPLOYEES))
    assert needed.status == "partial" and "Not found: employees." in needed.warnings
    optional = tuple(slot.model_copy(update={"needed": False}) for slot in EMPLOYEES)
    assert supported(read(STAFF[0], slots=optional)).status == "complete"


@pytest.mark.parametrize(
    ("what", "attempts", "is_degraded"),
    [
        ("llm", "a unavailable, a ok", False),  # the same one, asked again
        ("llm", "a unavailable, b ok", True),
        ("search", "exa no_key, serper ok", False),
        ("search", "exa rate_limited, serper ok", True),
    ],
)
def test_a_fallback_degrades(what: str, attempts: str, is_degraded: bool) -> None:
    research, names = read(STAFF[0]), ("provider", "outcome")
    rows = [dict(zip(names, row.split(), strict=True)) for row in attempts.split(", ")]
    tried = tuple(Attempt.model_validate({"what": what, **row}) for row in rows)
    if what == "llm":
        research.grow(Asked(task="synthesize", model=tried[-1].provider, attempts=tried))
    else:
        found = SearchResults(query="q", hits=(), provider="serper", attempts=tried)
        research.grow(Searched(round=1, found=found))
    assert supported(research).degraded is is_degraded


@given(st.lists(st.lists(st.integers(1, 6), max_size=3, unique=True), max_size=6))
def test_sources_are_numbered_by_first_use(cited: list[list[int]]) -> None:
    research = read(*(f"Page {'abcdef'[n]} says what it says of pumps." for n in range(6)))
    sources = research.sources
    claims = tuple(
        Claim(text=f"Pump {'abcdef'[i]} works well.", citations=tuple(numbers))
        for i, numbers in enumerate(cited)
    )
    quotes = tuple(quote(source, source.page.text) for source in sources)
    research.grow(Answered(text="x", claims=claims, quotes=quotes))
    answer = build_answer(research, usage=Usage(), run=RUN)
    used = [n for claim in answer.claims for n in claim.citations]
    assert list(dict.fromkeys(used)) == list(range(1, len(set(used)) + 1))
    urls = {citation.id: citation.url for citation in answer.citations}
    for before, after in zip(claims, answer.claims, strict=True):
        pages = [sources[n - 1].page.url for n in before.citations]
        assert [urls[n] for n in after.citations] == pages


def test_a_value_is_in_its_own_quote() -> None:
    text = "Fredrik Idestam founded Nokia. Its head office is in Espoo. Pekka Lundmark leads it."
    slot = "chief executive"
    research = read(text, slots=(Slot(name=slot, description="who leads Nokia"),))
    for value, quoted in (
        ("Fredrik Idestam", "Its head office is in Espoo."),
        ("who leads Nokia", text),
        ("Pekka Larsson", "Pekka Lundmark leads it."),
    ):
        reflect(research, (value, 1, quoted, slot))
        assert research.events_of(Reflected)[-1].said == (), value
    reflect(research, ("Pekka Lundmark", 1, "Pekka Lundmark leads", slot))
    assert research.findings[slot].value == "Pekka Lundmark"


@pytest.mark.parametrize(
    ("value", "open_", "told"),
    [
        ("Acme Pumps", "employees", 0),  # of which the question speaks itself
        ("Ulm", "employees", 1),
        ("Acme Pumps", "", 1),  # `Which has more, Acme Pumps or Bolt?`
    ],
)
def test_what_the_question_says_itself_is_no_answer(value: str, open_: str, told: int) -> None:
    slots = tuple(Slot(name=name) for name in ("company", open_) if name)
    research = read("Acme Pumps of Ulm makes pumps.", slots=slots)
    known = Finding(
        slot="company",
        status="filled",
        value=value,
        quotes=(quote(research.sources[0], "Acme Pumps of Ulm makes pumps."),),
    )
    left = [Finding(slot=open_, status="missing")] if open_ else []
    nothing = Verified(text="", claims=(), quotes=(), findings=(known, *left))
    assert len(settle(nothing, research).claims) == told


def test_an_answer_with_another_value_than_its_slot_has_both() -> None:
    told = ("Ada Quill built it, the office of towers says.", "Bo Lind built it.")
    research = read(*told, slots=(Slot(name="builder", needed=False),))
    heavy = Finding(
        slot="builder",
        status="filled",
        value="Ada Quill",
        quotes=tuple(quote(s, t) for s, t in zip(research.sources, told, strict=True)),
        alternatives=(Alternative(value="Bo Lind", citations=(2,), weight=0.1),),
        weight=0.9,
    )
    research.grow(Reflected(round=1, findings=(heavy,), need_more=False))
    answer = end(research, told[1], 2)  # the slot weighs; the draft says the other one alone
    assert [claim.text for claim in answer.claims] == list(told)
    assert {claim.intro for claim in answer.claims} == {"builder: Ada Quill / Bo Lind"}


def test_what_came_closest_is_not_part_of_the_answer() -> None:
    research = read("Acme Pumps is in Ulm.", "It makes pumps.")
    cited = [Cited(source=2, quote="It makes pumps.")]
    draft = Draft(answer="", citations=cited)
    none = Reflected(round=1, findings=(), answerable=False, draft=draft, need_more=False)
    research.grow(none)
    research.grow(build_abstention(research))
    answer = build_answer(research, usage=Usage(), run=RUN)
    assert (answer.status, answer.confidence, answer.citations) == ("insufficient", None, ())
    assert [(one.id, one.quote) for one in answer.closest] == [(1, "It makes pumps.")]
    assert "It makes pumps." not in answer.answer and "It makes pumps." in to_markdown(answer)
    # a reader that cites nothing: the sentence that fits the question best
    asked = "Who leads Acme Pumps in Ulm?"
    fallback = build_abstention(read("Acme Pumps is in Ulm.", "It is old.", topic=asked))
    assert [quote.text for quote in fallback.closest] == ["Acme Pumps is in Ulm."]
    other = read("Velmora Pumps is in Bonn.", "It is old.", topic=asked)
    assert build_abstention(other).closest == ()  # without the rare words


def test_the_sentence_that_fills_a_needed_slot_leads_the_answer() -> None:
    pages = ("The Lund bridge was painted by Ada Quill.", "The Lund bridge is 503 metres long.")
    research = read(
        " ".join(pages), slots=(Slot(name="length"), Slot(name="painter", needed=False))
    )
    reflect(research, ("503 metres", 1, pages[1], "length"))
    quotes = tuple(quote(research.sources[0], text) for text in pages)
    claims = tuple(Claim(text=text, citations=(1,), verdict="supported", by="m") for text in pages)
    draft: dict[str, Any] = {"text": "x", "quotes": quotes, "claims": claims}
    research.grow(Answered(**draft))
    found = settle(Verified(**draft), research)
    assert [claim.text for claim in found.claims] == list(pages[::-1])
