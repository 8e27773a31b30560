"""What all evaluations share: an evaluation is its questions, its measure and its tables.

`python -m evals [--only NAME ...]` measures the half that nothing was tuned on and writes
`RESULTS.md`; `python -m evals.NAME` prints one section with what its words mean, of both halves.
Questions are measured side by side in processes, in an order that never changes, and no wall-clock
limit changes an answer: the same commit gives the same figures on a busy machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agent.run.evaluation.scoring import estimate_mean

if TYPE_CHECKING:
    from agent.run.loop import Run

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data"
PAGE = ROOT / "evals/RESULTS.md"
#: Rules are written with the first half in view; the other one tells what they are worth.
HALVES = ("tune", "report")
#: Settings under which a busy machine changes no answer.
PATIENT = {"patience": 3600.0, "page_timeout": 3600.0, "search_timeout": 3600.0}

SKIPPED = "Skipped: no data in"

T = TypeVar("T")
Value = str | Callable[[Any], Any]  # of an outcome: a field's name, or a function
Cell = Callable[[Sequence[Any]], str]  # of the outcomes of a row


def half(key: str) -> str:
    """The half that a question belongs to, by the SHA-1 of its id."""
    return HALVES[hashlib.sha1(key.encode(), usedforsecurity=False).digest()[0] % 2]


def draw(rows: Iterable[T], key: Callable[[T], str], size: int | None = None) -> list[T]:
    """The first rows in the order of the SHA-1 of their keys: the same ones each time."""
    order = sorted(rows, key=lambda row: hashlib.sha1(key(row).encode()).hexdigest())
    return order[:size]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSON lines: the form of a corpus."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


# --- runs of the program -------------------------------------------------------------------------


class Bench(NamedTuple):
    """Where an evaluation works: its data, and a folder that its processes share."""

    data: Path
    work: Path

    def run(self, question: str, corpus: Path, **settings: Any) -> Run:
        """A finished run without a model."""
        from agent.run.begin import research
        from agent.settings import Settings

        given = {"offline": True, "corpus": corpus, **self.folders, **PATIENT, **settings}
        run = research(question, Settings(**given))
        return finish(run)

    def open_index(self, *corpora: Path) -> None:
        """Build the indexes of corpora, before processes share them."""
        from agent.search.corpus import Corpus

        for corpus in corpora:
            Corpus(corpus, self.work).close()

    def new_file(self) -> Path:
        """A file for a corpus of one question."""
        return Path(tempfile.mkdtemp(dir=self.work)) / "pages.jsonl"

    @property
    def folders(self) -> dict[str, Path]:
        """The settings of the folders that runs write to."""
        return {"cache_dir": self.work, "runs_dir": self.work / "runs"}


def finish(run: Run) -> Run:
    """Go through a run to its end."""
    for _ in run:
        pass
    return run


# --- cells and tables ----------------------------------------------------------------------------


def take(value: Value, outcomes: Iterable[Any]) -> list[Any]:
    """The values of outcomes that have one."""
    get = attrgetter(value) if isinstance(value, str) else value
    return [found for found in map(get, outcomes) if found is not None]


def size(outcomes: Sequence[Any]) -> str:
    """How many there are."""
    return str(len(outcomes))


def count(value: Value) -> Cell:
    """A cell with the sum of a value, or with how many outcomes have it."""
    return lambda outcomes: str(sum(take(value, outcomes)))


def average(value: Value, form: str = ".1f") -> Cell:
    """A cell with the mean of a value over the outcomes that have one; empty where none has."""

    def cell(outcomes: Sequence[Any]) -> str:
        own = take(value, outcomes)
        return format(mean(map(float, own)), form) if own else ""

    return cell


def share(value: Value) -> Cell:
    """A cell with the share of the outcomes that have a value."""
    return average(value, ".1%")


def risk(sure: Value, wrong: Value) -> dict[str, Cell]:
    """The curve of risk over coverage: how many of the surest outcomes are wrong, by their part."""

    def cell(part: float) -> Cell:
        def tell(outcomes: Sequence[Any]) -> str:
            pairs = zip(take(sure, outcomes), take(wrong, outcomes), strict=True)
            order = sorted(pairs, key=lambda pair: -pair[0])[: max(1, round(part * len(outcomes)))]
            return f"{mean(bool(one) for _, one in order):.1%}"

        return tell

    parts = {f"wrong of the surest {part:.0%}": cell(part) for part in (0.25, 0.5, 0.75, 1.0)}
    return {"told": size, **parts}


def interval(value: Value) -> Cell:
    """A cell with a share and its interval of 95 %, by a bootstrap over outcomes."""

    def cell(outcomes: Sequence[Any]) -> str:
        found = estimate_mean([float(one) for one in take(value, outcomes)])
        if found.value is None or found.interval is None:
            return "" if found.value is None else f"{found.value:.1%}"
        return f"{found.value:.1%} ({found.interval[0]:.1%} to {found.interval[1]:.1%})"

    return cell


def spread(value: Value, names: Sequence[str]) -> Cell:
    """A cell with the per cent of outcomes that have each value, as `92 / 0 / 8 / 0`."""

    def cell(outcomes: Sequence[Any]) -> str:
        found = Counter(take(value, outcomes))
        return " / ".join(f"{100 * found[name] / max(1, len(outcomes)):.0f}" for name in names)

    return cell


class Table(NamedTuple):
    """A table: what tells its rows apart, and its cells. `total`: "all" rows for the first key."""

    keys: Mapping[str, Value]
    cells: Mapping[str, Cell]
    total: bool = False
    where: Callable[[Any], bool] = lambda _: True

    def render(self, outcomes: Iterable[Any]) -> str:
        """The table as Markdown; rows in the order in which they come first."""
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for outcome in filter(self.where, outcomes):
            groups.setdefault(self._key(outcome), []).append(outcome)
        if self.total:
            for key, own in list(groups.items()):
                groups.setdefault(("all", *key[1:]), []).extend(own)
        rows = ([*key, *(cell(own) for cell in self.cells.values())] for key, own in groups.items())
        return render_table([*self.keys, *self.cells], rows)

    def _key(self, outcome: Any) -> tuple[Any, ...]:
        return tuple(next(iter(take(value, [outcome])), "") for value in self.keys.values())


def render_table(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table as Markdown."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *lines])


# --- evaluations ---------------------------------------------------------------------------------


def _prepare_nothing(_: Sequence[Any], __: Bench) -> None:
    pass


class Evaluation(NamedTuple):
    """An evaluation. The docstring of its module stands above its tables.

    `load`: its questions, from the data. `measure`: the outcomes of one of them, in one way or in
    several. `prepare`: what all of them share. `needs`: a folder of the data. `score`: what a
    comparison of two commits goes by, from 0 to 1. `missed`: a line for an outcome that is wrong.
    """

    title: str
    load: Callable[[Path], Iterable[Any]]
    measure: Callable[[Any, Bench], Iterable[Any]]
    tables: tuple[Table, ...]
    needs: str = ""
    prepare: Callable[[Sequence[Any], Bench], None] = _prepare_nothing
    score: Value = "right"
    missed: Callable[[Any], str] = lambda _: ""

    def report(self, outcomes: Sequence[Any]) -> str:
        """Its part of RESULTS.md."""
        return "\n\n".join(table.render(outcomes) for table in self.tables)


def measure(
    evaluation: Evaluation,
    data: Path,
    work: Path,
    sample: int | None = None,
    *,
    unseen: bool = False,
) -> list[Any]:
    """The outcomes of all questions, or of a sample of them, in their order.

    `unseen`: of the half that nothing was tuned on alone.
    """
    questions = [one for one in evaluation.load(data) if not unseen or is_unseen(one)]
    if sample and sample < len(questions):
        drawn = sorted(Random(1).sample(range(len(questions)), sample))
        questions = [questions[n] for n in drawn]
    bench = Bench(data, work)
    evaluation.prepare(questions, bench)
    one = partial(_measure_one, evaluation.measure, bench)
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        outcomes = [outcome for own in pool.map(one, questions, chunksize=4) for outcome in own]
    return [one for one in outcomes if not unseen or is_unseen(one)]


def _measure_one(
    measure: Callable[[Any, Bench], Iterable[Any]], bench: Bench, question: Any
) -> Any:
    return list(measure(question, bench))


def is_unseen(one: Any) -> bool:
    """Whether a question, or an outcome, is of no half to tune on; some evaluations have none."""
    if isinstance(one, dict):
        return one.get("half") != "tune"
    inner = (getattr(one, name, None) for name in ("asked", "case", "question", "page", "trial"))
    return getattr(one, "half", "") != "tune" and all(map(is_unseen, filter(None, inner)))


def compare(before: Sequence[float], now: Sequence[float]) -> str:
    """What changed, question by question; a difference whose interval holds 0 may be chance."""
    apart = [b - a for a, b in zip(before, now, strict=True)]
    found = estimate_mean(apart)
    won, lost = sum(one > 0 for one in apart), sum(one < 0 for one in apart)
    ends = found.interval if len(set(apart)) > 1 else None
    low, high = ends or (found.value or 0.0,) * 2
    told = f"{mean(before):.1%} to {mean(now):.1%} (+{won}/-{lost})"
    return f"{told}, difference {found.value or 0.0:+.1%} ({low:+.1%} to {high:+.1%})"


# --- the command ---------------------------------------------------------------------------------

#: In the order of the page.
NAMES = (
    *("reading", "extractive", "tables", "search", "swaps", "cited_claims", "conflicts"),
    *("namesakes", "planted", "reports", "marks", "pages", "documents", "credibility", "replies"),
)


def load_evaluation(name: str) -> Evaluation:
    """The evaluation of a module of this folder."""
    found: Evaluation = import_module(f"evals.{name}").EVALUATION
    return found


def old_sections(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part.strip() for part in parts}


def write_page(sections: Mapping[str, str], path: Path) -> None:
    """Write the page anew with these sections; those of other evaluations stay as they are."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    kept = old_sections(path.read_text("utf-8") if path.exists() else "") | dict(sections)
    head = (
        f"# How good the answers are\n\n{datetime.now(UTC):%Y-%m-%d}, commit "
        f"{commit or 'unknown'}, by `python -m evals`: the half of each set that nothing was tuned "
        "on. `python -m evals.NAME` prints both halves, and what each word means."
    )
    titles = [load_evaluation(name).title for name in NAMES]
    parts = [kept[title] for title in titles if title in kept]
    path.write_text("\n\n".join([head, *parts]) + "\n", encoding="utf-8")


def _parse_arguments(names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, help=f"the page; default: {PAGE.name}")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=names, help="these alone")
    parser.add_argument(
        "--sample", type=int, help="so many questions; writes a page only with --out"
    )
    parser.add_argument("--unseen", action="store_true", help="the report half alone")
    parser.add_argument("--misses", action="store_true", help="what went wrong on the tune half")
    parser.add_argument("--save", type=Path, help="keep each question's score in this file")
    parser.add_argument("--against", type=Path, help="compare with a file of --save")
    given = parser.parse_args()
    given.unseen = given.unseen or names is NAMES
    return given


def main(*names: str) -> None:
    """Measure evaluations and print their sections; without names, write the page too."""
    given = _parse_arguments(names or NAMES)
    scores: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as work:
        for name in given.only:
            told = (import_module(f"evals.{name}").__doc__ or "").strip()
            tables = _measure_tables(name, given, Path(work), scores)
            print(_section(name, told, tables), end="\n\n", flush=True)
            is_part = given.sample and not given.out
            if not (names or is_part or SKIPPED in tables):
                first = _section(name, told.partition("\n\n")[0], tables)
                write_page({load_evaluation(name).title: first}, given.out or PAGE)
    if given.save:
        given.save.write_text(json.dumps(scores), encoding="utf-8")


def _section(name: str, told: str, tables: str) -> str:
    """A section of the page: the command, what it measures, and the tables."""
    return f"## {load_evaluation(name).title}\n\n`python -m evals.{name}`\n\n{told}\n\n{tables}"


def _measure_tables(
    name: str, given: argparse.Namespace, work: Path, scores: dict[str, list[float]]
) -> str:
    evaluation = load_evaluation(name)
    if evaluation.needs and not (given.data / evaluation.needs).is_dir():
        return f"{SKIPPED} `{evaluation.needs}/`."
    outcomes = measure(evaluation, given.data.resolve(), work, given.sample, unseen=given.unseen)
    for line in filter(None, map(evaluation.missed, outcomes)) if given.misses else ():
        print(line)
    scores[name] = [float(score) for score in take(evaluation.score, outcomes)]
    if given.against:
        print(name, compare(json.loads(given.against.read_text("utf-8"))[name], scores[name]))
    return evaluation.report(outcomes)
