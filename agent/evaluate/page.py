"""The results of an evaluation as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

SPLIT = ("n", "answered", "abstained", "wrong", "failed")
MEASURES = ("accuracy", "accuracy_of_answered", "exact_match", "f1", "contains")
SOURCES = ("gold_found", "gold_read", "gold_cited")
CITATIONS = ("citation_precision", "citation_precision_judged", "citation_recall")
SPENT = ("llm_calls", "searches", "pages", "tokens", "usd", "seconds", "seconds_median")
MOST_BLOCKED = 50  # rows
NOTE = (
    "Intervals are of 95%, by a bootstrap over questions; a difference whose interval holds 0 may "
    "be chance. `contains`: a gold answer stands in the answer; exact match and F1 are low for "
    "answers in whole sentences. Citation precision: claims that their citations support, of those "
    "that cite, by the run's own verdicts; recall: claims that cite, of all claims."
)


def markdown(results: Json, title: str) -> str:
    """Tables of all arms, their differences, the judge, and what was kept away."""
    parts = [f"# {_cell(title)}", NOTE]
    made = {name: told for name, told in results["arms"].items() if "skipped" not in told}
    for heading, fields in (
        ("Answers", (*SPLIT, *MEASURES)),
        ("Gold pages", SOURCES),
        ("Citations", CITATIONS),
    ):
        parts += [f"## {heading}", _table(made, fields)]
    parts += ["## Spent, in all", _table(made, SPENT), *_skipped(results["arms"])]
    parts += ["## Differences", _differences(results["differences"])]
    parts += ["## Who judges", _judge(results["judged_by"])]
    parts += ["## Kept away", _blocked(results["blocked"])]
    return "\n\n".join(parts) + "\n"


def _table(made: Json, fields: Iterable[str]) -> str:
    fields = tuple(fields)
    rows = ((name, *(_told(told[field]) for field in fields)) for name, told in made.items())
    return _rows(("arm", *(field.replace("_", " ") for field in fields)), rows)


def _rows(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *lines])


def _told(value: Any) -> str:
    """A figure with its interval, or a number."""
    if not isinstance(value, dict):
        return "not known" if value is None else f"{value:,}"
    if value["value"] is None:
        return ""
    ends = value["interval"]
    return f"{value['value']:.3g}" + (f" ({ends[0]:.3g} to {ends[1]:.3g})" if ends else "")


def _skipped(arms: Json) -> Iterator[str]:
    for name, told in arms.items():
        if "skipped" in told:
            yield f"{_cell(name)}: skipped. {told['skipped']}"


def _differences(rows: list[Json]) -> str:
    if not rows:
        return "There is one arm only."
    fields = ("n", "accuracy", "f1", "tokens_a_question")
    told = ((f"{r['arm']} less {r['less']}", *(_told(r[field]) for field in fields)) for r in rows)
    return _rows(("arms", *(field.replace("_", " ") for field in fields)), told)


def _judge(judged: Json) -> str:
    agreed = judged["agreement"]
    same = "No hand-labelled sample was there to compare with."
    if agreed:
        same = f"Of {agreed['n']} hand-labelled answers it labels {_told(agreed)} as the person did"
        same += f" (Cohen's kappa {agreed['kappa']})."
    if judged["model"] is None:
        return f"Rules, {judged['rule']}. {same}"
    quoted = "\n".join(f"    {line}" for line in judged["prompt"].splitlines())
    return f"The model {_cell(judged['model'])}. {same} It is told:\n\n{quoted}"


def _blocked(rows: list[Json]) -> str:
    if not rows:
        return "No page carried the question set."
    told = ((row["url"], row["reason"], row["arm"]) for row in rows[:MOST_BLOCKED])
    rest = f"\n\nand {len(rows) - MOST_BLOCKED} more." if len(rows) > MOST_BLOCKED else ""
    return _rows(("page", "why", "arm"), told) + rest


def _cell(text: str) -> str:
    """A text of others as one cell that is only text."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_\[\]<>|#!])", r"\\\1", line)
