"""Whether an answer stands: its schema, every page hash, offset, quote, marker and verdict.

No key, no network, unless `--fetch` asks whether the quotes are still on the live pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from agent import __version__
from agent.errors import AgentError, UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.output import Answer, Citation, SlotAnswer
    from agent.pages.fetch import PageReader
    from agent.research import Alternative, Scalar, Verdict
    from agent.steps.claims import Place

Json = dict[str, Any]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("answers", nargs=-1, type=click.Path(path_type=Path), metavar="ANSWER.json")
@click.option("--journal", type=click.Path(path_type=Path), help="The run's journal, if it moved.")
@click.option("--fetch", is_flag=True, help="Read the live pages: which quotes have gone since?")
@click.option("--diff", is_flag=True, help="Compare two answers: audit --diff OLD.json NEW.json.")
@click.version_option(__version__, prog_name="agent.audit")
def command(answers: tuple[Path, ...], journal: Path | None, fetch: bool, diff: bool) -> int:
    """Check an answer against the pages that its journal holds; JSON on standard output.

    Exit status: 0 everything stands (with --diff: nothing changed), 1 something does not, 2 wrong
    usage or a file that cannot be read.
    """
    try:
        if len(answers) != (2 if diff else 1):
            raise UsageError("One answer is audited, two are compared.", "See --help.")
        if diff:
            found = changes(*(_read(file) for file in answers))
        else:
            found = audit(_read(answers[0]), journal)
            found |= {"live": _live(found, answers[0])} if fetch else {}
    except AgentError as error:
        found = {"ok": False, "error": {"message": error.message, "remedy": error.remedy}}
        return _print(found) or 2
    return _print(found) or (0 if found["ok"] else 1)


def audit(answer: Json, journal: Path | None = None) -> Json:
    """`{"ok", "checked", "failures": [{"where", "what"}], "judged_by_model"}` for an answer object.

    Pages are those of `journal`, else of the file that the answer names. Raises JournalError if
    that cannot be read.
    """
    failures = [*_shape(answer)]
    counts = {"citations": 0, "claims": 0, "slots": 0, "pages": 0}
    leaning: list[Json] = []
    if not failures:
        from agent.output import Answer

        typed = Answer.model_validate(answer)
        evidence = _evidence(journal or (typed.run.journal if typed.run else None))
        failures = [*_citations(typed, evidence), *_markers(typed), *_claims(typed, evidence)]
        failures += [*_slots(typed, evidence), *_data(typed, evidence)]
        leaning = list(_leaning(typed, evidence))
        counts = {
            "citations": len(typed.citations),
            "claims": len(typed.claims),
            "slots": len(typed.slots),
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
    """What a journal holds: texts by SHA-256, what models said of claims, the slots' schema."""

    pages: dict[str, list[Json]]
    judged: dict[str, Verdict]
    schema: Json | None = None  # of the slots, where the run was given one

    def places(self, citations: Sequence[Citation]) -> tuple[Place, ...]:
        from agent.steps.claims import Place

        texts = {c.page_sha256: self.pages.get(c.page_sha256, [{}])[0] for c in citations}
        return tuple(
            Place(str(texts[c.page_sha256].get("text", c.quote)), c.title, c.start, c.end)
            for c in citations
        )


def _evidence(journal: Path | str | None) -> _Evidence:
    from agent.foreign import dig
    from agent.journal import read
    from agent.steps.verify import judgements

    if not journal:
        return _Evidence({}, judgements([]))
    run = read(Path(journal))
    calls, schema = list(run.calls.values()), dig(run.header, "settings", "slots_schema")
    return _Evidence(_pages(calls), judgements(calls), schema if isinstance(schema, dict) else None)


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
        told = {n for other in slot.alternatives for n in other.citations}
        for n in sorted({*slot.citations, *told} - known):
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
        if _told(old, name) != _told(new, name)
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
    shown = ("value", "status", "confidence", "weight", "alternatives")
    return slot and {key: slot[key] for key in shown}


def _told(answer: Json, name: str) -> Any:
    """What a slot says, however sure: who else says it is no change."""
    slot = answer["slots"].get(name)
    return slot and (slot["value"], slot["status"], [a["value"] for a in slot["alternatives"]])


def _live(found: Json, file: Path) -> list[Json]:
    """For each citation, whether its quote is on the live page: `there`, `gone` or `unread`."""
    from agent.compose import page_reader
    from agent.output import Answer
    from agent.settings import load

    if not found["ok"]:
        return []
    answer = Answer.model_validate(_read(file))
    reader = page_reader(load(os.environ))
    try:
        return [_still(citation, reader) for citation in answer.citations]
    finally:
        reader.close()


def _still(citation: Citation, reader: PageReader) -> Json:
    from agent.errors import ReadFailed
    from agent.evidence import anchor
    from agent.research import Hit, Source

    row = {"id": citation.id, "url": citation.url, "quote": citation.quote}
    try:
        page = reader(citation.url)
    except ReadFailed as error:
        return {**row, "now": "unread", "detail": error.message}
    source = Source(n=citation.id, page=page, hit=Hit(url=citation.url))
    return {**row, "now": "there" if anchor(citation.quote, source) else "gone", "detail": ""}


def _read(file: Path) -> Json:
    try:
        value = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is not JSON.", "Name the file of an answer.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file} is not an answer object.", "Name the file of an answer.")
    return value


def _print(found: Json) -> int:
    sys.stdout.write(json.dumps(found, ensure_ascii=True, indent=2) + "\n")
    sys.stdout.flush()
    return 0


def main() -> None:
    """The command."""
    try:
        status = int(command.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        _print({"ok": False, "error": {"message": error.format_message(), "remedy": "See --help."}})
        status = 2
    sys.exit(status)


if __name__ == "__main__":
    main()
