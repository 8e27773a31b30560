"""The trace of a run: a line for each call that its journal holds, in the order of their beginning.

It says when a call began and how long it took, in seconds of the run, whom it asked, its tokens and
price, and how it ended. Nothing is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent.answer.messages import describe_usage, format_usd
from agent.calls.budget import sum_usage
from agent.calls.journal_reader import read_journal, read_newest_answer, translate_damage
from agent.state import Json, get_objects, get_path, sanitize_for_display

SUBJECTS = {"ask": "task", "search": "query", "read": "url"}  # of a request, by kind of call


def trace_lines(journal: Path) -> list[str]:
    """What a journal holds of its run, in lines. Raises JournalError."""
    with translate_damage(journal):
        return list(map(sanitize_for_display, _trace(journal)))


def _trace(journal: Path) -> Iterator[str]:
    recording = read_journal(journal)
    header = recording.header
    calls = [call for call in recording.calls.values() if call["call"] in SUBJECTS]
    yield str(header.get("topic", ""))
    yield " · ".join(str(header[name]) for name in ("strategy", "at", "version") if name in header)
    yield from map(_describe_call, sorted(calls, key=lambda call: call.get("began", 0.0)))
    if recording.halt:
        yield f"halted: {recording.halt}"
    yield _describe_end(read_newest_answer(journal), header["journal"])
    yield " · ".join((*describe_usage(sum_usage(calls)), f"{recording.ended_at:.1f} s"))


def _describe_call(call: Json) -> str:
    """One line: times, kind and outcome in columns, then what it was about."""
    kind, result = call["call"], call.get("response") or call.get("error")
    outcome = get_path(call, "error", "outcome") or ("late" if call.get("late") else "ok")
    times = f"{call.get('began', 0.0):8.2f} s {call.get('seconds', 0.0):7.2f} s"
    subject = get_path(call, "request", SUBJECTS[kind])
    return "  ".join((times, f"{kind:6} {outcome:12}", " · ".join(_facts(call, subject, result))))


def _facts(call: Json, subject: object, result: object) -> Iterator[str]:
    """What a call was about, whom it asked and what that cost."""
    yield str(subject)
    tries = list(get_objects(result, "attempts"))
    last = tries[-1].get("provider") if tries else ""
    if service := get_path(result, "model" if call["call"] == "ask" else "provider") or last:
        yield str(service)
    used = sum_usage([call])
    if used.input_tokens or used.output_tokens:
        yield f"{used.input_tokens:,} + {used.output_tokens:,} tokens"
    if used.usd is None or used.usd > 0:
        yield format_usd(used.usd)


def _describe_end(answer: Json | None, version: int) -> str:
    if answer is None:
        return "no answer: " + ("cut off, or under way" if version > 1 else "an earlier version")
    error = get_path(answer, "error", "message")
    cited = len(list(get_objects(answer, "citations")))
    return f"answer: {answer.get('status')} · " + (str(error) if error else f"{cited} citations")
