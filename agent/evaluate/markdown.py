"""The results of an evaluation as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.answer.markdown import escape_markdown, format_table
from agent.state.json_data import Json

OUTCOME_FIELDS = ("n", "answered", "abstained", "wrong", "failed")
METRIC_FIELDS = ("accuracy", "accuracy_of_answered", "exact_match", "f1", "contains")
GOLD_FIELDS = ("gold_found", "gold_read", "gold_cited")
CITATION_FIELDS = ("citation_precision", "citation_precision_judged", "citation_recall")
USAGE_FIELDS = ("llm_calls", "searches", "pages", "tokens", "usd", "seconds", "seconds_median")
MAX_BLOCKED_ROWS = 50
NOTE = (
    "Intervals are of 95%, by a bootstrap over questions; a difference whose interval holds 0 may "
    "be chance. `contains`: a gold answer stands in the answer; exact match and F1 are low for "
    "answers in whole sentences. Citation precision: claims that their citations support, of those "
    "that cite, by the run's own verdicts; recall: claims that cite, of all claims."
)


def render_results(results: Json, title: str) -> str:
    """Render all arms as tables, their differences, the judge and the blocked pages."""
    parts = [f"# {escape_markdown(title)}", NOTE]
    arms = {name: arm for name, arm in results["arms"].items() if "skipped" not in arm}
    for heading, fields in (
        ("Answers", (*OUTCOME_FIELDS, *METRIC_FIELDS)),
        ("Gold pages", GOLD_FIELDS),
        ("Citations", CITATION_FIELDS),
    ):
        parts += [f"## {heading}", _render_metrics(arms, fields)]
    parts += ["## Spent, in all", _render_metrics(arms, USAGE_FIELDS)]
    parts += _render_skipped(results["arms"])
    parts += ["## Differences", _render_differences(results["differences"])]
    parts += ["## Who judges", _render_judge(results["judged_by"])]
    parts += ["## Kept away", _render_blocked(results["blocked"])]
    return "\n\n".join(parts) + "\n"


def _render_metrics(arms: Json, fields: Sequence[str]) -> str:
    rows = ((name, *(_format_value(arm[field]) for field in fields)) for name, arm in arms.items())
    return _render_table(("arm", *(field.replace("_", " ") for field in fields)), rows)


def _render_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    return format_table(heads, [list(map(escape_markdown, row)) for row in rows])


def _format_value(value: Any) -> str:
    """Format a metric's value with its interval, or a number."""
    if not isinstance(value, dict):
        return "not known" if value is None else f"{value:,}"
    if value["value"] is None:
        return ""
    ends = value["interval"]
    return f"{value['value']:.3g}" + (f" ({ends[0]:.3g} to {ends[1]:.3g})" if ends else "")


def _render_skipped(arms: Json) -> Iterator[str]:
    for name, arm in arms.items():
        if "skipped" in arm:
            yield f"{escape_markdown(name)}: skipped. {arm['skipped']}"


def _render_differences(rows: list[Json]) -> str:
    if not rows:
        return "There is one arm only."
    fields = ("n", "accuracy", "f1", "tokens_a_question")
    cells = (
        (f"{row['arm']} less {row['less']}", *(_format_value(row[field]) for field in fields))
        for row in rows
    )
    return _render_table(("arms", *(field.replace("_", " ") for field in fields)), cells)


def _render_judge(judge: Json) -> str:
    agreement = _render_agreement(judge["agreement"])
    if judge["model"] is None:
        return f"Rules, {judge['rule']}. {agreement}"
    prompt = "\n".join(f"    {line}" for line in judge["prompt"].splitlines())
    return f"The model {escape_markdown(judge['model'])}. {agreement} It is told:\n\n{prompt}"


def _render_agreement(agreement: Json | None) -> str:
    if not agreement:
        return "No hand-labelled sample was there to compare with."
    return (
        f"Of {agreement['n']} hand-labelled answers it labels {_format_value(agreement)} as the "
        f"person did (Cohen's kappa {agreement['kappa']})."
    )


def _render_blocked(rows: list[Json]) -> str:
    if not rows:
        return "No page carried the question set."
    cells = ((row["url"], row["reason"], row["arm"]) for row in rows[:MAX_BLOCKED_ROWS])
    rest = f"\n\nand {len(rows) - MAX_BLOCKED_ROWS} more." if len(rows) > MAX_BLOCKED_ROWS else ""
    return _render_table(("page", "why", "arm"), cells) + rest
