"""Sets of questions, in the forms in which they are published.

| set | form | fields |
|---|---|---|
| system D | JSON list or lines | `prompt`, `answer` |
| ours | JSON list or lines | `question`, `answers`, `gold` |
| HotpotQA (`hotpot_dev_fullwiki_v1.json`) | JSON list | `question`, `answer`, `supporting_facts` |
| FRAMES (`test.tsv`) | tab-separated | `Prompt`, `Answer`, `wiki_links` |
| SimpleQA (`simple_qa_test_set.csv`) | comma-separated | `problem`, `answer` |
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from agent.state import Frozen

LARGEST = 500_000_000  # bytes: HotpotQA's fullwiki file is a tenth of that
PROMPT = ("prompt", "question", "problem")
ANSWER = ("answers", "answer")
GOLD = ("gold", "supporting_facts", "wiki_links")
LONGEST_ANSWER = 2000  # characters
REMEDY = "Each row needs `prompt` or `question`, and `answer` or `answers`; see docs/evaluation.md."


class Question(Frozen):
    """A question, its gold answers (none: the right thing is to abstain) and its gold pages.

    A gold page is the id of a passage of the corpus, an address, or a title.
    """

    prompt: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A short name that is the same wherever the question stands in a set."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()[:12]


def load(path: Path) -> tuple[Question, ...]:
    """The questions of a file, in its order. Raises UsageError saying which row cannot be used."""
    rows = _rows(path, _text(path))
    if not rows:
        raise UsageError(f"{path} holds no questions.", REMEDY)
    return tuple(_question(path, n, row) for n, row in enumerate(rows, 1))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path} is larger than {LARGEST} bytes.", "Take a part of it.")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Convert it to UTF-8.") from None


def _rows(path: Path, text: str) -> list[Any]:
    if path.suffix in (".csv", ".tsv"):
        delimiter = "\t" if path.suffix == ".tsv" else ","
        try:
            return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
        except csv.Error as error:
            raise UsageError(f"{path} is not a table: {error}.", REMEDY) from None
    try:
        return _json(text)
    except (ValueError, RecursionError) as error:
        fault = f"{path} is neither JSON nor JSON lines: {str(error)[:100]}."
        raise UsageError(fault, REMEDY) from None


def _json(text: str) -> list[Any]:
    """A JSON list, or a JSON value a line."""
    if text.lstrip()[:1] == "[":
        rows = json.loads(text)
        return rows if isinstance(rows, list) else []
    lines = enumerate(text.split("\n"), 1)  # U+2028 ends no line
    return [_value(line, n) for n, line in lines if line.strip()]


def _value(line: str, n: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} in line {n}") from None


def _question(path: Path, n: int, row: Any) -> Question:
    fields = {str(k).casefold(): v for k, v in row.items()} if isinstance(row, dict) else {}
    prompt = _first(fields, PROMPT)
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError(f"{path}: row {n} holds no question.", REMEDY)
    if not fields.keys() & set(ANSWER):
        raise UsageError(f"{path}: row {n} holds no answer.", f"{REMEDY} Null means: abstain.")
    answers = _texts(_first(fields, ANSWER))
    if answers is None:
        raise UsageError(f"{path}: the answer of row {n} is no text.", REMEDY)
    return Question(prompt=prompt, answers=answers, gold=_gold(_first(fields, GOLD)))


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _texts(value: Any) -> tuple[str, ...] | None:
    """Gold answers: a text, a number, or a list of them; null and nothing are no answer."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str | int | float) for one in values):
        return None
    told = (str(one).strip()[:LONGEST_ANSWER] for one in values)
    return tuple(dict.fromkeys(text for text in told if text))


def _gold(value: Any) -> tuple[str, ...]:
    """Gold pages: a list, HotpotQA's `[[title, sentence]]`, or a list in a text as FRAMES has."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            value = [value]
    if not isinstance(value, list):
        return ()
    names = (one[0] if isinstance(one, list) and one else one for one in value)
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
