"""Measures what a model is worth as a judge of claims, by the number of claims in one call.

`python -m evals.claims [--data DIR] [--sample N] [--batch N ...]`: public claims with what they
cite (AttributionBench, WiCE, Factcheck-GPT), put to the model of the environment (OPENAI_BASE_URL,
OPENAI_MODEL; LLM) by the program's own task `verify`. The SHA-1 of a claim's text puts it into one
of two halves; only the half `report` is used, on which nothing was tuned. `--record` keeps the
figures in `evals/judges.json`, from which `python -m evals` writes them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.errors import ModelFailed
from agent.evidence import rank_texts, split_passages
from agent.evidence.markers import strip_markers
from agent.llm import ModelChain
from agent.outside import Ask, Excerpt
from agent.run.models import make_models
from agent.settings import Settings, parse_settings
from agent.state import Claim
from agent.steps.verify import JudgeClaims
from evals.extractive import ROOT

DATA = ROOT.parent / "shared/data/claims"
RECORD = Path(__file__).with_name("judges.json")
RESAMPLES = 1000
BATCHES = (1, 2, 4, 8)
EVIDENCE = 1200  # characters of what a claim cites: eight fit into a context of 4,096 tokens
TOPIC = "Which of these claims do the sources that they cite support?"
FILES = {
    "attributionbench": "attributionbench",
    "wice": "wice_claim",
    "factcheck": "factcheck_stance",
}


class Row(NamedTuple):
    """A claim, what it cites, and the label that people gave it."""

    claim: str
    quotes: tuple[str, ...]
    label: str

    @property
    def supported(self) -> bool:
        """Whether people found the whole claim supported."""
        return self.label in ("attributable", "supported", "completely-support")


class JudgedRow(NamedTuple):
    """A row, the size of its batch, and the verdict; "" where none was given."""

    row: Row
    batch: int
    verdict: str
    seconds: float  # its share of its call


# --- the sets ------------------------------------------------------------------------------------


def load_rows(folder: Path, name: str) -> list[Row]:
    """The rows of a set that are in the half not tuned on, with all that they cite."""
    text = (folder / f"{FILES[name]}.dev.jsonl").read_text("utf-8")
    rows = (_parse_row(name, json.loads(line)) for line in text.splitlines())
    return [row for row in rows if half(row.claim) == "report"]


def _parse_row(name: str, line: dict[str, Any]) -> Row:
    if name == "attributionbench":
        told, label = "\n".join(line["references"]), line["attribution_label"]
    elif name == "factcheck":
        told, label = line["evidence"], line["stance"]
    else:
        told, label = "\n".join(line["evidence"]), line["label"]
    return Row(strip_markers(line["claim"]).strip(), (told,), label)


def best_passages(page: str, claim: str) -> tuple[str, ...]:
    """The passages of a page that fit a claim best, in page order, within EVIDENCE characters."""
    pieces = [page[start:end] for start, end in split_passages(page)]
    scores = rank_texts(pieces, claim)
    kept, left = set[int](), EVIDENCE
    for i in sorted(range(len(pieces)), key=lambda i: -scores[i]):
        if not kept or len(pieces[i]) <= left:
            kept.add(i)
            left -= len(pieces[i])
    return tuple(pieces[i][:EVIDENCE] for i in sorted(kept))


def half(claim: str) -> str:
    """The half that a claim belongs to."""
    last = hashlib.sha1(claim.encode(), usedforsecurity=False).digest()[-1]
    return "tune" if last % 2 else "report"


def sample_rows(folder: Path, each: int) -> list[Row]:
    """So many rows of each set, as many supported as not, with the best of what they cite."""
    draw, rows = random.Random(5), list[Row]()
    for name in FILES:
        for truth in (True, False):
            side = [row for row in load_rows(folder, name) if row.supported == truth]
            rows += draw.sample(side, min(len(side), (each + truth) // 2))
    draw.shuffle(rows)
    return [row._replace(quotes=best_passages(row.quotes[0], row.claim)) for row in rows]


# --- judging -------------------------------------------------------------------------------------


def judge_rows(rows: Sequence[Row], ask: Ask, size: int) -> Iterator[JudgedRow]:
    """Put rows to a judge, so many in a call."""
    for at in range(0, len(rows), size):
        batch = rows[at : at + size]
        began = time.perf_counter()
        verdicts = _ask_batch(batch, ask)
        seconds = (time.perf_counter() - began) / len(batch)
        for n, row in enumerate(batch, 1):
            yield JudgedRow(row, size, verdicts.get(n, ""), round(seconds, 2))


def _ask_batch(batch: Sequence[Row], ask: Ask) -> dict[int, str]:
    claims = tuple(Claim(text=row.claim, citations=(n,)) for n, row in enumerate(batch, 1))
    evidence = tuple(
        Excerpt(source=n, title="", url=f"https://example.org/{n}", passages=row.quotes)
        for n, row in enumerate(batch, 1)
    )
    try:
        reply = ask(JudgeClaims(topic=TOPIC, claims=claims, evidence=evidence))
    except ModelFailed:
        return {}
    return {said.claim: said.verdict for said in reply.answer.verdicts}


def open_judge(settings: Settings) -> Ask:
    """The model of the settings, without journal or budget."""
    models = make_models(settings)
    return ModelChain(models, settings.llm_timeout, settings.llm_retry_waits)


# --- figures -------------------------------------------------------------------------------------


def balanced_accuracy(judged: Sequence[JudgedRow]) -> float:
    """The mean recall of both classes. A verdict that was not given is wrong."""
    good = [one.verdict == "supported" for one in judged if one.row.supported]
    bad = [one.verdict not in ("supported", "") for one in judged if not one.row.supported]
    return (sum(good) / max(1, len(good)) + sum(bad) / max(1, len(bad))) / 2


def bootstrap_interval(judged: Sequence[JudgedRow]) -> tuple[float, float]:
    """The bootstrap interval of 95% of the balanced accuracy."""
    draw = random.Random(3)
    found = sorted(balanced_accuracy(draw.choices(judged, k=len(judged))) for _ in range(RESAMPLES))
    return found[RESAMPLES // 40], found[-RESAMPLES // 40 - 1]


def figures(judged: Sequence[JudgedRow]) -> dict[str, Any]:
    """The figures of one size of batch."""
    false = [one for one in judged if not one.row.supported]
    refuted = [one for one in judged if one.row.label == "refute"]
    low, high = bootstrap_interval(judged)
    return {
        "batch": judged[0].batch,
        "n": len(judged),
        "balanced_accuracy": round(balanced_accuracy(judged), 3),
        "interval": [round(low, 3), round(high, 3)],
        "false": len(false),
        "false_called_supported": _called(false),
        "true": len(judged) - len(false),
        "true_called_supported": _called(judged) - _called(false),
        "refuted": len(refuted),
        "refuted_called_supported": _called(refuted),
        "no_verdict": sum(not one.verdict for one in judged),
        "seconds": round(sum(one.seconds for one in judged) / len(judged), 2),
    }


def _called(judged: Sequence[JudgedRow]) -> int:
    return sum(one.verdict == "supported" for one in judged)


def measure(rows: Sequence[Row], ask: Ask, sizes: Sequence[int] = BATCHES) -> list[dict[str, Any]]:
    """The figures of each size of batch, over the same rows."""
    return [figures(list(judge_rows(rows, ask, size))) for size in sizes]


HEAD = (
    "| judge | claims a call | n | balanced accuracy | interval of 95% | false called supported "
    "| true called supported | refuted called supported | no verdict | seconds a claim |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)
NOTES = """
Claims of AttributionBench, WiCE and Factcheck-GPT in equal parts, half of them supported, of the
half not tuned on; what each cites is cut to its best 1,200 characters. Only `supported` counts as
supported. A verdict that the judge did not give counts as wrong."""


def report(record: Path = RECORD) -> str:
    """The part of RESULTS.md: the judges that were measured and kept."""
    if not record.exists():
        return "Not measured yet: it needs a model. `python -m evals.claims --record`"
    judges: dict[str, list[dict[str, Any]]] = json.loads(record.read_text("utf-8"))
    rows = (_table_row(name, found) for name, sizes in judges.items() for found in sizes)
    return "\n".join([HEAD, *rows, NOTES])


def _table_row(name: str, found: dict[str, Any]) -> str:
    low, high = found["interval"]
    kinds = ("false", "true", "refuted")
    cells = (
        *(name, found["batch"], found["n"], f"**{found['balanced_accuracy']}**"),
        f"{low} to {high}",
        *(f"{found[f'{kind}_called_supported']} of {found[kind]}" for kind in kinds),
        *(found["no_verdict"], found["seconds"]),
    )
    return f"| {' | '.join(map(str, cells))} |"


def keep(name: str, found: list[dict[str, Any]], record: Path = RECORD) -> None:
    """Write the figures of a judge over those that were kept of it."""
    known = json.loads(record.read_text("utf-8")) if record.exists() else {}
    text = json.dumps({**known, name: found}, indent=1, ensure_ascii=False)
    record.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m evals.claims")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the three sets")
    parser.add_argument("--sample", type=int, default=20, help="claims of each set")
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES, help="claims in a call")
    parser.add_argument("--name", default="", help="of the judge; default: the model's")
    parser.add_argument("--record", action="store_true", help="keep the figures for RESULTS.md")
    given = parser.parse_args()
    settings = parse_settings(os.environ)
    name = given.name or make_models(settings)[0].name
    rows = sample_rows(given.data, given.sample)
    found = measure(rows, open_judge(settings), given.batch)
    print("\n".join([HEAD, *(_table_row(name, one) for one in found)]))
    if given.record:
        keep(name, found)


if __name__ == "__main__":
    main()
