"""How often rules refute what is true, and miss what is false, on claims that people labelled.

Claims of AttributionBench, WiCE and Factcheck-GPT with the page that each cites, by their labels:
*true* is wholly supported, *false* is not supported or refuted; what is supported in part is left
out. A *wrong source* is a true claim beside the page of another claim of its set that shares no
name with it; a *number* or a *year* is changed to one that is not on the page. Each is checked by
rules alone, and with a judge that is right, one that is wrong about 5 % of the claims, and one that
says yes to all. *untrue reasons*: reasons that say a number or a word is not on the page, and it
stands there. The halves are of claims, by the SHA-1 of their text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from agent.evidence import fold
from agent.evidence.markers import strip_markers
from agent.evidence.proper_names import find_names
from agent.settings import Settings
from agent.state import Checked, CheckedClaim, CitedReport, Page, ReportSentence, ReportSource
from agent.strategies.check.judge import JudgeReport
from evals.harness import Bench, Cell, Evaluation, Table, half, main, read_rows
from evals.knowing import KnowingJudge, Knows, err_at, tell_all
from evals.pairs import Leaf
from evals.swaps import read_pages

AT = "2026-01-01T00:00:00Z"
ARMS = ("rules", "right judge", "judge of 95 %", "yes to all")
LABELS = {
    "attributable": True,
    "not attributable": False,
    "supported": True,
    "not_supported": False,
    "completely-support": True,
    "refute": False,
    "irrelevant": False,
}
SETS = {
    "WiCE": ("wice_claim", "label", "evidence"),
    "Factcheck": ("factcheck_stance", "stance", "evidence"),
    "AttributionBench": ("attributionbench", "attribution_label", "references"),
}
KINDS = ("true", "false", "wrong source", "number", "year")
MOST = 300  # claims of a set, a kind and a half
FAILING = ("unsupported", "contradicted")
_YEAR = re.compile(r"\b(1[6-9]\d\d|20[0-3]\d)\b")
_NUMBER = re.compile(r"(?<![\w.,:/$€£-])(\d{1,3}(?:,\d{3})+|\d{1,4})(?![\w:/]|[.,-]\d)")
_NOT_THERE = re.compile(r"“(.+)” is not on the page|^(.+) is not on the page")


class Pair(NamedTuple):
    """A claim beside the page that it cites."""

    name: str
    kind: str
    half: str
    claim: str
    page: str


class Outcome(NamedTuple):
    """What was said of a pair with one judge."""

    pair: Pair
    arm: str
    verdict: str
    reason: str

    @property
    def failed(self) -> bool:
        return self.verdict in FAILING

    @property
    def right(self) -> bool:
        return not self.failed if self.pair.kind == "true" else self.verdict != "supported"

    @property
    def is_untrue(self) -> bool:
        """Whether the reason says that something is not on the page that stands there."""
        found = _NOT_THERE.search(self.reason)
        words = re.escape(fold(found[1] or found[2])) if found else ""
        return bool(words and re.search(rf"(?<![\w.,]){words}(?![\w.,])", fold(self.pair.page)))


def load(data: Path) -> Iterator[Pair]:
    """The pairs of each set; of a kind and a half the first ones."""
    for name in SETS:
        pairs = list(_read_set(data, name))
        true = [pair for pair in pairs if pair.kind == "true"]
        made = [one for n, pair in enumerate(true) for one in _spoil(pair, true[n + 1 :] + true)]
        for kind in KINDS:
            for side in ("tune", "report"):
                own = (p for p in (*pairs, *made) if (p.kind, p.half) == (kind, side))
                yield from islice(own, MOST)


def _read_set(data: Path, name: str) -> Iterator[Pair]:
    file, label, evidence = SETS[name]
    for row in read_rows(data / f"claims/{file}.dev.jsonl"):
        told = row[evidence] if isinstance(row[evidence], str) else "\n".join(row[evidence])
        claim = strip_markers(row["claim"]).strip()
        if (is_true := LABELS.get(row[label])) is not None and told.strip():
            yield Pair(name, "true" if is_true else "false", half(claim), claim, told)


def _spoil(pair: Pair, others: Sequence[Pair]) -> Iterator[Pair]:
    """A true claim with faults: beside another page, and with a number or a year changed."""
    names = [fold(name) for name in find_names(pair.claim)]
    pages = (o.page for o in others if not any(name in fold(o.page) for name in names))
    if names and (page := next(pages, None)):
        yield pair._replace(kind="wrong source", page=page)
    dice = random.Random(pair.claim)
    own = Page.from_text("https://example.org/1", "", pair.page, AT)
    if claim := change_number(pair.claim, own, dice):
        yield pair._replace(kind="number", claim=claim)
    if (claim := change_year(pair.claim, dice)) and not names_year(claim, pair.page):
        yield pair._replace(kind="year", claim=claim)


def change_number(sentence: str, page: Page, dice: random.Random) -> str | None:
    """The sentence with a number that the page has nowhere in the place of its own."""
    for match in [m for m in _NUMBER.finditer(sentence) if not _YEAR.fullmatch(m[0])][:1]:
        value = int(match[0].replace(",", ""))
        for _ in range(20):
            factor = dice.choice((0.5, 0.7, 1.3, 1.6, 2.2))
            other = max(2, round(value * factor) + dice.randint(1, 3))
            text = f"{other:,}" if "," in match[0] else str(other)
            if other != value and not re.search(rf"(?<!\d){re.escape(text)}(?!\d)", page.text):
                return sentence[: match.start()] + text + sentence[match.end() :]
    return None


def change_year(sentence: str, dice: random.Random) -> str | None:
    """The sentence with another year; the page may have it elsewhere."""
    match = _YEAR.search(sentence)
    if not match:
        return None
    other = int(match[0]) + dice.choice((-7, -3, -2, 2, 3, 6))
    return None if str(other) in sentence else sentence.replace(match[0], str(other))


def names_year(claim: str, page: str) -> bool:
    """Whether a page has all years of a claim."""
    return set(re.findall(r"\b[12]\d{3}\b", claim)) <= set(re.findall(r"\b[12]\d{3}\b", page))


# --- checking -------------------------------------------------------------------------------------


def measure(pair: Pair, _: Bench) -> Iterator[Outcome]:
    """A pair with every judge."""
    yield from (check(pair, arm) for arm in ARMS)


def check(pair: Pair, arm: str) -> Outcome:
    """What the product says of a claim by the page that it cites."""
    judge = KnowingJudge(judge_of(pair, arm))
    said = check_page(pair.claim, Leaf("", pair.page), judge, uses_model=arm != "rules")
    return Outcome(pair, arm, said.verdict, said.reason)


def check_page(claim: str, leaf: Leaf, judge: KnowingJudge, *, uses_model: bool) -> CheckedClaim:
    """What a check says of a report of one sentence that cites one page."""
    sentence = ReportSentence(text=claim, start=0, end=len(claim), sources=(1,))
    url = "https://example.org/1"
    report = CitedReport(
        name="report.md",
        form="markdown",
        title="",
        text=claim,
        sentences=(sentence,),
        sources=(ReportSource(n=1, url=url),),
    )
    research = read_pages("claims", [leaf])
    step = JudgeReport(judge, Settings(verify="model" if uses_model else "rules"))
    return next(e.claims[0] for e in step(research, report, {}) if isinstance(e, Checked))


def judge_of(pair: Pair, arm: str) -> Knows:
    """What the judge of an arm knows."""
    knows = tell_all(pair.kind == "true" or arm == "yes to all")
    return err_at(knows) if arm == "judge of 95 %" else knows


# --- figures --------------------------------------------------------------------------------------


def _said(arm: str, *verdicts: str) -> Cell:
    def cell(outcomes: Sequence[Any]) -> str:
        own = [one for one in outcomes if one.arm == arm]
        found = sum(one.verdict in verdicts for one in own)
        return f"{found} ({found / max(1, len(own)):.1%})"

    return cell


EVALUATION = Evaluation(
    title="Claims that people labelled, by the pages that they cite",
    load=load,
    measure=measure,
    needs="claims",
    score=lambda one: one.right if one.arm == "rules" else None,
    tables=(
        Table(
            {"claims": "pair.kind", "half": "pair.half"},
            {
                "n": lambda outcomes: str(len(outcomes) // len(ARMS)),
                **{f"refuted: {arm}": _said(arm, *FAILING) for arm in ARMS},
                **{f"supported: {arm}": _said(arm, "supported") for arm in ARMS},
                "partial: right judge": _said("right judge", "partial"),
                "untrue reasons": lambda outcomes: str(sum(one.is_untrue for one in outcomes)),
            },
        ),
    ),
    missed=lambda one: (
        f"{one.pair.name} {one.pair.kind} {one.arm}: {one.verdict} ({one.reason}): {one.pair.claim}"
        if one.pair.half == "tune" and not one.right and one.arm in ("rules", "right judge")
        else ""
    ),
)

if __name__ == "__main__":
    main("cited_claims")
