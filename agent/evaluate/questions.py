"""Question sets, read in the formats in which they are published.

| set | format | fields |
|---|---|---|
| the form of `--predictions` | JSON list or lines | `prompt`, `answer` |
| with gold pages | JSON list or lines | `question`, `answers`, `gold` |
| HotpotQA (`hotpot_dev_fullwiki_v1.json`) | JSON list | `question`, `answer`, `supporting_facts` |
| FRAMES (`test.tsv`) | tab-separated | `Prompt`, `Answer`, `wiki_links` |
| SimpleQA (`simple_qa_test_set.csv`) | comma-separated | `problem`, `answer` |
| DeepResearch Bench (`query.jsonl`) | JSON lines | `id`, `prompt`; `article` is left out |
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from agent.outside.input_file import read_text
from agent.state import Frozen
from agent.state.json_data import InvalidJson, parse_json

MAX_BYTES = 500_000_000  # ten times HotpotQA's fullwiki file
PROMPT_FIELDS = ("prompt", "question", "problem")
ANSWER_FIELDS = ("answers", "answer")
GOLD_FIELDS = ("gold", "supporting_facts", "wiki_links")
MAX_ANSWER_CHARACTERS = 2000
MAX_GOLD_CHARACTERS = 100_000  # of a list of gold pages as text
ROW_REMEDY = (
    "Each row needs `prompt` or `question`, and `answer` or `answers`, or the `id` of a task "
    "that others judge; see docs/evaluation.md."
)


class EvaluationQuestion(Frozen):
    """A question with its gold answers and its gold pages.

    Without gold answers, the right response is to abstain; not so for a task, whose article others
    judge. A gold page is the id of a passage of the corpus, a URL, or a title.
    """

    prompt: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    task: int | str | None = None  # the id of a task; None for a question with a right response

    @property
    def key(self) -> str:
        """A short id of the question, which does not depend on its position in a set."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()[:12]


def load_questions(path: Path) -> tuple[EvaluationQuestion, ...]:
    """Load the questions of a file, in its order. Raises UsageError that names the unusable row."""
    rows = _parse_rows(path, read_text(path, MAX_BYTES))
    if not rows:
        raise UsageError(f"{path} holds no questions.", ROW_REMEDY)
    questions = tuple(_build_question(path, n, row) for n, row in enumerate(rows, 1))
    tasks = [n for n, question in enumerate(questions, 1) if question.task is not None]
    if 0 < len(tasks) < len(questions):  # an answer was forgotten: a set has tasks alone, or none
        raise _no_answer(path, tasks[0])
    return questions


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
    lines = enumerate(text.split("\n"), 1)  # not splitlines(): U+2028 may stand inside a string
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
        task = fields.get("id")
        if not isinstance(task, int | str):
            raise _no_answer(path, n)
        return EvaluationQuestion(prompt=prompt, task=task)
    answers = _parse_answers(_first_value(fields, ANSWER_FIELDS))
    if answers is None:
        raise UsageError(f"{path}: the answer of row {n} is no text.", ROW_REMEDY)
    gold = _parse_gold(_first_value(fields, GOLD_FIELDS))
    return EvaluationQuestion(prompt=prompt, answers=answers, gold=gold)


def _no_answer(path: Path, n: int) -> UsageError:
    remedy = f"{ROW_REMEDY} Null means: abstain."
    return UsageError(f"{path}: row {n} holds no answer.", remedy)


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


def _parse_gold(value: Any) -> tuple[str, ...]:
    """Return gold pages from a list of titles, `[[title, sentence]]`, or a list in a text."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value[:MAX_GOLD_CHARACTERS])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = [value]
    if not isinstance(value, list):
        return ()
    names = (one[0] if isinstance(one, list) and one else one for one in value)
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))
