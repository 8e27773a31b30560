"""Files that somebody else may have made: journals, answers, schemas, settings, questions."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agent.batch.topics import read_topics
from agent.errors import AgentError, UsageError
from agent.evaluate.questions import load_questions
from agent.outside.recording import read_journal
from agent.run.audit import audit_answer
from agent.run.journal_evidence import read_evidence
from agent.run.loop import DAMAGE
from agent.search.documents import FileReader, UnreadableFile
from agent.search.files import scan_files
from agent.settings import Settings, make_settings, read_variables
from agent.slots.patterns import compile_pattern, has_match
from agent.slots.schema import slots_of
from agent.trace.__main__ import load_trace
from agent.trace.calls import parse_calls
from fuzz.target import JSON_WORDS, Target

GOLDEN = Path(__file__).parents[1] / "tests" / "whole" / "golden"
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
    recording = read_journal(path)
    parse_calls(recording.calls.values())
    read_evidence(path)


def _read_trace(path: Path) -> object:
    """A replay of the whole run, without a key or a network."""
    return load_trace(Settings(runs_dir=_FOLDER), str(path))


def _read_answer(data: bytes) -> object:
    """An answer, beside the journal of another; its own journal is never opened."""
    value = json.loads(data)
    return audit_answer(value, GOLDEN / "offline.jsonl") if isinstance(value, dict) else None


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


def _lines(name: str, most: int) -> bytes:
    """The first lines of a journal, long texts cut: a small one is mutated more often."""
    lines = (GOLDEN / name).read_bytes().splitlines(keepends=True)
    return b"".join(lines[:most])


_NOT_JSON = (ValueError, RecursionError)
_JOURNAL_WORDS = (
    *JSON_WORDS,
    *(
        f'"{name}": '.encode()
        for name in "journal run call key request response error began seconds "
        "halt settings topic at late strategy version".split()
    ),
    b"\n",
)

journal = Target(
    _from_file("journal.jsonl", _read_journal),
    (_lines("offline.jsonl", 3), _lines("two-round.jsonl", 6), b'{"journal": 1}\n{"halt": "x"}\n'),
    (AgentError, *DAMAGE),
    _JOURNAL_WORDS,
    50_000,
)
trace = Target(
    _from_file("trace.jsonl", _read_trace),
    (_lines("offline.jsonl", 30), _lines("conflict.jsonl", 30)),
    (AgentError,),
    _JOURNAL_WORDS,
    50_000,
)
answer = Target(
    _read_answer,
    tuple((GOLDEN / name).read_bytes() for name in ("offline.json", "conflict.json")),
    (AgentError, *_NOT_JSON),
    (*JSON_WORDS, b'"citations": ', b'"slots": ', b'"claims": ', b'"report": ', b'"data": '),
    50_000,
)
schema = Target(
    _read_schema,
    (
        b'{"type": "object", "properties": {"a": {"type": "string", "pattern": "^a+$"}, '
        b'"b": {"type": '
        b'"array", "items": {"type": "object", "properties": {"c": {"type": ["integer", "null"], '
        b'"minimum": 0}}}}, "d": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"enum": ["x", "y"]}}}',
        b'{"properties": {"a": {"anyOf": [{"type": "number", "multipleOf": 0.5}, '
        b'{"type": "null"}]}}}',
    ),
    (UsageError, *_NOT_JSON),
    (
        *JSON_WORDS,
        *(
            f'"{name}": '.encode()
            for name in "type properties items enum const anyOf allOf oneOf $ref "
            "$defs pattern format minimum multipleOf required not if".split()
        ),
        b'"#/$defs/e"',
        b'"#"',
    ),
)
pattern = Target(
    _read_pattern,
    (b"^(a+)+$\naaaaaaaaaaaaaaaa!", b".*.*.*.*X\nabc", rb"^[A-Z]{2}\d+(?:\.\d{1,3})?$" + b"\nAB12"),
    (UsageError,),
    tuple(rb".*|(|)|[|]|\d|\w|\u00e9|{1000}|?:|(?=|\1|+|^|$|\p{L}|[^|\Z|(?i)|-|&&".split(b"|")),
    5000,
)
variables = Target(
    _from_file(".env", _read_variables),
    (
        b"GEMINI_API_KEY=abc\n# comment\nexport MAX_ROUNDS='2'\nSEARCH_PROVIDERS=\"exa, "
        b'wikipedia" # x\n',
        b"LANG=de\r\nCACHE_TTL=86400\nUSER_AGENT=${PATH}\n"
        b"GOOGLE_GEMINI_BASE_URL=http://a.example\n",
        "\ufeffRATE_LIMITS=gemini=300/1000000\nNAME\n=\n'A'=1\n".encode(),
    ),
    (AgentError,),
    tuple(
        b"=|'|\"|\n|\\|${|}|#|export |MAX_ROUNDS=|CACHE_TTL=|1e999|_BASE_URL=|nan|,|\0".split(b"|")
    ),
)
topics = Target(
    _from_file("topics.txt", read_topics),
    (b'{"id": 1, "topic": "Who won?"}\n"Who lost?"\n', b"Who won?\n\nWho lost?\n"),
    (AgentError,),
    (*JSON_WORDS, b'"topic": ', b'"id": ', b"\n", b"\r"),
)
table = Target(
    _from_file("topics.csv", read_topics),
    (b'id,topic\n1,"Who won, and\nwhen?"\n2,Who lost?\n', b"topic\na\n"),
    (AgentError,),
    (b",", b'"', b"\n", b"\r", b'""', b"id", b"topic", b"\0"),
    300_000,
)
questions = Target(
    _from_file("questions.jsonl", load_questions),
    (
        b'{"prompt": "Who won?", "answer": "A"}\n{"question": "Who?", "answers": ["a", "b"]}\n',
        b'[{"_id": "1", "question": "Q", "answer": "A", "supporting_facts": [["T", 0]], '
        b'"context": []}]',
    ),
    (AgentError,),
    (*JSON_WORDS, b'"prompt": ', b'"answer": ', b'"supporting_facts": ', b'"context": ', b"\n"),
)
rows = Target(
    _from_file("rows.bytes", _read_rows),
    (
        b'{"id": "a", "title": "T", "text": "words", "url": "https://a.example/"}\n{"text": "x"}\n',
        gzip.compress(b'{"text": "words"}\n' * 3, mtime=0),
        gzip.compress(b'{"text": "words"}\n' * 3, mtime=0)[:10] + b"\xff" * 20,  # broken inside
    ),
    (),
    (*JSON_WORDS, b'"text": ', b'"id": ', b"\n"),
)
