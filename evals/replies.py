"""How well the replies of a small model are read: Qwen2.5-Coder-1.5B, recorded through llama.cpp.

`replies.jsonl` has each reply with its task and the form in which it was asked for; fields that
were renamed since have their new names. *as it came*: it has the shape of the schema; *read*: it
can be used, mended or not; *cut*: at its limit on tokens, so that another is asked for; *values
kept*: of the texts and numbers of a reply that was read, those in the answer that is made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent.calls import Task
from agent.llm.openai_compatible import read_generation
from agent.llm.replies import parse_reply
from agent.state import parse_first_json
from agent.steps.generate_queries import MakeQueries
from agent.steps.judges import JudgeClaims
from agent.steps.reading_tasks import ReadSources
from evals.harness import Bench, Evaluation, Table, count, main, read_rows, share, size

TASKS = (MakeQueries(topic=""), ReadSources(topic=""), JudgeClaims(topic="", claims=()))


class Outcome(NamedTuple):
    """What came of a reply; `kept` is None where it was not read."""

    asked: dict[str, Any]
    is_cut: bool
    as_it_came: bool = False
    right: bool = False
    kept: float | None = None


def measure(row: dict[str, Any], _: Bench) -> Iterator[Outcome]:
    """Read one reply."""
    generation = read_generation({"messages": []}, {"choices": [row]})
    task: Task[Any] = next(one for one in TASKS if one.name == row["task"])
    try:
        answer, mended = parse_reply(generation, task)
    except ValueError:
        yield Outcome(row, generation.is_cut_off)
        return
    said = Counter(_values(parse_first_json(generation.text, generation.text.index("{"))))
    kept = (said & Counter(_values(answer.model_dump(mode="json")))).total() / said.total()
    yield Outcome(row, generation.is_cut_off, not mended, True, kept)


def _values(value: Any) -> list[str]:
    """The texts and numbers in a JSON value."""
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        return [text for one in inner for text in _values(one)]
    return [] if value in (None, "") else [str(value).strip()]


EVALUATION = Evaluation(
    title="Replies of a small model",
    load=lambda _: read_rows(Path(__file__).with_suffix(".jsonl")),
    measure=measure,
    tables=(
        Table(
            {name: lambda one, name=name: one.asked[name] for name in ("task", "form")},
            {
                "n": size,
                "cut": count("is_cut"),
                "as it came": share("as_it_came"),
                "**read**": share("right"),
                "values kept": share("kept"),
            },
            total=True,
        ),
    ),
)

if __name__ == "__main__":
    main("replies")
