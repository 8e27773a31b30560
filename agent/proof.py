"""Whether an answer stands: its schema, every page hash, offset, quote, marker and verdict.

Checked from the answer object and the journal alone: no key, no network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.output import Answer, Citation
    from agent.research import Verdict
    from agent.steps.claims import Place

Json = dict[str, Any]


def audit(answer: Json, journal: Path | None = None) -> Json:
    """`{"ok", "checked", "failures": [{"where", "what"}], "judged_by_model"}` for an answer object.

    Pages are those of `journal`, else of the file that the answer names. Raises JournalError if
    that cannot be read.
    """
    failures = [*_shape(answer)]
    counts = {"citations": 0, "claims": 0, "pages": 0}
    leaning: list[Json] = []
    if not failures:
        from agent.output import Answer

        typed = Answer.model_validate(answer)
        evidence = _evidence(journal or (typed.run.journal if typed.run else None))
        failures = [*_citations(typed, evidence), *_markers(typed), *_claims(typed, evidence)]
        leaning = list(_leaning(typed, evidence))
        counts = {
            "citations": len(typed.citations),
            "claims": len(typed.claims),
            "pages": len({citation.page_sha256 for citation in typed.citations}),
        }
    told = [{"where": where, "what": what} for where, what in failures]
    return {"ok": not told, "checked": counts, "failures": told, "judged_by_model": leaning}


Failure = tuple[str, str]


def _shape(answer: Json) -> Iterator[Failure]:
    from agent import output

    for error in output.validator().iter_errors(answer):
        yield error.json_path, error.message[:300]


class _Evidence(NamedTuple):
    """What a journal holds: every text by its SHA-256, and what models said of claims."""

    pages: dict[str, list[Json]]
    judged: dict[str, Verdict]

    def places(self, citations: Sequence[Citation]) -> tuple[Place, ...]:
        from agent.steps.claims import Place

        texts = {c.page_sha256: self.pages.get(c.page_sha256, [{}])[0] for c in citations}
        return tuple(
            Place(str(texts[c.page_sha256].get("text", c.quote)), c.title, c.start, c.end)
            for c in citations
        )


def _evidence(journal: Path | str | None) -> _Evidence:
    from agent.journal import read
    from agent.steps.verify import judgements

    calls = list(read(Path(journal)).calls.values()) if journal else []
    return _Evidence(_pages(calls), judgements(calls))


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
    from agent.evidence import link

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
        if citation.link != link(citation.url, citation.quote):
            yield f"{where}.link", "the link does not open this page at this quote"
        if citation.match == "none":
            yield f"{where}.match", "a quote that is on no page is cited"


def _markers(answer: Answer) -> Iterator[Failure]:
    from agent.steps.synthesize import cited_in

    known = {citation.id for citation in answer.citations}
    for n in sorted(cited_in(answer.answer) - known):
        yield "answer", f"[{n}] is not among the citations"
    for name, slot in answer.slots.items():
        for n in sorted(set(slot.citations) - known):
            yield f"slots.{name}", f"{n} is not among the citations"


def _claims(answer: Answer, evidence: _Evidence) -> Iterator[Failure]:
    from agent.steps.claims import verdict
    from agent.steps.synthesize import written

    text = " ".join(written(claim) for claim in answer.claims)
    if answer.claims and text != answer.answer:
        yield "answer", "it is not what its claims say"
    for i, claim in enumerate(answer.claims):
        cited = [c for c in answer.citations if c.id in claim.citations]
        missing = set(claim.citations) - {c.id for c in answer.citations}
        for n in sorted(missing):
            yield f"claims[{i}]", f"{n} is not among the citations"
        judged = evidence.judged.get(claim.text)
        if verdict(claim.text, evidence.places(cited), judged) != claim.verdict:
            yield f"claims[{i}].verdict", f"{claim.verdict} is not what checking it says"


def _leaning(answer: Answer, evidence: _Evidence) -> Iterator[Json]:
    """Verdicts for which a model's word was needed: what the rules alone say, for a third party."""
    from agent.steps.claims import checked

    for i, claim in enumerate(answer.claims):
        cited = [c for c in answer.citations if c.id in claim.citations]
        rules = checked(claim.text, evidence.places(cited))
        if rules.verdict != claim.verdict:
            yield {"where": f"claims[{i}]", "verdict": claim.verdict, "rules": rules.verdict}


def changes(old: Json, new: Json) -> Json:
    """What changed between two answers, claim by claim and slot by slot."""
    for name, answer in (("the old", old), ("the new", new)):
        if fault := next(_shape(answer), None):
            raise UsageError(f"In {name} answer, {fault[0]}: {fault[1]}", "Name answer files.")
    before, after = (_said(answer) for answer in (old, new))
    slots = {
        name: {"old": _value(old, name), "new": _value(new, name)}
        for name in {**old["slots"], **new["slots"]}
        if _value(old, name) != _value(new, name)
    }
    claims = {
        "added": [text for text in after if text not in before],
        "removed": [text for text in before if text not in after],
    }
    status = {"old": old["status"], "new": new["status"]}
    same = not (slots or claims["added"] or claims["removed"]) and old["status"] == new["status"]
    return {"ok": same, "status": status, "claims": claims, "slots": slots}


def _said(answer: Json) -> dict[str, None]:
    return dict.fromkeys(claim["text"] for claim in answer["claims"])


def _value(answer: Json, name: str) -> Any:
    slot = answer["slots"].get(name)
    return slot and {"value": slot["value"], "status": slot["status"]}
