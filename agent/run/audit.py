"""The audit of an answer: its schema, and every page hash, offset, quote, marker and verdict.

An answer is checked against its journal alone, without a key and without the network. A journal
that this version wrote is replayed as well: then every other value must be what the replay gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from agent.answer import Answer, Citation, SlotAnswer, answer_validator, drop_gone_fields
from agent.answer.addresses import CorpusAddresses
from agent.answer.check import CheckResult, build_check_result
from agent.answer.formats import report_to_markdown
from agent.answer.phrases import group_claims
from agent.checking.bench import shown_text, value_claim
from agent.checking.rules import (
    FAILING,
    UNCHECKED,
    Assessment,
    claims_before,
    decide_value,
    decide_verdict,
)
from agent.errors import JournalError
from agent.evidence.citing import join_claims
from agent.evidence.links import quote_link
from agent.evidence.markers import cited_numbers
from agent.run.journal_evidence import JournalEvidence, read_evidence
from agent.run.loop import DAMAGE
from agent.run.replay import find_replay_differences, replay_journal
from agent.slots.data import data_differences
from agent.slots.forms import holds_value
from agent.state import Claim
from agent.state.json_data import Json, get_path, parse_json
from agent.state.places import find_place, to_places
from agent.state.values import hash_text

#: Where in a result, as a path, and what is wrong there.
Failure = tuple[str, str]


class Audited(NamedTuple):
    """What was found in a result without replaying it."""

    failures: list[Failure]
    verdicts: Sequence[tuple[str, str, str]]  # where, which, by whom
    checked: Json  # how much was


#: What a citation has from its page as the journal has it.
PAGE_FIELDS = ("url", "title", "retrieved_at", "text_from", "partial_text", "copy_of")
#: Of a result that is not in its form.
NOTHING = Audited([], [], {"citations": 0, "claims": 0, "slots": 0, "pages": 0})


def audit_answer(answer: Json, journal: Path | None = None) -> Json:
    """`{"ok", "checked", "failures": [{"where", "what"}], "judged_by_model", "replayed"}`.

    The answer may also be the result of a check. Without `journal`, that of the path which it
    names. `replayed` is whether the journal gave all of it again, or could have. Raises
    JournalError if the journal cannot be read.
    """
    answer = drop_gone_fields(answer)
    is_check = answer.get("schema_version") == "check-1"
    faults = _find_invalid_values(answer, CheckResult) if is_check else find_schema_errors(answer)
    if failures := list(faults):
        return _make_result(NOTHING._replace(failures=failures), is_replayed=False)
    if journal is None and (named := get_path(answer, "run", "journal")):
        journal = Path(str(named))
    try:
        evidence = read_evidence(journal)
        if is_check:
            audited = _audit_check(CheckResult.model_validate(answer), evidence)
            replay = replay_journal(answer, journal, build_check_result)
        else:
            audited = _audit(Answer.model_validate(answer), evidence)
            replay = replay_journal(answer, journal)
    except DAMAGE as error:
        fault = f"{journal} holds what this program does not write ({type(error).__name__})."
        raise JournalError(fault, "Name another file.") from None
    if replay:
        known = {where for where, _ in audited.failures}
        audited.failures.extend(find_replay_differences(answer, replay, known))
    return _make_result(audited, is_replayed=replay is not None)


def find_schema_errors(answer: Json) -> Iterator[Failure]:
    """Where an answer object does not keep the JSON Schema, or the limits of JSON, and how."""
    try:
        parse_json(json.dumps(answer))
    except (ValueError, TypeError, RecursionError) as error:
        yield "$", str(error)[:300]
        return
    failures = [(e.json_path, e.message[:300]) for e in answer_validator().iter_errors(answer)]
    yield from failures or _find_invalid_values(answer, Answer)


def _find_invalid_values(value: Json, kind: type[BaseModel]) -> Iterator[Failure]:
    """What a class says; of an answer what its schema cannot tell: a text that is no Unicode."""
    try:
        kind.model_validate(value)
    except ValidationError as error:
        for row in error.errors():
            yield ".".join(("$", *map(str, row["loc"]))), row["msg"]


def _make_result(audited: Audited, *, is_replayed: bool) -> Json:
    return {
        "ok": not audited.failures,
        "checked": audited.checked,
        "failures": [{"where": where, "what": what} for where, what in audited.failures],
        "judged_by_model": [
            {"where": where, "verdict": verdict, "by": by}
            for where, verdict, by in audited.verdicts
            if by not in ("", "rule")
        ],
        "replayed": is_replayed,
    }


def _audit(answer: Answer, evidence: JournalEvidence) -> Audited:
    claims = list(_locate_claims(answer))
    verdicts = [(where, claim.verdict, claim.by) for where, claim in claims]
    verdicts += [(f"slots.{name}", slot.verdict, slot.by) for name, slot in answer.slots.items()]
    checked = {
        "citations": len(answer.citations),
        "claims": len(claims),
        "slots": len(answer.slots),
        "pages": len({citation.page_sha256 for citation in answer.citations}),
    }
    return Audited(list(_find_failures(answer, evidence)), verdicts, checked)


def _find_failures(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    yield from _check_citations(answer, evidence)
    yield from _check_markers(answer)
    yield from _check_claims(answer, evidence)
    yield from _check_report(answer, evidence)
    yield from _check_slots(answer, evidence)
    yield from _check_data(answer, evidence)


def _check_citations(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    addresses = CorpusAddresses(evidence.corpus)
    places = [(f"citations[{i}]", citation) for i, citation in enumerate(answer.citations)]
    places += [(f"closest[{i}]", citation) for i, citation in enumerate(answer.closest)]
    for where, citation in places:
        pages = evidence.pages.get(citation.page_sha256, [])
        if not pages:
            yield f"{where}.page_sha256", "the journal holds no page with this hash"
        elif pages[0]["text"][citation.start : citation.end] != citation.quote:
            yield f"{where}.quote", "the page does not hold this quote at these offsets"
        for field in PAGE_FIELDS if pages else ():
            recorded = {str(page.get(field, "")) for page in pages}
            recorded |= {addresses.shorten_url(url) for url in recorded if field == "url"}
            if getattr(citation, field) not in recorded:
                yield f"{where}.{field}", "it is not that of the page in the journal"
        if pages and citation.link != quote_link(
            citation.url, pages[0]["text"], citation.start, citation.end
        ):
            yield f"{where}.link", "the link does not open this page at this quote"
        marks = [to_places(page.get("places", ())) for page in pages]
        found = [find_place(pages[0]["text"], of_page, citation.start) for of_page in marks]
        if pages and citation.place not in found:
            yield f"{where}.place", "it is not where the page in the journal has this quote"
        if citation.match == "none":
            yield f"{where}.match", "a quote that is on no page is cited"


def _check_markers(answer: Answer) -> Iterator[Failure]:
    """Markers of the answer and citations of slots must be numbers of citations."""
    known = {citation.id for citation in answer.citations}
    for n in sorted(cited_numbers(answer.answer) - known):
        yield "answer", f"[{n}] is not among the citations"
    for name, slot in answer.slots.items():
        numbers = {n for alternative in slot.alternatives for n in alternative.citations}
        for n in sorted({*slot.citations, *numbers} - known):
            yield f"slots.{name}", f"{n} is not among the citations"


def _check_claims(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    text = join_claims(answer.claims)
    if (answer.claims or answer.status == "complete") and text != answer.answer:
        yield "answer", "it is not what its claims say"
    before = claims_before(group_claims(answer).values())
    for where, claim in _locate_claims(answer):
        cited = _find_cited(claim.citations, answer)
        for n in sorted(set(claim.citations) - {citation.id for citation in cited}):
            yield where, f"{n} is not among the citations"
        assessment = _rule(claim, before[claim.text], answer, evidence)
        if assessment.verdict != claim.verdict:
            yield f"{where}.verdict", f"{claim.verdict} is not what checking it says"
        elif assessment.by != claim.by:
            yield f"{where}.by", f"it was {assessment.by or 'nobody'} who said so"
        if assessment.calculation != claim.calculation:
            yield f"{where}.calculation", "it is not what computing it gives"


def _rule(
    claim: Claim, before: Sequence[str], answer: Answer, evidence: JournalEvidence
) -> Assessment:
    """What is to be said of a claim: by the rules, and by what models said in the journal.

    The side of a conflict was judged as a sentence of its section.
    """
    places, told = evidence.quote_places(_find_cited(claim.citations, answer)), evidence.assessments
    sides = {one.text for one in answer.report.conflicts} if answer.report else set()
    as_sentence = told.get(claim.text) if claim.text in sides else None
    return decide_verdict(claim.text, places, told.get(shown_text(claim), as_sentence), before)


def _locate_claims(answer: Answer) -> Iterator[tuple[str, Claim]]:
    """The claims of an answer and of its report, each with its path."""
    for path, claims in group_claims(answer).items():
        for i, claim in enumerate(claims):
            yield f"{path}[{i}]", claim


def _find_cited(numbers: Sequence[int], answer: Answer) -> list[Citation]:
    return [citation for citation in answer.citations if citation.id in numbers]


def _check_report(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """The Markdown must be that of the report's values, the counts those of the answer."""
    report = answer.report
    if report is None:
        return
    if report.markdown != report_to_markdown(report, answer.claims, answer.citations):
        yield "report.markdown", "it is not what the report's values and the citations say"
    methodology, counts = report.methodology, answer.sources
    if methodology.question != answer.topic:
        yield "report.methodology.question", "it is not the question of the answer"
    for query in methodology.searches:
        if query not in evidence.queries:
            yield "report.methodology.searches", f"the journal holds no search for: {query}"
    for field, count in (
        ("candidates", counts.found),
        ("analysed", counts.read),
        ("blocked", counts.blocked),
        ("failed", counts.failed),
    ):
        if getattr(methodology, field) != count:
            yield f"report.methodology.{field}", f"the answer counts {count}"


def _check_slots(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """Every value and every alternative must be in a quote that is cited for it."""
    for name, slot in answer.slots.items():
        if (slot.value is None) != (slot.status == "missing"):
            yield f"slots.{name}.status", f"it is {slot.status}, and its value {slot.value!r}"
        values = [("", slot.value, slot.citations)]
        for i, alternative in enumerate(slot.alternatives):
            values.append((f".alternatives[{i}]", alternative.value, alternative.citations))
        for path, value, cited in values:
            quotes = [(one.quote, one.title) for one in _find_cited(cited, answer)]
            if value is not None and not any(holds_value(q, value, t) for q, t in quotes):
                yield f"slots.{name}{path}.value", "it stands in none of its quotes"
        if (slot.verdict, slot.by) != _rule_value(name, slot, answer, evidence):
            yield f"slots.{name}.verdict", f"{slot.verdict} is not what checking it says"


def _rule_value(
    name: str, slot: SlotAnswer, answer: Answer, evidence: JournalEvidence
) -> tuple[str, str]:
    """What is to be said of a slot's value. A verdict that it fails is on another list item."""
    if slot.value is None:
        return "unchecked", ""
    judged = evidence.assessments.get(value_claim(name, slot.value).text)
    cited = _find_cited(slot.citations, answer)
    held = [c for c in cited if holds_value(c.quote, slot.value)] or cited
    assessment = decide_value(str(slot.value), evidence.quote_places(held), judged)
    return (UNCHECKED if assessment.verdict in FAILING else assessment)[:2]


def _check_data(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """The plain object must have the values of the slots and keep the schema of the run."""
    if evidence.slots_schema is not None and answer.data is None:
        yield "data", "the run had a schema of slots, and there is no data"
    if answer.data is not None:
        values = {name: slot.value for name, slot in answer.slots.items()}
        for path, message in data_differences(answer.data, values, evidence.slots_schema):
            yield f"data.{path}".rstrip("."), message


# --- a checked report: every quote, offset and link ----------------------------------------------


def _audit_check(result: CheckResult, evidence: JournalEvidence) -> Audited:
    """The audit of a checked report by the pages of its journal."""
    claims = [(f"claims[{i}]", claim.verdict, claim.by) for i, claim in enumerate(result.claims)]
    checked = {
        "citations": sum(bool(claim.quote) for claim in result.claims),
        "claims": len(claims),
        "slots": 0,
        "pages": sum(source.read for source in result.sources),
    }
    return Audited(list(_find_check_failures(result, evidence)), claims, checked)


def _find_check_failures(result: CheckResult, evidence: JournalEvidence) -> Iterator[Failure]:
    """Where a result does not stand on the report and on the pages of the journal."""
    report = result.report
    text = report.text if report else ""
    if report and report.sha256 != hash_text(text, "replace"):
        yield "report.sha256", "it is not that of the report's text"
    sources = {source.id: source for source in result.sources}
    for i, claim in enumerate(result.claims):
        where = f"claims[{i}]"
        if not 0 <= claim.start <= claim.end <= len(text):
            yield where, "its offsets are not in the report"
        for n in claim.sources:
            if n not in sources:
                yield where, f"{n} is not among the sources"
        if not claim.quote:
            continue
        source = sources.get(claim.source or 0)
        pages = evidence.pages.get(source.page_sha256, []) if source else []
        start, end = claim.quote_start or 0, claim.quote_end or 0
        if not source or not pages:
            yield where, "the journal holds no page of its quote"
        elif pages[0]["text"][start:end] != claim.quote:
            yield f"{where}.quote", "the page does not hold this quote at these offsets"
        elif claim.link != quote_link(source.page_url, pages[0]["text"], start, end):
            yield f"{where}.link", "the link does not open this page at this quote"
