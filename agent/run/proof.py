"""Whether an answer stands: its schema, every page hash, offset, quote, marker and verdict.

Checked from the answer object and the journal alone: no key, no network. Where this version wrote
the journal, it is replayed as well: then every other value must be what that gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.errors import JournalError

if TYPE_CHECKING:
    from agent.answer import Answer, Citation, SlotAnswer
    from agent.checking.bench import Place
    from agent.run.replay import Replay
    from agent.state import Alternative, Claim, Scalar, Verdict

Json = dict[str, Any]


def audit(answer: Json, journal: Path | None = None) -> Json:
    """`{"ok", "checked", "failures": [{"where", "what"}], "judged_by_model", "replayed"}`.

    Pages are those of `journal`, else of the file that the answer names. `replayed` is whether the
    journal gave the whole answer again, or could have. Raises JournalError if it cannot be read.
    """
    failures = [*misshapen(answer)]
    counts = {"citations": 0, "claims": 0, "slots": 0, "pages": 0}
    leaning: list[Json] = []
    again: Replay | None = None
    if not failures:
        from agent.answer import Answer
        from agent.run.replay import replayed, unlike

        typed = Answer.model_validate(answer)
        journal = journal or (Path(typed.run.journal) if typed.run and typed.run.journal else None)
        with _readable(journal):
            evidence, again = _evidence(journal), replayed(answer, journal)
            failures = list(_failures(typed, evidence))
            leaning = list(_leaning(typed, evidence))
        failures += unlike(answer, again, {where for where, _ in failures}) if again else ()
        counts = {
            "citations": len(typed.citations),
            "claims": len(list(_sentences(typed))),
            "slots": len(typed.slots),
            "pages": len({citation.page_sha256 for citation in typed.citations}),
        }
    told = [{"where": where, "what": what} for where, what in failures]
    return {
        "ok": not told,
        "checked": counts,
        "failures": told,
        "judged_by_model": leaning,
        "replayed": again is not None,
    }


Failure = tuple[str, str]


@contextmanager
def _readable(journal: Path | None) -> Iterator[None]:
    """Raises JournalError for lines of another shape than ours."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        fault = f"{journal} is damaged ({type(error).__name__})."
        raise JournalError(fault, "Name another file.") from None


def _failures(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    yield from _citations(answer, evidence)
    yield from _markers(answer)
    yield from _claims(answer, evidence)
    yield from _report(answer, evidence)
    yield from _slots(answer, evidence)
    yield from _data(answer, evidence)


def misshapen(answer: Json) -> Iterator[Failure]:
    """Where an answer object breaks its schema."""
    from agent.answer import answer_validator

    for error in answer_validator().iter_errors(answer):
        yield error.json_path, error.message[:300]


class _Evidence(NamedTuple):
    """What a journal holds: texts by SHA-256, what was searched, what models said of claims."""

    pages: dict[str, list[Json]]
    searched: list[str]
    judged: dict[str, Verdict]
    schema: Json | None = None  # of the slots, where the run was given one

    def places(self, citations: Sequence[Citation]) -> tuple[Place, ...]:
        from agent.checking.bench import Place

        texts = {c.page_sha256: self.pages.get(c.page_sha256, [{}])[0] for c in citations}
        return tuple(
            Place(str(texts[c.page_sha256].get("text", c.quote)), c.title, c.start, c.end)
            for c in citations
        )


def _evidence(journal: Path | str | None) -> _Evidence:
    from agent.outside.journal import read
    from agent.state.plain import dig
    from agent.steps.verify import judgements

    if not journal:
        return _Evidence({}, [], {})
    run = read(Path(journal))
    calls, schema = list(run.calls.values()), dig(run.header, "settings", "slots_schema")
    return _Evidence(
        _pages(calls),
        [line["request"].get("query") for line in calls if line["call"] == "search"],
        judgements(calls),
        schema if isinstance(schema, dict) else None,
    )


def _pages(calls: Sequence[Json]) -> dict[str, list[Json]]:
    """Every text that the run had before it, of pages and of snippets, by its SHA-256."""
    pages: dict[str, list[Json]] = {}
    for line in calls:
        response = line.get("response", {})
        shown = [response] if line["call"] == "read" else []
        if line["call"] == "search":
            at = response.get("at")
            shown = [
                {**hit, "text": hit.get("snippet"), "retrieved_at": at}
                for hit in response.get("hits", ())
            ]
        for page in shown:
            text = str(page.get("text", "")).encode("utf-8", "replace")
            pages.setdefault(hashlib.sha256(text).hexdigest(), []).append(page)
    return pages


def _citations(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    from agent.evidence.links import link

    for i, citation in enumerate(answer.citations):
        where = f"citations[{i}]"
        held = evidence.pages.get(citation.page_sha256, [])
        if not held:
            yield f"{where}.page_sha256", "the journal holds no page with this hash"
        elif held[0]["text"][citation.start : citation.end] != citation.quote:
            yield f"{where}.quote", "the page does not hold this quote at these offsets"
        for field in ("url", "title", "retrieved_at") if held else ():
            if getattr(citation, field) not in [page.get(field) for page in held]:
                yield f"{where}.{field}", "it is not that of the page in the journal"
        opens = held and link(citation.url, held[0]["text"], citation.start, citation.end)
        if held and citation.link != opens:
            yield f"{where}.link", "the link does not open this page at this quote"
        if citation.match == "none":
            yield f"{where}.match", "a quote that is on no page is cited"


def _markers(answer: Answer) -> Iterator[Failure]:
    from agent.evidence.citing import cited_in

    known = {citation.id for citation in answer.citations}
    for n in sorted(cited_in(answer.answer) - known):
        yield "answer", f"[{n}] is not among the citations"
    for name, slot in answer.slots.items():
        told = {n for other in slot.alternatives for n in other.citations}
        for n in sorted({*slot.citations, *told} - known):
            yield f"slots.{name}", f"{n} is not among the citations"


def _claims(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    from agent.checking.bench import verdict
    from agent.evidence.citing import joined

    if (answer.claims or answer.status == "complete") and joined(answer.claims) != answer.answer:
        yield "answer", "it is not what its claims say"
    for where, claim in _sentences(answer):
        cited = [c for c in answer.citations if c.id in claim.citations]
        for n in sorted(set(claim.citations) - {c.id for c in cited}):
            yield where, f"{n} is not among the citations"
        judged = evidence.judged.get(claim.text)
        if verdict(claim.text, evidence.places(cited), judged) != claim.verdict:
            yield f"{where}.verdict", f"{claim.verdict} is not what checking it says"


def _sentences(answer: Answer) -> Iterator[tuple[str, Claim]]:
    """Every sentence of an answer and of its report, with its place."""
    report = answer.report
    parts = {"claims": answer.claims}
    if report:
        for i, section in enumerate(report.sections):
            parts[f"report.sections[{i}].sentences"] = section.sentences
        parts["report.conflicts"] = report.conflicts
    for place, claims in parts.items():
        for i, claim in enumerate(claims):
            yield f"{place}[{i}]", claim


def _report(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    """The report says what its values say, and counts what the answer counts."""
    from agent.answer import document

    report = answer.report
    if report is None:
        return
    if report.markdown != document.report(report, answer.claims, answer.citations):
        yield "report.markdown", "it is not what the report's values and the citations say"
    told, counts = report.methodology, answer.sources
    if told.question != answer.topic:
        yield "report.methodology.question", "it is not the question of the answer"
    for query in told.searches:
        if query not in evidence.searched:
            yield "report.methodology.searches", f"the journal holds no search for: {query}"
    for field, counted in (
        ("candidates", counts.found),
        ("analysed", counts.read),
        ("blocked", counts.blocked),
        ("failed", counts.failed),
    ):
        if getattr(told, field) != counted:
            yield f"report.methodology.{field}", f"the answer counts {counted}"


def _slots(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    """Whether every value, and every alternative, stands in a quote that is cited for it."""
    for name, slot in answer.slots.items():
        if (slot.value is None) != (slot.status == "missing"):
            yield f"slots.{name}.status", f"it is {slot.status}, and its value {slot.value!r}"
        told = [(f".alternatives[{i}]", *_witnessed(a)) for i, a in enumerate(slot.alternatives)]
        for where, value, cited in (("", *_witnessed(slot)), *told):
            if value is not None and not _stands(value, cited, answer, evidence):
                yield f"slots.{name}{where}.value", "it stands in none of its quotes"


def _witnessed(one: SlotAnswer | Alternative) -> tuple[Scalar | None, Sequence[int]]:
    return one.value, one.citations


def _stands(value: Scalar, cited: Sequence[int], answer: Answer, evidence: _Evidence) -> bool:
    from agent.slots.forms import holds

    for citation in answer.citations:
        page = next(iter(evidence.pages.get(citation.page_sha256, ())), {})
        if citation.id in cited and holds(citation.quote, value, str(page.get("text", ""))):
            return True
    return False


def _data(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    """Whether the plain object is what the slots say, and keeps the schema of the run."""
    from agent.slots.data import unlike

    if evidence.schema is not None and answer.data is None:
        yield "data", "the run had a schema of slots, and there is no data"
    if answer.data is not None:
        values = {name: slot.value for name, slot in answer.slots.items()}
        for path, message in unlike(answer.data, values, evidence.schema):
            yield f"data.{path}".rstrip("."), message


def _leaning(answer: Answer, evidence: _Evidence) -> Iterator[Json]:
    """Verdicts for which a model's word was needed: what the rules alone say, for a third party."""
    from agent.checking.bench import checked

    for where, claim in _sentences(answer):
        cited = [c for c in answer.citations if c.id in claim.citations]
        rules = checked(claim.text, evidence.places(cited))
        if rules.verdict != claim.verdict:
            yield {"where": where, "verdict": claim.verdict, "rules": rules.verdict}
