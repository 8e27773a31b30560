"""Question sets, read in the formats in which they are published.

| set | format | fields |
|---|---|---|
| the form of `--predictions` | JSON list or lines | `prompt`, `answer` |
| with several answers | JSON list or lines | `question`, `answers` |
| HotpotQA (`hotpot_dev_fullwiki_v1.json`) | JSON list | `question`, `answer` |
| FRAMES (`test.tsv`) | tab-separated | `Prompt`, `Answer` |
| SimpleQA (`simple_qa_test_set.csv`) | comma-separated | `problem`, `answer` |

Other fields are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent.calls.input_file import read_text
from agent.errors import UsageError
from agent.state import Frozen, InvalidJson, parse_json

MAX_BYTES = 500_000_000  # ten times HotpotQA's fullwiki file
PROMPT_FIELDS = ("prompt", "question", "problem")
ANSWER_FIELDS = ("answers", "answer")
MAX_ANSWER_CHARACTERS = 2000
ROW_REMEDY = "Each row needs `prompt` or `question`, and `answer` or `answers`."


class EvaluationQuestion(Frozen):
    """A question with its gold answers; without any, the right response is to abstain."""

    prompt: str
    answers: tuple[str, ...] = ()


def load_questions(path: Path) -> tuple[EvaluationQuestion, ...]:
    """Load the questions of a file, in its order. Raises UsageError that names the unusable row."""
    rows = _parse_rows(path, read_text(path, MAX_BYTES))
    if not rows:
        raise UsageError(f"{path} holds no questions.", ROW_REMEDY)
    return tuple(_build_question(path, n, row) for n, row in enumerate(rows, 1))


def _parse_rows(path: Path, text: str) -> list[Any]:
    if path.suffix in (".csv", ".tsv"):
        delimiter = "\t" if path.suffix == ".tsv" else ","
        try:
            return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
        except csv.Error as error:
            raise UsageError(f"{path} is not a table: {error}.", ROW_REMEDY) from None
    try:
        return _parse_json(text)
    except InvalidJson as error:
        fault = f"{path} is neither JSON nor JSON lines, {str(error)[:100]}."
        raise UsageError(fault, ROW_REMEDY) from None


def _parse_json(text: str) -> list[Any]:
    """Parse a JSON list, or JSON lines."""
    if text.lstrip()[:1] == "[":
        rows = parse_json(text)
        return rows if isinstance(rows, list) else []
    lines = enumerate(text.split("\n"), 1)  # not splitlines(): U+2028 may be inside a string
    return [_parse_line(line, n) for n, line in lines if line.strip()]


def _parse_line(line: str, n: int) -> Any:
    try:
        return parse_json(line)
    except InvalidJson as error:
        raise InvalidJson(f"in line {n}: {error}") from None


def _build_question(path: Path, n: int, row: Any) -> EvaluationQuestion:
    fields = {str(k).casefold(): v for k, v in row.items()} if isinstance(row, dict) else {}
    prompt = _first_value(fields, PROMPT_FIELDS)
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError(f"{path}: row {n} holds no question.", ROW_REMEDY)
    if not fields.keys() & set(ANSWER_FIELDS):
        fault = f"{path}: row {n} holds no answer."
        raise UsageError(fault, f"{ROW_REMEDY} Null means: abstain.")
    answers = _parse_answers(_first_value(fields, ANSWER_FIELDS))
    if answers is None:
        raise UsageError(f"{path}: the answer of row {n} is no text.", ROW_REMEDY)
    return EvaluationQuestion(prompt=prompt, answers=answers)


def _first_value(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _parse_answers(value: Any) -> tuple[str, ...] | None:
    """Return gold answers from a text, a number or a list of them; None if it is anything else.

    Null and empty texts are no answer.
    """
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str | int | float) for one in values):
        return None
    texts = (str(one).strip()[:MAX_ANSWER_CHARACTERS] for one in values)
    return tuple(dict.fromkeys(text for text in texts if text))
