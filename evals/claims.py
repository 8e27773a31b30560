"""What a model is worth as a judge of claims, by the number of claims in one call.

Claims of AttributionBench, WiCE and Factcheck-GPT in equal parts, half of them supported, of the
half not tuned on; what each cites is cut to its best 1,200 characters. They are put to the model of
the environment (OPENAI_BASE_URL, OPENAI_MODEL; LLM) by the program's own task `verify` with
`python -m evals.claims --record`, which keeps the figures in `evals/judges.json`. Only `supported`
counts as supported. A verdict that the judge did not give counts as wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from agent.errors import ModelFailed
from agent.evidence import rank_texts, split_passages
from agent.evidence.markers import strip_markers
from agent.llm import ModelChain
from agent.outside import Ask, Excerpt
from agent.run.models import make_models
from agent.settings import parse_settings
from agent.state import Claim
from agent.steps.judges import JudgeClaims
from evals.harness import DATA, Bench, Cell, Evaluation, Table, main, only, read_rows

RECORD = Path(__file__).with_name("judges.json")
EACH = 20  # claims of a set
RESAMPLES = 1000
BATCHES = (1, 2, 4, 8)
KINDS = ("false", "true", "refuted")
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
    rows = (_parse_row(name, row) for row in read_rows(folder / f"{FILES[name]}.dev.jsonl"))
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


# --- the record ----------------------------------------------------------------------------------


def load_record(path: Path = RECORD) -> dict[str, list[dict[str, Any]]]:
    """The figures that were kept of each judge."""
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def record() -> None:
    """Measure the model of the environment, and keep its figures."""
    settings = parse_settings(os.environ)
    models = make_models(settings)
    judge = ModelChain(models, settings.llm_timeout, settings.llm_retry_waits)
    found = measure(sample_rows(DATA / "claims", EACH), judge)
    text = json.dumps({**load_record(), models[0].name: found}, indent=1)
    RECORD.write_text(f"{text}\n", encoding="utf-8")


def _load(_: Path) -> Iterator[dict[str, Any]]:
    for name, rows in load_record().items():
        yield from ({"judge": name, **row} for row in rows)


def _show(row: dict[str, Any], _: Bench) -> Iterator[dict[str, Any]]:
    yield row


def _called_of(kind: str) -> Cell:
    return only(lambda row: f"{row[f'{kind}_called_supported']} of {row[kind]}")


EVALUATION = Evaluation(
    title="What a model is worth as a judge of claims",
    load=_load,
    measure=_show,
    score=lambda _: None,
    tables=(
        Table(
            {"judge": itemgetter("judge"), "claims a call": itemgetter("batch")},
            {
                "n": only(itemgetter("n")),
                "balanced accuracy": only(itemgetter("balanced_accuracy")),
                "interval of 95%": only(lambda row: "{} to {}".format(*row["interval"])),
                **{f"{kind} called supported": _called_of(kind) for kind in KINDS},
                "no verdict": only(itemgetter("no_verdict")),
                "seconds a claim": only(itemgetter("seconds")),
            },
        ),
    ),
)

if __name__ == "__main__":
    record() if "--record" in sys.argv else main("claims")
