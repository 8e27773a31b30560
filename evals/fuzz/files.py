"""Files that somebody else may have made: journals, answers, schemas, settings, questions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agent.calls.journal_reader import DAMAGE, read_journal
from agent.errors import AgentError, UsageError
from agent.run.audit_answer import audit_answer
from agent.run.batch.topics import read_topics
from agent.run.evaluation.questions import load_questions
from agent.run.journal_evidence import read_evidence
from agent.run.trace import trace_lines
from agent.search.corpus_documents import FileReader, UnreadableFile
from agent.search.corpus_files import scan_files
from agent.settings import make_settings, read_variables
from agent.slots.slot_schema import slots_of
from agent.slots.user_patterns import compile_pattern, has_match
from evals.fuzz.target import Target

GOLDEN = Path(__file__).parents[2] / "tests" / "whole" / "golden"
_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-files-"))


def _from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A target that reads a file of its own, by its path."""

    def read_bytes(data: bytes) -> object:
        path = _FOLDER / name
        path.write_bytes(data)
        return read(path)

    return read_bytes


def _read_journal(path: Path) -> None:
    """`read_evidence` leaves lines of another shape to its callers, which handle `DAMAGE`."""
    read_journal(path)
    read_evidence(path)


def _read_trace(path: Path) -> object:
    """The lines of a trace, without a key or a network."""
    return trace_lines(path)


def _read_answer(data: bytes) -> object:
    """An answer, beside the journal of another; its own journal is never opened."""
    value, journal = json.loads(data), _FOLDER / "offline.jsonl"
    journal.write_bytes(_golden_journals("offline.json")[0])
    return audit_answer(value, journal) if isinstance(value, dict) else None


def _read_schema(data: bytes) -> object:
    return slots_of(json.loads(data))


def _read_pattern(data: bytes) -> object:
    """The first line as a pattern, the rest as the text."""
    pattern, _, text = data.decode("utf-8", "replace").partition("\n")
    compile_pattern(pattern)
    return has_match(pattern, text)


def _read_variables(path: Path) -> object:
    """The file as the `.env` of a folder, with no key in the shell."""
    return make_settings(read_variables({}, path.parent), path.parent)


def _read_rows(path: Path) -> None:
    """Rows of documents, plain and compressed; no worker is needed for them."""
    nobody: Any = SimpleNamespace(read_all=lambda *_: iter(()), width=1)
    folder = path.parent / "corpus"
    folder.mkdir(exist_ok=True)
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        (folder / name).write_bytes(path.read_bytes())
    scan = scan_files(folder)
    for _, documents in FileReader(nobody).read_files(scan, scan.stamps):
        try:
            list(documents)
        except UnreadableFile:
            continue


def _golden_journals(*names: str, calls: int = 30) -> tuple[bytes, ...]:
    """Journals with the first calls of recorded runs: a small one is mutated more often."""
    runs = (json.loads((GOLDEN / name).read_text("utf-8")) for name in names)
    return tuple(_to_journal(run["calls"][:calls], run["answer"]) for run in runs)


def _to_journal(calls: list[Any], answer: Any) -> bytes:
    header = {"journal": 2, "run": "golden", "topic": answer["topic"], "strategy": "slots"}
    lines = [call | {"key": str(n)} for n, call in enumerate(calls)]
    return b"".join(
        json.dumps(line).encode() + b"\n" for line in (header, *lines, {"answer": answer})
    )


def _golden_answers(*names: str) -> tuple[bytes, ...]:
    runs = (json.loads((GOLDEN / name).read_text("utf-8")) for name in names)
    return tuple(json.dumps(run["answer"]).encode() for run in runs)


_NOT_JSON = (ValueError, RecursionError)
journal = Target(
    _from_file("journal.jsonl", _read_journal),
    (AgentError, *DAMAGE),
    50_000,
    _golden_journals("offline.json", "two-round.json", calls=6),
)
trace = Target(
    _from_file("trace.jsonl", _read_trace),
    (AgentError,),
    50_000,
    _golden_journals("offline.json", "conflict.json"),
)
answer = Target(
    _read_answer, (AgentError, *_NOT_JSON), 50_000, _golden_answers("offline.json", "conflict.json")
)
schema = Target(_read_schema, (UsageError, *_NOT_JSON))
pattern = Target(_read_pattern, (UsageError,), longest=5000)
variables = Target(_from_file(".env", _read_variables), (AgentError,))
topics = Target(_from_file("topics.txt", read_topics), (AgentError,))
table = Target(_from_file("topics.csv", read_topics), (AgentError,), longest=300_000)
questions = Target(_from_file("questions.jsonl", load_questions), (AgentError,))
rows = Target(_from_file("rows.bytes", _read_rows))
