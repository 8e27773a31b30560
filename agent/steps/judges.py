"""Judges: models that say whether claims are supported by the sources that they cite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field

from agent.calls import AskMany, Reply, Task, TaskKind
from agent.errors import AgentError, Halt, ModelFailed
from agent.evidence import render_sources
from agent.state import Calculation, Claim, Event, Failed, Frozen, Halted, Research, Warned
from agent.steps.ask_model import failure_event, reply_event
from agent.steps.prompt_rules import DATA_RULE, escape, render_topic
from agent.verification.judged_claims import shown_text
from agent.verification.rules import Assessment

ItemT = TypeVar("ItemT")
SIDE_BY_SIDE = 8  # calls of the judge at a time

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
        description="arithmetic over numbers as the quotes have them, where a number "
        "or a count of the claim follows from them; else null",
    )

    def to_assessment(self, model: str) -> Assessment:
        """The verdict of a model, with its arithmetic."""
        calculation = Calculation(expression=self.calculation) if self.calculation else None
        return Assessment(self.verdict, model, calculation)


class Judgements(Frozen):
    """A verdict for each claim that was shown."""

    verdicts: list[Judgement]


#: For a judge: how it shows that a number follows from others. The program computes it itself.
CALCULATION_RULE = (
    "Where a number or a count of the claim is not in a source and follows from "
    "numbers there, give the arithmetic as calculation, with the numbers as they stand there: "
    "+ - * /, parentheses, and min(a, b), max(a, b), sum(a, b), count(a > b, c > b), "
    "days(day, later), years(day, later), where a day is YYYY-MM-DD."
)


class JudgeClaims(Task[Judgements]):
    """Asks whether each claim is supported by the sources that it cites."""

    name: ClassVar[str] = "verify"
    kind: ClassVar[TaskKind] = "judge"

    claims: tuple[Claim, ...]

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
        return render_claims(self, self.claims)


def render_claims(task: Task[Any], claims: Sequence[Claim]) -> str:
    """The sources and the topic of a task, then claims."""
    elements = (
        f'<claim id="{n}" cites="{",".join(map(str, claim.citations))}">'
        f"{escape(shown_text(claim))}</claim>"
        for n, claim in enumerate(claims, 1)
    )
    return "\n".join((render_sources(task.evidence), render_topic(task), *elements))


# --- asking ------------------------------------------------------------------------------------


class Docket(NamedTuple, Generic[ItemT]):
    """What is to be judged: how it is put to a judge, and who gets the verdict."""

    put: Callable[[Sequence[ItemT]], Task[Judgements]]
    record: Callable[[ItemT, Assessment, int | None], None]  # the source that decides, if any


def judge_groups(
    ask: AskMany, groups: Sequence[Sequence[ItemT]], docket: Docket[ItemT], research: Research
) -> Iterator[Event]:
    """Have all judged, a call for each group, some side by side.

    None is asked after a halt, or after several that all failed.
    """
    for i in range(0, len(groups), SIDE_BY_SIDE):
        some = groups[i : i + SIDE_BY_SIDE]
        tasks = list(map(docket.put, some))
        outcomes = list(ask.collect(tasks))
        failures: dict[str, Event] = {}
        for task, group, outcome in zip(tasks, some, outcomes, strict=True):
            if isinstance(outcome, AgentError):
                failures.setdefault(str(outcome), no_judge_event(task, outcome, research))
                continue
            yield reply_event(task, outcome)
            _record_reply(outcome, group, docket)
        yield from failures.values()
        have_failed = all(isinstance(outcome, AgentError) for outcome in outcomes)
        if have_failed or any(isinstance(outcome, Halt) for outcome in outcomes):
            break


def _record_reply(reply: Reply[Judgements], items: Sequence[ItemT], docket: Docket[ItemT]) -> None:
    """Hand on the first verdict on each of the things that were put."""
    first = {judgement.claim: judgement for judgement in reversed(reply.answer.verdicts)}
    for n, judgement in sorted(first.items()):
        if 0 < n <= len(items):
            docket.record(items[n - 1], judgement.to_assessment(reply.model), judgement.source)


def no_judge_event(
    task: Task[Any], error: AgentError, research: Research
) -> Failed | Halted | Warned:
    """The event of a check without a model. A used-up budget is no `Halted`: gathering is over.

    Where gathering was halted, the reason is reported already, and a replay knows no other one.
    """
    if isinstance(error, ModelFailed):
        return failure_event(task, error)
    reason = "" if research.is_halted else f": {error.message}"
    return Warned(message=f"Sentences were checked by rules only, without a model{reason}")


# --- what a journal holds ----------------------------------------------------------------------
