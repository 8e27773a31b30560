"""The results of an evaluation as one picture: how right, with what outcome, at what cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import NotConfigured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Json = dict[str, Any]

#: Colours that are told apart with any colour vision (Okabe and Ito 2008), and in print.
COLOURS = {"right": "#009E73", "wrong": "#D55E00", "abstained": "#BBBBBB", "failed": "#000000"}
DOT = "#0072B2"
MARKS = "os^Dvp*X"
LONGEST = 28  # characters of an arm's name


def draw(results: Json, folder: Path) -> list[Path]:
    """`results.png` and `results.svg`. Raises NotConfigured without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        remedy = "pip install 'llm-research-agent[plots]', or leave --plots out."
        raise NotConfigured("matplotlib is not installed.", remedy) from None
    made = {name: told for name, told in results["arms"].items() if "skipped" not in told}
    figure = Figure(figsize=(14, 1.8 + 0.45 * len(made)), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _accuracy(left, made)
    _split(middle, made)
    _cost(right, made)
    files = [folder / "results.png", folder / "results.svg"]
    for file in files:
        figure.savefig(file, dpi=150)
    return files


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _accuracy(axes: Axes, made: Json) -> None:
    """A dot an arm, with its interval."""
    for place, told in enumerate(made.values()):
        value, ends = told["accuracy"]["value"], told["accuracy"]["interval"]
        axes.plot(ends, [place, place], color=DOT, linewidth=2)
        axes.plot([value], [place], "o", color=DOT)
    _named(axes, made)
    axes.set_xlim(0, 1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title("Accuracy, with its 95% interval")


def _split(axes: Axes, made: Json) -> None:
    """What became of the questions: a bar an arm."""
    begin = [0] * len(made)
    for name, colour in COLOURS.items():
        counts = [_count(told, name) for told in made.values()]
        axes.barh(range(len(made)), counts, left=begin, color=colour, label=name, height=0.6)
        begin = [low + count for low, count in zip(begin, counts, strict=True)]
    _named(axes, made, names=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=4, frameon=False)
    axes.set_title("Questions by what became of them")


def _count(told: Json, name: str) -> int:
    """Of answers; an abstention that was right is among the abstained."""
    if name == "right":
        return int(told["answered"]) - int(told["wrong"])
    return int(told[name])


def _cost(axes: Axes, made: Json) -> None:
    """Accuracy against tokens a question or, where no model was asked, seconds."""
    tokens = any(told["tokens"] for told in made.values())
    for place, (name, told) in enumerate(made.items()):
        spent = told["tokens" if tokens else "seconds"] / told["n"]
        ends, value = told["accuracy"]["interval"], told["accuracy"]["value"]
        mark, colour = MARKS[place % len(MARKS)], f"C{place % 10}"
        axes.plot([spent, spent], ends, color=colour, linewidth=1, alpha=0.6)
        axes.plot([spent], [value], mark, color=colour, label=_short(name))
    axes.set_ylim(0, 1)
    axes.margins(x=0.1)
    axes.locator_params(axis="x", nbins=5)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    axes.set_xlabel("tokens a question" if tokens else "seconds a question")
    axes.grid(alpha=0.3)
    axes.set_title("Accuracy for what it costs")


def _named(axes: Axes, made: Json, *, names: bool = True) -> None:
    """The arms from top to bottom in their order."""
    axes.set_yticks(
        range(len(made)), [_short(name) for name in made] if names else [""] * len(made)
    )
    axes.set_ylim(len(made) - 0.5, -0.5)
