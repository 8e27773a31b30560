"""What becomes of sentences whose numbers follow from those of their pages.

Three invented things with a length or an area, a year and a count of visitors, a page each, in four
languages; of them a margin, a total, a share, a span of years, a rate, a conversion of units, the
largest of three, and how many of three are beyond a limit, exact or after "about", "nearly", "more
than": as many true ones as false ones (another number, another thing). Each goes as a draft through
the product's own step, and as a report through its check. *right*: a judge that knows, and gives
the right arithmetic. *agrees, right arithmetic*: it says yes to all, and shows how the true number
follows. *agrees, wrong arithmetic*: it says yes, with an operation or a number that is wrong.
*agrees*: yes without arithmetic. Cells: supported / partial / unchecked / refuted or left out, in
per cent. Rules were written with
*tune* in view; two faults of the check were found in *report* and mended.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.reports.reader import read_report
from agent.evidence.citing import compose_answer
from agent.settings import Settings
from agent.state import Checked, Cited, Draft, Hit, Page, PageRead, Research, Verified
from agent.steps.verify import Verify
from agent.strategies.check.judge import JudgeReport
from evals.harness import HALVES, Bench, Cell, Evaluation, Table, main, spread
from evals.knowing import KnowingJudge, Word

ARMS = ("no judge", "right", "agrees, right arithmetic", "agrees, wrong arithmetic", "agrees")
DOORS = ("answer", "check")
DELIVERED = ("supported", "partial", "unchecked", "dropped")
KINDS = "margin total share span rate convert most count".split()
EACH = 5  # of a kind, a language and a half, true and false
AT = "2026-01-01T00:00:00Z"


class Statement(NamedTuple):
    """A sentence, the facts it stands on, and arithmetic for it."""

    language: str
    half: str
    kind: str
    true: bool
    claim: str
    facts: tuple[str, ...]
    right: str
    wrong: str


class Outcome(NamedTuple):
    statement: Statement
    door: str
    arm: str
    verdict: str


# --- the statements -------------------------------------------------------------------------------


def load(_: Path) -> Iterator[Statement]:
    """The statements of each half, the same each time."""
    tables = tomllib.loads(Path(__file__).with_name("calculations.toml").read_text("utf-8"))
    for half in reversed(HALVES):
        dice = random.Random(11)
        for language, table in tables.items():
            for kind in KINDS:
                for n in range(2 * EACH):
                    yield make_statement(language, half, kind, n % 2 == 0, table, dice)


def make_statement(
    language: str, half: str, kind: str, true: bool, table: Any, dice: random.Random
) -> Statement:
    words = table[half]
    names = dice.sample(words["names"].split(), 3)
    values = sorted(dice.sample(range(400, 9000), 3), reverse=True)
    years = sorted(dice.sample(range(1850, 2020), 3), reverse=True)
    days = dice.randrange(11, 90)
    named = dict(zip("abc", names, strict=True))
    x, y, z = (write(value, language) for value in values)
    facts = tuple(
        words["crowd" if kind == "rate" else "opened" if kind == "span" else "fact"].format(
            a=name, x=write(value, language), y=year, d=days
        )
        for name, value, year in zip(names, values, years, strict=True)
    )
    value, right = {
        "margin": (values[0] - values[1], f"{x} - {y}"),
        "total": (sum(values), f"{x} + {y} + {z}"),
        "share": (100 * values[1] / values[0], f"100 * {y} / {x}"),
        "span": (years[0] - years[1], f"{years[0]} - {years[1]}"),
        "rate": (values[0] / days, f"{x} / {days}"),
        "convert": convert(values[0], x, half),
        "most": (values[0], f"max({x}; {y}; {z})"),
        "count": (0, ""),
    }[kind]
    if kind == "count":
        return make_count(language, half, true, table, facts, values, dice)
    if kind == "most":
        named |= {} if true else {"a": names[dice.choice((1, 2))]}
        claim, wrong = words["most"].format(**named), f"max({y}; {z})"
        return Statement(language, half, kind, true, claim, facts, right, wrong)
    rough = "" if kind == "span" else dice.choice(("", "", "about", "nearly", "over"))
    told, text = tell(value, rough, true, kind, language, dice)
    claim = words[kind].format(**named, v=text, r=table.get(rough, ""))
    if kind == "span":
        wrong = f"{years[0]} - {years[0] - round(told)}" if not true else f"{years[0]} - {years[2]}"
    else:
        wrong = f"{x} - {write(round(values[0] - told), language)}" if not true else f"{x} + {x}"
    return Statement(language, half, kind, true, " ".join(claim.split()), facts, right, wrong)


def convert(value: int, text: str, half: str) -> tuple[float, str]:
    return (value / 1000, f"{text} / 1000") if half == "tune" else (value / 100, f"{text} / 100")


def make_count(
    language: str, half: str, true: bool, table: Any, facts: Any, values: Any, dice: random.Random
) -> Statement:
    beyond = dice.choice((1, 2))
    limit = (values[beyond - 1] + values[beyond]) // 2
    said = beyond if true else 3 - beyond
    claim = table[half]["count"].format(n=table[("one", "two")[said - 1]], v=write(limit, language))
    some = [write(value, language) for value in values]
    right = f"count({'; '.join(f'{one} > {limit}' for one in some)})"
    wrong = f"count({'; '.join(some[: said + (1 if true else 0)])})"
    return Statement(language, half, "count", true, claim, facts, right, wrong)


def tell(
    value: float, rough: str, true: bool, kind: str, language: str, dice: random.Random
) -> tuple[float, str]:
    """A value as a sentence tells it: rounded; of a false one, another value."""
    places = 2 if kind == "convert" else 1 if kind == "rate" else 0
    if not true:
        value = value * dice.choice((0.6, 0.8, 1.25, 1.5)) + 2 if not rough else value
        value *= {"about": 1.3, "nearly": 0.8, "over": 1.4}.get(rough, 1)
    if rough:
        step = 10 ** (len(str(int(value))) - 2) if value >= 100 else 1
        step = 0.1 if kind == "convert" and value < 100 else step
        up = rough == "nearly" or (rough == "about" and value % step * 2 > step)
        value = (value // step + up) * step - (rough == "over" and value % step == 0) * step
        places = 1 if step < 1 else 0
    return value, write(round(value, places), language)


def write(value: float, language: str) -> str:
    """A number as a language writes it."""
    text = f"{value:,}" if isinstance(value, int) or value % 1 else f"{value:,.0f}"
    if language in ("de", "es"):
        return text.translate(str.maketrans(",.", ".,"))
    return text if language == "en" else text.replace(",", "")


# --- what becomes of them -------------------------------------------------------------------------


def judge_of(arm: str, one: Statement) -> KnowingJudge:
    """The judge of an arm; what it knows is whether the statement is true."""
    says = "supported" if one.true or arm != "right" else "unsupported"
    told = {"agrees": None, "agrees, wrong arithmetic": one.wrong}.get(arm, one.right)
    return KnowingJudge(lambda _, shown: Word(says, min(shown, default=None), told))


def measure(one: Statement, _: Bench) -> Iterator[Outcome]:
    for arm in ARMS:
        for door in DOORS:
            verdict = (answer if door == "answer" else check)(one, arm)
            yield Outcome(one, door, arm, verdict)


def read_facts(one: Statement) -> Research:
    """A research that has read a page for each fact."""
    research = Research(one.claim)
    for n, fact in enumerate(one.facts, 1):
        url = f"https://example.org/{n}"
        research.grow(PageRead(page=Page.from_text(url, "", fact, AT), hit=Hit(url=url)))
    return research


def answer(one: Statement, arm: str) -> str:
    """What the user is told of a draft of one sentence, which quotes all facts."""
    research = read_facts(one)
    cited = [Cited(source=n, quote=fact) for n, fact in enumerate(one.facts, 1)]
    end = "。" if one.language == "zh" else "."
    marks = "".join(f"[{n}]" for n in range(1, len(one.facts) + 1))
    draft = Draft(answer=f"{one.claim.rstrip(end)} {marks}{end}", citations=cited)
    research.grow(compose_answer(draft, research.sources)[0])
    step = Verify(judge_of(arm, one), 1000, mode="rules" if arm == "no judge" else "model")
    for event in step(research):
        research.grow(event)
    assert isinstance(research.answer, Verified)
    claims = [claim for claim in research.answer.claims if claim.text.rstrip(end) in one.claim]
    return claims[0].verdict if claims else "dropped"


def check(one: Statement, arm: str) -> str:
    """What the check of a report of one sentence says, with all facts on one page."""
    url = "https://example.org/1"
    text = "# A report\n\n" + one.claim + f" [1]\n\n## References\n\n[1] {url}\n"
    report = read_report(text.encode(), "report.md")
    research = Research(report.title)
    page = Page.from_text(url, "", "\n".join(one.facts), AT)
    research.grow(PageRead(page=page, hit=Hit(url=url)))
    settings = Settings(verify="rules" if arm == "no judge" else "model")
    events = JudgeReport(judge_of(arm, one), settings)(research, report, {})
    verdict = next(event.claims[0].verdict for event in events if isinstance(event, Checked))
    return verdict if verdict in DELIVERED else "dropped"


def _with(arm: str) -> Cell:
    cell = spread("verdict", DELIVERED)
    return lambda outcomes: cell([one for one in outcomes if one.arm == arm])


def tell_wrong(one: Outcome) -> str:
    is_right = (one.verdict == "supported") == one.statement.true
    is_asked = one.arm in ARMS[1:3]
    told = f"{one.door}, {one.arm}: {one.verdict}: {one.statement.claim} <- {one.statement.right}"
    return told if is_asked and not is_right else ""


EVALUATION = Evaluation(
    title="Numbers that follow",
    load=load,
    measure=measure,
    score=lambda one: not tell_wrong(one),
    tables=tuple(
        Table(
            {
                "sentences": lambda one: "true" if one.statement.true else "false",
                key: f"statement.{key}",
                "half": "statement.half",
                "door": "door",
            },
            {
                "n": lambda outcomes: str(len(outcomes) // len(ARMS)),
                **{arm: _with(arm) for arm in ARMS},
            },
        )
        for key in ("kind", "language")
    ),
    missed=tell_wrong,
)

if __name__ == "__main__":
    main("calculations")
