"""The results of an evaluation as one picture: accuracy, outcomes and cost of each arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import NotConfigured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from agent.state.json_data import Json


#: Colours that remain distinct with any colour vision (Okabe and Ito 2008), and in print.
COLOURS = {"right": "#009E73", "wrong": "#D55E00", "abstained": "#BBBBBB", "failed": "#000000"}
DOT_COLOUR = "#0072B2"
MARKERS = "os^Dvp*X"  # of matplotlib, one per arm
MAX_NAME_CHARACTERS = 28  # of an arm


def draw_plots(results: Json, folder: Path) -> list[Path]:
    """Draw `results.png` and `results.svg` in a folder. Raises NotConfigured without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        remedy = "pip install 'llm-research-agent[plots]', or leave --plots out."
        raise NotConfigured("matplotlib is not installed.", remedy) from None
    arms = {name: arm for name, arm in results["arms"].items() if "skipped" not in arm}
    figure = Figure(figsize=(14, 1.8 + 0.45 * len(arms)), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _plot_accuracy(left, arms)
    _plot_outcomes(middle, arms)
    _plot_cost(right, arms)
    files = [folder / "results.png", folder / "results.svg"]
    for file in files:
        figure.savefig(file, dpi=150)
    return files


def _shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"


def _plot_accuracy(axes: Axes, arms: Json) -> None:
    """A dot for each arm, with its confidence interval."""
    for row, arm in enumerate(arms.values()):
        value, interval = arm["accuracy"]["value"], arm["accuracy"]["interval"]
        axes.plot(interval, [row, row], color=DOT_COLOUR, linewidth=2)
        axes.plot([value], [row], "o", color=DOT_COLOUR)
    _label_rows(axes, arms)
    axes.set_xlim(0, 1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title("Accuracy, with its 95% interval")


def _plot_outcomes(axes: Axes, arms: Json) -> None:
    """A stacked bar for each arm: its questions by outcome."""
    starts = [0] * len(arms)
    for outcome, colour in COLOURS.items():
        counts = [_count_outcome(arm, outcome) for arm in arms.values()]
        axes.barh(range(len(arms)), counts, left=starts, color=colour, label=outcome, height=0.6)
        starts = [start + count for start, count in zip(starts, counts, strict=True)]
    _label_rows(axes, arms, names=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=4, frameon=False)
    axes.set_title("Questions by what became of them")


def _count_outcome(arm: Json, outcome: str) -> int:
    """Count the questions with an outcome; a right abstention counts as abstained."""
    if outcome == "right":
        return int(arm["answered"]) - int(arm["wrong"])
    return int(arm[outcome])


def _plot_cost(axes: Axes, arms: Json) -> None:
    """Accuracy against tokens per question or, where no model was asked, seconds."""
    tokens = any(arm["tokens"] for arm in arms.values())
    for row, (name, arm) in enumerate(arms.items()):
        cost = arm["tokens" if tokens else "seconds"] / arm["n"]
        interval, value = arm["accuracy"]["interval"], arm["accuracy"]["value"]
        marker, colour = MARKERS[row % len(MARKERS)], f"C{row % 10}"
        axes.plot([cost, cost], interval, color=colour, linewidth=1, alpha=0.6)
        axes.plot([cost], [value], marker, color=colour, label=_shorten(name))
    axes.set_ylim(0, 1)
    axes.margins(x=0.1)
    axes.locator_params(axis="x", nbins=5)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    axes.set_xlabel("tokens a question" if tokens else "seconds a question")
    axes.grid(alpha=0.3)
    axes.set_title("Accuracy for what it costs")


def _label_rows(axes: Axes, arms: Json, *, names: bool = True) -> None:
    """Put the arms from top to bottom, with their names on the axis or without."""
    labels = [_shorten(name) for name in arms] if names else [""] * len(arms)
    axes.set_yticks(range(len(arms)), labels)
    axes.set_ylim(len(arms) - 0.5, -0.5)
