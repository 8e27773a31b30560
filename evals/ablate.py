"""What each part that decides answers buys: switched off, and measured again on unseen questions.

`python -m evals.ablate [NAME ...] [--on EVALUATION ...] [--list]`: a switch puts something idle in
the place of a function, a weight or a word list, outside the product. Each evaluation of a switch
is run without it and compared, question by question, with the same evaluation of the whole; of
questions with halves only the *report* half counts, which nothing was tuned on. *+/-*: questions
that are right only without, and only with it. A part whose difference is not below zero anywhere
buys nothing that these evaluations can see. The table stands in `ABLATION.md`; rows of switches
that were not run stay as they are.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from unittest.mock import patch

from agent.evaluate.metrics import estimate_difference
from agent.evidence.selection import Memory
from evals.harness import (
    DATA,
    NAMES,
    ROOT,
    SKIPPED,
    load_evaluation,
    measure,
    render_table,
    take,
)

PAGE = ROOT / "evals/ABLATION.md"
HEADS = ("switched off", "evaluation", "n", "with", "without", "+/-", "difference (95 %)")
NEVER = re.compile("(?!)")
ENGINE, TRUST = "agent.llm.extractive.", "agent.evidence.credibility:"


class Switch(NamedTuple):
    """What stands in the place of an attribute, and the evaluations that could see it."""

    place: str  # `module:attribute`
    off: Any  # or, where the value is to be changed, a function of it
    evaluations: tuple[str, ...] = ("extractive",)
    changes: bool = False


def always(value: Any) -> Callable[..., Any]:
    """A function that says nothing else."""
    return lambda *_, **__: value


def drop(name: str) -> Callable[[Any], Any]:
    """Of weights by name, the same without one."""
    return lambda weights: weights._replace(**{name: 0.0})


def leave_out(*names: str) -> Callable[[Any], Any]:
    """Of a table by name, the same without some."""
    return lambda table: {name: value for name, value in table.items() if name not in names}


def same(value: Any, *_: Any, **__: Any) -> Any:
    """Say what came first."""
    return value


def _read_english(_: str) -> Any:
    """Read every text as one of the language that most tables are of."""
    return import_module("agent.evidence.language").load_language("en")


LONG = ("slots",)
BOTH = ("extractive", "slots")
CHOICE = "agent.steps.page_choice:"
WEIGHTS = (
    "cover typed proximity length first title_said title_whole page source hop_in bm25 hop_union "
    "earliest"
).split()
SIGNS = "cover page title_said title_whole count together names_far proximity".split()
SWITCHES: dict[str, Switch] = {
    **{f"weight: {w}": Switch(f"{ENGINE}ranking:WEIGHTS", drop(w), changes=True) for w in WEIGHTS},
    **{
        f"sign: {s}": Switch(
            f"{ENGINE}confidence:WEIGHTS", lambda table, s=s: {**table, s: 0.0}, changes=True
        )
        for s in SIGNS
    },
    "synonyms in ranking": Switch(f"{ENGINE}ranking:synonyms_of", always(frozenset())),
    "synonyms in slots": Switch(f"{ENGINE}filling:synonyms_of", always(frozenset()), BOTH),
    "next hops": Switch(f"{ENGINE}engine:_next_hops", always([])),
    "queries of parts": Switch(f"{ENGINE}queries:_parts", always([])),
    "queries of sides": Switch(f"{ENGINE}queries:_sides", always([])),
    "lists": Switch(f"{ENGINE}selection:_answering_list", always([])),
    "neighbours": Switch(f"{ENGINE}engine:join_neighbours", same),
    "beside": Switch(f"{ENGINE}selection:_beside", always(0.0)),
    "clauses": Switch(f"{ENGINE}selection:clip_line", same),
    "spoken to the reader": Switch(
        f"{ENGINE}selection:addresses_reader", always(False), ("extractive", "injection")
    ),
    "names that stand nowhere": Switch(f"{ENGINE}confidence:_has_foreign_name", always(False)),
    "names of one page": Switch(f"{ENGINE}confidence:_relates_names", always(True)),
    "another kind of event": Switch(f"{ENGINE}confidence:is_another_kind", always(False), BOTH),
    "values in prose": Switch(f"{ENGINE}filling:find_stated", always([]), BOTH),
    "words together": Switch(f"{ENGINE}filling:_stand_together", always(True), BOTH),
    "clause of a year": Switch(f"{ENGINE}filling:_clause_of_year", same, BOTH),
    "sides of a comparison": Switch(f"{ENGINE}filling:_fill_side", always(None)),
    "results in tables": Switch(f"{ENGINE}filling:find_record", always(None), LONG),
    "templates": Switch(f"{ENGINE}templates:find_template", always(None), BOTH),
    "boxes of pages": Switch("agent.documents.html.reader:find_boxes", always([]), LONG),
    "other languages": Switch(f"{ENGINE}question:language_of", _read_english, ("languages",)),
    "namesakes": Switch("agent.slots.namesakes:are_namesakes", always(False), ("namesakes",)),
    "trust in hosts": Switch("agent.slots.weighing:_joint_weight", always(1.0), ("conflicts",)),
    "lists of hosts": Switch(f"{TRUST}_listed_kind", always(None), ("credibility",)),
    "looks of hosts": Switch(f"{TRUST}_kind_by_look", always(None), ("credibility",)),
    "words of instructions": Switch(
        f"{ENGINE}lines:find_instruction", always(None), ("injection",)
    ),
    "words of walls": Switch("agent.documents.html.walls:_languages", always([]), ("walls",)),
    "markup of walls": Switch("agent.documents.html.walls:_markup", always(NEVER), ("walls",)),
    "what a page hides": Switch(
        "agent.documents.html.reader:remove_hidden", always(None), ("injection",)
    ),
    "pages named first": Switch(f"{CHOICE}is_named", always(False), ("extractive", "planted")),
    "hits that say the same": Switch(
        f"{CHOICE}_says_the_same", always(False), ("extractive", "planted")
    ),
    "one owner, one witness": Switch(
        f"{CHOICE}_is_one_witness", always(False), ("extractive", "planted")
    ),
    "what fits what is missing": Switch(f"{CHOICE}_fitting_hits", always([])),
    "notes of earlier rounds": Switch(
        "agent.steps.reflect:_remember", always(Memory()), ("reading",)
    ),
    "pages that rival": Switch(
        "agent.slots.grounding:find_disagreements", always([]), ("planted", "conflicts")
    ),
}


class Row(NamedTuple):
    """What an evaluation says of a switch."""

    name: str
    evaluation: str
    cells: tuple[str, ...]


def score(name: str, work: Path, data: Path = DATA) -> list[float]:
    """The scores of an evaluation on the half that nothing was tuned on, or on all questions."""
    evaluation = load_evaluation(name)
    outcomes = measure(evaluation, data.resolve(), work / name, unseen=True)
    return [float(found) for found in take(evaluation.score, outcomes)]


def switch_off(switch: Switch) -> Any:
    """A context in which a part is off."""
    place, _, attribute = switch.place.partition(":")
    owner = import_module(place)
    off = switch.off(getattr(owner, attribute)) if switch.changes else switch.off
    return patch.object(owner, attribute, off)


def ablate(names: Sequence[str], on: Container[str], work: Path) -> Iterator[Row]:
    """Each switch with those of its evaluations that are wanted; what is whole is measured once."""
    whole: dict[str, list[float]] = {}
    for name in names:
        for evaluation in filter(on.__contains__, SWITCHES[name].evaluations):
            if evaluation not in whole:
                (work / evaluation).mkdir()
                whole[evaluation] = score(evaluation, work)
            with ExitStack() as stack:
                stack.enter_context(switch_off(SWITCHES[name]))
                without = score(evaluation, work)
            yield Row(name, evaluation, tuple(_compare(whole[evaluation], without)))


def _compare(whole: Sequence[float], without: Sequence[float]) -> Iterator[str]:
    """The cells of a row. Where a part decides how many outcomes there are, they are no pairs."""
    yield str(len(whole))
    yield f"{mean(whole):.1%}" if whole else ""
    yield f"{mean(without):.1%}" if without else ""
    if len(whole) != len(without):
        yield from ("", f"{len(without)} outcomes")
        return
    pairs = list(zip(whole, without, strict=True))
    yield f"+{sum(b > a for a, b in pairs)}/-{sum(b < a for a, b in pairs)}"
    found = estimate_difference(without, whole)
    low, high = found.interval or (found.value or 0.0,) * 2
    yield f"{found.value or 0.0:+.1%} ({low:+.1%} to {high:+.1%})"


def old_rows(page: Path) -> dict[tuple[str, str], Row]:
    """The rows of a page, by switch and evaluation."""
    lines = page.read_text("utf-8").splitlines() if page.exists() else []
    cells = (line.strip("| ").split(" | ") for line in lines if line.startswith("| "))
    rows = (Row(c[0], c[1], tuple(c[2:])) for c in cells if c[0] in SWITCHES)
    return {row[:2]: row for row in rows}


def write_page(rows: Sequence[Row], page: Path) -> None:
    """Write the page with new rows in the place of old ones, in the order of the switches."""
    kept = old_rows(page) | {row[:2]: row for row in rows}
    order = [(name, of) for name, switch in SWITCHES.items() for of in switch.evaluations]
    table = render_table(HEADS, ([*key, *kept[key].cells] for key in order if key in kept))
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    head = f"# What each part buys\n\nCommit {commit}.\n\n{(__doc__ or '').strip()}\n"
    page.write_text(f"{head}\n{table}\n", encoding="utf-8")


def main() -> None:
    """Switch off what is named, else everything, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evals.ablate")
    parser.add_argument("names", nargs="*", help="switches; none: all")
    parser.add_argument("--on", nargs="+", default=NAMES, metavar="EVAL", help="these alone")
    parser.add_argument("--list", action="store_true", help="print the names of all switches")
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    if given.list:
        print("\n".join(SWITCHES))
        return
    if unknown := set(given.names) - set(SWITCHES):
        parser.error(f"no switch {', '.join(sorted(unknown))}; see --list")
    if not DATA.is_dir():
        parser.exit(message=f"{SKIPPED} {DATA}.\n")
    with tempfile.TemporaryDirectory() as work:
        for row in ablate(given.names or list(SWITCHES), given.on, Path(work)):
            print(render_table(HEADS, [[*row[:2], *row.cells]]).splitlines()[-1], flush=True)
            write_page([row], given.out)


if __name__ == "__main__":
    main()
