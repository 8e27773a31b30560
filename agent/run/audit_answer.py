"""The audit of an answer: its schema, and every page hash, offset, quote, marker and number.

An answer is checked against its journal alone, without a key and without the network: against the
pages that the journal holds, by what the answer was built with, and against the answer that it
holds. No step runs. What a model judged is taken from the answer, and only limited by the rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from agent.answer.addresses import CorpusAddresses
from agent.answer.check_result import CheckResult, build_check_result
from agent.answer.citations import cite_page
from agent.answer.formats import report_to_markdown
from agent.answer.messages import group_claims
from agent.answer.schema import NEXT_VERSION, Answer, answer_validator, upgrade_answer
from agent.calls.journal_reader import read_stored_answers, translate_damage
from agent.evidence.citing import join_claims
from agent.evidence.markers import cited_numbers
from agent.evidence.text_fragments import quote_link
from agent.run.audit_values import Failure, check_data, check_slots, find_cited, find_query_fault
from agent.run.journal_evidence import JournalEvidence, read_evidence
from agent.run.stored_answer import parse_answer
from agent.state import Claim, Json, get_path, hash_text, parse_json
from agent.verification.rules import UNCHECKED, Assessment, decide_verdict


class Audited(NamedTuple):
    """What was found in a result by its pages."""

    failures: list[Failure]
    verdicts: Sequence[tuple[str, str, str]]  # where, which, by whom
    checked: Json  # how much was


#: Of a result that is not in its form.
NOTHING = Audited([], [], {"citations": 0, "claims": 0, "slots": 0, "pages": 0})
BY_RULES = ("", "rule")
_HASH = re.compile("[0-9a-f]{64}")
MAX_FAILURES = 1000  # that are listed, so that no file of others fills the memory
MAX_RESULT_VALUES = 50_000  # of JSON in a result; a long report has 10,000


def audit_answer(answer: Json, journal: Path | None = None) -> Json:
    """`{"ok", "checked", "failures": [{"where", "what"}], "judged_by_model", "stored"}`.

    The answer may also be the result of a check. Without `journal`, that of the path which it
    names. `stored` is whether the journal holds an answer, which this one was compared with. Raises
    JournalError if the journal cannot be read.
    """
    is_older = answer.get("schema_version") in NEXT_VERSION
    answer = upgrade_answer(answer)
    is_check = answer.get("schema_version") == "check-2"
    faults = find_schema_errors(answer, is_check=is_check)
    if failures := list(islice(faults, MAX_FAILURES)):
        return _make_result(NOTHING._replace(failures=failures), is_stored=False)
    if journal is None and (named := get_path(answer, "run", "journal")):
        journal = Path(str(named))
    with translate_damage(journal or Path()):
        evidence = read_evidence(journal, set(_HASH.findall(json.dumps(answer))))
        evidence = evidence._replace(is_older=is_older)
        if is_check:
            audited = _audit_check(CheckResult.model_validate(answer), evidence)
        else:
            audited = _audit(Answer.model_validate(answer), evidence)
        stored = list(_read_stored(journal, is_check=is_check)) if journal else []
    known = {where for where, _ in audited.failures}
    moved = {"run.journal", "usage.seconds"}  # of a run that was resumed, and had nothing to do
    differences = [set(_find_differences(answer, one)) - moved for one in stored]
    for where in sorted(min(differences, key=len, default=set()) - known):
        if not (is_older and "counts." in where):  # which counted what is quoted as supported
            audited.failures.append((where, "it is not what the answer in the journal says"))
    return _make_result(audited, is_stored=bool(stored))


def _read_stored(journal: Path, *, is_check: bool) -> Iterator[Json]:
    """The answers that a journal holds, in the form of the result that is audited."""
    for stored in read_stored_answers(journal):
        answer = parse_answer(stored, journal)
        result: BaseModel = build_check_result(answer) if is_check else answer
        yield result.model_dump(mode="json")


def _find_differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ in value or type."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            inner = f"{path}.{key}" if path else key
            yield from _find_differences(one.get(key, ...), other.get(key, ...), inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from _find_differences(*pair, f"{path}[{i}]")
    elif type(one) is not type(other) or one != other:
        yield path


def find_schema_errors(answer: Json, *, is_check: bool = False) -> Iterator[Failure]:
    """Where a result does not keep the JSON Schema, or the limits of a result's JSON, and how."""
    try:
        parse_json(json.dumps(answer), MAX_RESULT_VALUES)
    except (ValueError, TypeError, RecursionError) as error:
        yield "$", str(error)[:300]
        return
    errors = () if is_check else islice(answer_validator().iter_errors(answer), MAX_FAILURES)
    failures = [(e.json_path, e.message[:300]) for e in errors]
    yield from failures or _find_invalid_values(answer, CheckResult if is_check else Answer)


def _find_invalid_values(value: Json, kind: type[BaseModel]) -> Iterator[Failure]:
    """What a class says; of an answer what its schema cannot tell: a text that is no Unicode."""
    try:
        kind.model_validate(value)
    except ValidationError as error:
        for row in error.errors(include_input=False, include_url=False, include_context=False):
            yield ".".join(("$", *map(str, row["loc"]))), row["msg"]


def _make_result(audited: Audited, *, is_stored: bool) -> Json:
    return {
        "ok": not audited.failures,
        "checked": audited.checked,
        "failures": [{"where": where, "what": what} for where, what in audited.failures],
        "judged_by_model": [
            {"where": where, "verdict": verdict, "by": by}
            for where, verdict, by in audited.verdicts
            if by not in BY_RULES
        ],
        "stored": is_stored,
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
    yield from check_slots(answer, evidence)
    yield from check_data(answer, evidence)
    report = answer.report
    # another version may have written the same values in another way
    own = report_to_markdown(report, answer.claims, answer.citations) if report else ""
    if report and evidence.is_of_this_version and report.markdown != own:
        yield "report.markdown", "it is not what the report's values and the citations say"


def _check_citations(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    """What a citation has of its page must be what citing that page gives."""
    addresses = CorpusAddresses(evidence.corpus)
    places = [(f"citations[{i}]", citation) for i, citation in enumerate(answer.citations)]
    places += [(f"closest[{i}]", citation) for i, citation in enumerate(answer.closest)]
    for where, one in places:
        pages = evidence.pages.get(one.page_sha256, [])
        if not pages:
            yield f"{where}.page_sha256", "the journal holds no page with this hash"
        again = [cite_page(page, one.start, one.end, addresses) for page in pages]
        wrong = [
            [name for name in fields if getattr(one, name) != fields[name]] for fields in again
        ]
        for name in min(wrong, key=len, default=[]):
            yield f"{where}.{name}", "it is not that of the page in the journal at these offsets"
        if one.match == "none":
            yield f"{where}.match", "a quote that is on no page is cited"


def _check_markers(answer: Answer) -> Iterator[Failure]:
    """Markers of the answer and report and citations of slots must be numbers of citations."""
    known = {citation.id for citation in answer.citations}
    markdown = answer.report.markdown if answer.report else ""
    for where, text in (("answer", answer.answer), ("report.markdown", markdown)):
        for n in sorted(cited_numbers(text) - known):
            yield where, f"[{n}] is not among the citations"
    for name, slot in answer.slots.items():
        numbers = {n for alternative in slot.alternatives for n in alternative.citations}
        for n in sorted({*slot.citations, *numbers} - known):
            yield f"slots.{name}", f"{n} is not among the citations"


def _check_claims(answer: Answer, evidence: JournalEvidence) -> Iterator[Failure]:
    text = join_claims(answer.claims)
    if (answer.claims or answer.status == "complete") and text != answer.answer:
        yield "answer", "it is not what its claims say"
    for where, claim in _locate_claims(answer):
        cited = find_cited(claim.citations, answer)
        for n in sorted(set(claim.citations) - {citation.id for citation in cited}):
            yield where, f"{n} is not among the citations"
        if claim.calculation and claim.calculation.is_query:
            if fault := find_query_fault(claim, cited, evidence):
                yield f"{where}.calculation", fault
            continue
        places = evidence.quote_places(cited)
        stated = Assessment(claim.verdict, claim.by, claim.calculation)
        # a rule may have overruled a judge, whose word the answer does not have
        judges = [None, Assessment("supported")] if claim.by in BY_RULES else [stated]
        own = [decide_verdict(claim.text, places, one) for one in judges]
        if evidence.is_older:  # which had no rule about names, and doubted more
            own += [decide_verdict(claim.text, places, one, names=False) for one in judges]
            own += [UNCHECKED]
        if stated not in own:
            yield f"{where}.verdict", "it is not what its quotes, numbers and calculation give"


def _locate_claims(answer: Answer) -> Iterator[tuple[str, Claim]]:
    """The claims of an answer and of its report, each with its path."""
    for path, claims in group_claims(answer).items():
        for i, claim in enumerate(claims):
            yield f"{path}[{i}]", claim


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
    """Where a result is not supported by the report and the pages of the journal."""
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
        elif pages[0].text[start:end] != claim.quote:
            yield f"{where}.quote", "the page does not hold this quote at these offsets"
        elif claim.link != quote_link(source.page_url, pages[0].text, start, end):
            yield f"{where}.link", "the link does not open this page at this quote"
