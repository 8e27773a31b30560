"""Verify: each claim is judged against its own quotes; one that fails is mended or dropped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field

from agent.checking.bench import Bench, shown_text
from agent.checking.rules import FAILING, Assessment
from agent.errors import AgentError, Halt, ModelFailed
from agent.evidence import render_sources, select_passages
from agent.evidence.citing import compose_answer
from agent.outside import AskMany, Reply, Task, TaskKind
from agent.state import (
    Calculation,
    Claim,
    Draft,
    Event,
    Failed,
    Frozen,
    Halted,
    Research,
    Verified,
    Warned,
)
from agent.steps.asking import NO_REPLY, failure_event, reply_event
from agent.steps.prompt_rules import CITE_RULE, DATA_RULE, escape, language_rule, render_topic
from agent.steps.settle import settle

ItemT = TypeVar("ItemT")
SIDE_BY_SIDE = 8  # calls of the judge at a time

HINTS = (
    "Hints about some claims, by their words alone; they may mislead. A source that has the words "
    "only to deny, doubt, suppose or ask them, as fiction, as out of date, or as what somebody "
    "else says, does not support them:"
)

# --- the tasks ---------------------------------------------------------------------------------


class Judgement(Frozen):
    """What the sources say of one claim."""

    claim: int
    verdict: Literal["supported", "partial", "unsupported", "contradicted"]
    source: int | None = Field(
        default=None, description="id of the source that decides; null if none does"
    )
    calculation: str | None = Field(
        default=None,
        description="arithmetic over numbers as the quotes have them, where a number of the claim, "
        "a count or a superlative follows from them: `100 * 3 / (3 + 1)`; else null",
    )

    def to_assessment(self, model: str) -> Assessment:
        """The verdict of a model, with its arithmetic."""
        told = Calculation(expression=self.calculation) if self.calculation else None
        return Assessment(self.verdict, model, told)


class Judgements(Frozen):
    """A verdict for each claim that was shown."""

    verdicts: list[Judgement]


#: For a judge: how it shows that a number follows from others. The program computes it itself.
CALCULATION_RULE = (
    "Where a number of the claim, a count or a superlative is not in a source and follows from "
    "numbers there, give the arithmetic as calculation, with the numbers as they stand there: "
    "+ - * /, parentheses, min, max, sum, count, days, years: `100 * 3 / (3 + 1)`, "
    "`max(120, 95, 80)`, `count(120 > 90, 95 > 90, 80 > 90)`, `years(1990-05-01, 2020-03-02)`."
)


class JudgeClaims(Task[Judgements]):
    """Asks whether each claim is supported by the sources that it cites."""

    name: ClassVar[str] = "verify"
    kind: ClassVar[TaskKind] = "judge"

    claims: tuple[Claim, ...]
    hints: tuple[str, ...] = ()  # what words alone tell of each claim; "" for nothing

    def system_prompt(self) -> str:
        return (
            "You check claims about a topic against the sources that they cite. Give for each "
            "claim id one verdict. supported: a source says all of it, of the same thing, in any "
            "words or language. partial: it says a part, or says it less surely. contradicted: it "
            "says otherwise, for example that another one did it or with the sides exchanged. "
            "unsupported: it says nothing of it. A claim that tells nothing of the topic, such as "
            "that the sources do not say, is unsupported. A name or a number alone is judged as "
            "the answer to the topic, `name: value` as a fact about it. Give the id of the source "
            f"that decides. {CALCULATION_RULE} What you know from elsewhere does not count. "
            f"{DATA_RULE}"
        )

    def prompt(self) -> str:
        hints = [f"{n}. {escape(hint)}" for n, hint in enumerate(self.hints, 1) if hint]
        return "\n".join((_render_claims(self, self.claims), *([HINTS, *hints] if hints else ())))


class MendClaims(Task[Draft]):
    """Asks to rewrite the claims that failed, so that the sources support them."""

    name: ClassVar[str] = "mend"
    kind: ClassVar[TaskKind] = "write"

    claims: tuple[Claim, ...]
    reasons: tuple[str, ...]

    def system_prompt(self) -> str:
        return (
            "Sentences of an answer failed a check against their sources. Write each of them anew, "
            "corrected to what the sources say, or leave it out where they say nothing of it; "
            f"write nothing else. {CITE_RULE} {DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        reasons = (f"\n{n}. {escape(reason)}" for n, reason in enumerate(self.reasons, 1))
        return f"{_render_claims(self, self.claims)}\nWhy:{''.join(reasons)}"


def _render_claims(task: Task[Any], claims: Sequence[Claim]) -> str:
    """The sources and the topic of a task, then claims."""
    elements = (
        f'<claim id="{n}" cites="{",".join(map(str, claim.citations))}">'
        f"{escape(shown_text(claim))}</claim>"
        for n, claim in enumerate(claims, 1)
    )
    return "\n".join((render_sources(task.evidence), render_topic(task), *elements))


#: A claim as `_render_claims` writes it: its number and its text.
_CLAIM_ELEMENT = re.compile(r'^<claim id="(\d+)"[^>\n]*>(.*)</claim>$', re.M)


# --- the step ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verify:
    """Judges the claims of the answer and the values of its slots; mends, drops or flags the rest.

    What rules prove needs no judge. A model judges all else, a few claims in each call. It may be
    offered the sentences closest to a claim, and the claim cites one that it names. Claims that
    fail are rewritten once, if anything else stands, and judged again. Without a judge what is
    open stays unchecked.
    """

    ask: AskMany
    budget: int  # tokens of evidence for the rewriting
    language: str = ""
    mode: Literal["model", "rules"] = "model"
    batch: int = 8  # claims that a call judges
    on_unsupported: Literal["drop", "flag"] = "drop"

    def __call__(self, research: Research) -> Iterator[Event]:
        answer = research.answer
        if answer is None:
            return
        bench = Bench(answer, research)
        if not bench.claims and not bench.values:
            return
        bench.find_better_quotes()
        if self.mode == "model":
            yield from self._judge_open_claims(bench, research)
            yield from self._mend_failed_claims(bench, research)
        verified = bench.to_verified(drop=self.on_unsupported == "drop")
        yield from (Warned(message=message) for message in _failure_warnings(verified, bench))
        yield settle(verified, research)

    def _judge_open_claims(self, bench: Bench, research: Research) -> Iterator[Event]:
        """Ask for the verdicts of the open claims, so many in each call."""
        claims = bench.open_claims()
        groups = [claims[i : i + self.batch] for i in range(0, len(claims), self.batch)]
        yield from judge_side_by_side(
            self.ask,
            groups,
            lambda group: self._make_task(group, bench, research),
            lambda reply, group: _record_judgements(reply, group, bench),
            research,
        )

    def _make_task(self, claims: Sequence[Claim], bench: Bench, research: Research) -> JudgeClaims:
        return JudgeClaims(
            topic=research.topic,
            claims=tuple(map(bench.put, claims)),
            evidence=bench.evidence(claims),
            language=self.language,
            hints=tuple(map(bench.hint, claims)),
        )

    def _mend_failed_claims(self, bench: Bench, research: Research) -> Iterator[Event]:
        """Have the claims that failed rewritten, and judge what is written like any claim."""
        failed = bench.failed_claims()
        if not failed or not bench.holds_anything():
            return
        ranking_query = " ".join((research.topic, *(claim.text for claim in failed)))
        task = MendClaims(
            topic=research.topic,
            claims=failed,
            reasons=tuple(bench.explain(claim) for claim in failed),
            evidence=select_passages(research.sources, ranking_query, self.budget),
            language=self.language,
        )
        try:
            reply = self.ask(task)
        except NO_REPLY as error:
            yield no_judge_event(task, error, research)
            return
        yield reply_event(task, reply)
        corrected, _ = compose_answer(reply.answer, research.sources)
        bench.replace_failed(failed, corrected)
        yield from self._judge_open_claims(bench, research)


def judge_side_by_side(
    ask: AskMany,
    groups: Sequence[Sequence[ItemT]],
    make_task: Callable[[Sequence[ItemT]], Task[Judgements]],
    record: Callable[[Reply[Judgements], Sequence[ItemT]], None],
    research: Research,
) -> Iterator[Event]:
    """Ask for verdicts, a call for each group, some side by side; `record` is given each reply.

    None is asked after a halt, or after several calls that all failed.
    """
    for i in range(0, len(groups), SIDE_BY_SIDE):
        some = groups[i : i + SIDE_BY_SIDE]
        tasks = list(map(make_task, some))
        outcomes = list(ask.collect(tasks))
        failures: dict[str, Event] = {}
        for task, group, outcome in zip(tasks, some, outcomes, strict=True):
            if isinstance(outcome, AgentError):
                failures.setdefault(str(outcome), no_judge_event(task, outcome, research))
                continue
            yield reply_event(task, outcome)
            record(outcome, group)
        yield from failures.values()
        have_failed = all(isinstance(outcome, AgentError) for outcome in outcomes)
        if have_failed or any(isinstance(outcome, Halt) for outcome in outcomes):
            return


def _record_judgements(reply: Reply[Judgements], claims: Sequence[Claim], bench: Bench) -> None:
    """Remember the first verdict on each claim."""
    for n, judgement in sorted(first_judgements(reply.answer).items()):
        if 0 < n <= len(claims):
            assessment = judgement.to_assessment(reply.model)
            bench.record_judgement(claims[n - 1], assessment, judgement.source)


def first_judgements(judgements: Judgements) -> dict[int, Judgement]:
    """The first verdict on each claim, by the claim's number."""
    return {judgement.claim: judgement for judgement in reversed(judgements.verdicts)}


def no_judge_event(
    task: Task[Any], error: AgentError, research: Research
) -> Failed | Halted | Warned:
    """The event of a check without a model. A used-up budget is no `Halted`: gathering is over.

    Where gathering was halted, the reason is told already, and a replay knows no other one.
    """
    if isinstance(error, ModelFailed):
        return failure_event(task, error, stand_in="the rules")
    reason = "" if research.is_halted else f": {error.message}"
    return Warned(message=f"Claims were judged by rules alone, without a model{reason}")


def _failure_warnings(verified: Verified, bench: Bench) -> Iterator[str]:
    for claim in verified.dropped:
        yield f"Left out, nothing read supports it ({bench.explain(claim)}): {claim.text}"
    for claim in verified.claims:
        if claim.verdict in FAILING:
            yield f"Nothing read supports this ({bench.explain(claim)}): {claim.text}"
        elif claim.verdict == "unchecked" and (hint := bench.hint(claim)):
            yield f"Not confirmed, {hint}: {claim.text}"


def recorded_assessments(calls: Iterable[dict[str, Any]]) -> dict[str, Assessment]:
    """What models said of claims, by the text that they were shown, from a journal's calls."""
    assessments: dict[str, Assessment] = {}
    for call in calls:
        if call["request"].get("task") == "verify" and "response" in call:
            claims = dict(_CLAIM_ELEMENT.findall(call["request"]["prompt"]))
            judgements = Judgements.model_validate(call["response"]["answer"])
            for n, judgement in first_judgements(judgements).items():
                if text := claims.get(str(n)):
                    assessment = judgement.to_assessment(str(call["response"]["model"]))
                    assessments[html.unescape(text)] = assessment
    return assessments
