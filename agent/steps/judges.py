"""Judges: models that say whether claims are supported; and what each of them is worth.

Before a verdict counts on a claim that may be false in a way that judges are known to miss, the
judge is tried with planted faults, once for each model (`agent/checking/trial.py`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field

from agent.checking.bench import shown_text
from agent.checking.rules import Assessment, QuotePlace, find_unseen
from agent.checking.trial import TRIED, Worth, trial_pages, weigh_verdicts
from agent.errors import AgentError, Halt, ModelFailed
from agent.evidence import render_sources
from agent.outside import AskMany, Excerpt, Reply, Task, TaskKind
from agent.state import Calculation, Claim, Event, Failed, Frozen, Halted, Research, Verdict, Warned
from agent.steps.asking import failure_event, reply_event
from agent.steps.prompt_rules import DATA_RULE, escape, render_topic

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
        return "\n".join((render_claims(self, self.claims), *([HINTS, *hints] if hints else ())))


class TryJudge(JudgeClaims):
    """Asks for verdicts on planted claims, to know what a judge misses."""

    name: ClassVar[str] = "try_judge"
    is_remembered: ClassVar[bool] = True

    def prompt(self) -> str:
        return JudgeClaims.prompt(self.model_copy(update={"today": ""}))  # the same on every day


def make_trial(batch: int) -> list[TryJudge]:
    """The tasks of a trial, with as many claims in each as the judge is given at a time."""
    return [
        TryJudge(
            topic=page.title,
            claims=tuple(
                Claim(text=one.text, citations=(1,)) for one in page.planted[i : i + batch]
            ),
            evidence=(Excerpt(source=1, title=page.title, url="", passages=(page.text,)),),
        )
        for page in trial_pages()
        for i in range(0, len(page.planted), batch)
    ]


def render_claims(task: Task[Any], claims: Sequence[Claim]) -> str:
    """The sources and the topic of a task, then claims."""
    elements = (
        f'<claim id="{n}" cites="{",".join(map(str, claim.citations))}">'
        f"{escape(shown_text(claim))}</claim>"
        for n, claim in enumerate(claims, 1)
    )
    return "\n".join((render_sources(task.evidence), render_topic(task), *elements))


#: A claim as `render_claims` writes it: its number and its text.
_CLAIM_ELEMENT = re.compile(r'^<claim id="(\d+)"[^>\n]*>(.*)</claim>$', re.M)


# --- asking ------------------------------------------------------------------------------------


class Told(NamedTuple, Generic[ItemT]):
    """What a judge said of one thing."""

    item: ItemT
    judgement: Judgement
    model: str


class Docket(NamedTuple, Generic[ItemT]):
    """What is to be judged: how it is put, where it stands, and who is told the verdict."""

    put: Callable[[Sequence[ItemT]], Task[Judgements]]
    place: Callable[[ItemT, int | None], tuple[str, Sequence[QuotePlace]]]  # by the source named
    record: Callable[[ItemT, Assessment, int | None], None]


class Panel:
    """The judges of a run. `batch`: claims in a call; `has_second`: another may be asked too."""

    def __init__(self, ask: AskMany, batch: int, *, has_second: bool = False) -> None:
        self._ask = ask
        self._batch = batch
        self._has_second = has_second
        self._worths: dict[str, Worth | None] = {}  # None: it could not be tried

    def judge(
        self, groups: Sequence[Sequence[ItemT]], docket: Docket[ItemT], research: Research
    ) -> Iterator[Event]:
        """Have all judged, a call for each group, some side by side; tell `docket` each verdict.

        A claim that may be false in a way that its judge does not see goes to the next judge.
        """
        told = yield from self._ask_all(groups, docket, research)
        unseen = yield from self._record(told, docket, research)
        if unseen and self._has_second:
            seen_by = tuple(dict.fromkeys(one.model for one in unseen))
            items = [one.item for one in unseen]
            again = [items[i : i + self._batch] for i in range(0, len(items), self._batch)]
            put = docket._replace(put=lambda group: _pass_over(docket.put(group), seen_by))
            told = yield from self._ask_all(again, put, research)
            yield from self._record(told, docket, research)

    def _ask_all(
        self, groups: Sequence[Sequence[ItemT]], docket: Docket[ItemT], research: Research
    ) -> Generator[Event, None, list[Told[ItemT]]]:
        """The first verdicts. None is asked after a halt, or after several that all failed."""
        told: list[Told[ItemT]] = []
        for i in range(0, len(groups), SIDE_BY_SIDE):
            some = groups[i : i + SIDE_BY_SIDE]
            tasks = list(map(docket.put, some))
            outcomes = list(self._ask.collect(tasks))
            failures: dict[str, Event] = {}
            for task, group, outcome in zip(tasks, some, outcomes, strict=True):
                if isinstance(outcome, AgentError):
                    failures.setdefault(str(outcome), no_judge_event(task, outcome, research))
                    continue
                yield reply_event(task, outcome)
                told += _read_reply(outcome, group)
            yield from failures.values()
            have_failed = all(isinstance(outcome, AgentError) for outcome in outcomes)
            if have_failed or any(isinstance(outcome, Halt) for outcome in outcomes):
                break
        return told

    def _record(
        self, told: Sequence[Told[ItemT]], docket: Docket[ItemT], research: Research
    ) -> Generator[Event, None, list[Told[ItemT]]]:
        """Tell each verdict with what its judge is worth; return those that count for nothing."""
        for one in told:
            if one.model not in self._worths and _find_unseen(one, docket, TRIED):
                yield from self._try(one.model)
        unseen = []
        for one in told:
            worth = self._worths.get(one.model)
            blind_to = worth.blind_to if worth else frozenset()
            assessment = one.judgement.to_assessment(one.model)._replace(blind_to=blind_to)
            docket.record(one.item, assessment, one.judgement.source)
            unseen += [one] if _find_unseen(one, docket, blind_to) else []
        return unseen

    def _try(self, model: str) -> Iterator[Event]:
        """Try a judge with planted faults; what cannot be tried is taken at its word."""
        others = tuple(self._worths)
        self._worths[model] = None
        tasks = [task.model_copy(update={"avoid": others}) for task in make_trial(self._batch)]
        outcomes = zip(tasks, list(self._ask.collect(tasks)), strict=True)
        replies = [(task, outcome) for task, outcome in outcomes if isinstance(outcome, Reply)]
        yield from (reply_event(task, reply) for task, reply in replies)
        self._worths |= weigh_replies(replies)


def _find_unseen(
    told: Told[ItemT], docket: Docket[ItemT], blind_to: frozenset[str]
) -> frozenset[str]:
    """The ways in which what a judge supports may be false all the same, of those it misses."""
    judged = told.judgement.to_assessment(told.model)._replace(blind_to=blind_to)
    if judged.verdict != "supported" or not blind_to:
        return frozenset()
    return find_unseen(judged, *docket.place(told.item, told.judgement.source))


def _pass_over(task: Task[Judgements], models: tuple[str, ...]) -> Task[Judgements]:
    return task.model_copy(update={"avoid": models})


def _read_reply(reply: Reply[Judgements], items: Sequence[ItemT]) -> list[Told[ItemT]]:
    """The first verdict on each of the things that were put."""
    return [
        Told(items[n - 1], judgement, reply.model)
        for n, judgement in sorted(_first_judgements(reply.answer).items())
        if 0 < n <= len(items)
    ]


def weigh_replies(replies: Iterable[tuple[TryJudge, Reply[Judgements]]]) -> dict[str, Worth]:
    """What each model is worth that replied to tasks of a trial."""
    told = (one for task, reply in replies for one in _read_reply(reply, task.claims))
    return _weigh_trials((one.model, one.item.text, one.judgement) for one in told)


def _weigh_trials(told: Iterable[tuple[str, str, Judgement]]) -> dict[str, Worth]:
    """What each model is worth, by what it said of planted claims."""
    verdicts: dict[str, dict[str, Verdict]] = {}
    for model, text, judgement in told:
        verdicts.setdefault(model, {})[text] = judgement.verdict
    return {model: weigh_verdicts(texts) for model, texts in verdicts.items()}


def _first_judgements(judgements: Judgements) -> dict[int, Judgement]:
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


# --- what a journal holds ----------------------------------------------------------------------


def recorded_assessments(calls: Sequence[dict[str, Any]]) -> dict[str, Assessment]:
    """What models said of claims, by the text that they were shown, from a journal's calls."""
    worths = _weigh_trials(_recorded_judgements(calls, TryJudge.name))
    blind_to = {model: worth.blind_to for model, worth in worths.items()}
    return {
        text: judgement.to_assessment(model)._replace(blind_to=blind_to.get(model, frozenset()))
        for model, text, judgement in _recorded_judgements(calls, JudgeClaims.name)
    }


def _recorded_judgements(
    calls: Iterable[dict[str, Any]], task: str
) -> Iterator[tuple[str, str, Judgement]]:
    """Each model, text and judgement of the calls of a task."""
    for call in calls:
        if call["request"].get("task") == task and "response" in call:
            claims = dict(_CLAIM_ELEMENT.findall(call["request"]["prompt"]))
            judgements = Judgements.model_validate(call["response"]["answer"])
            for n, judgement in _first_judgements(judgements).items():
                if text := claims.get(str(n)):
                    yield str(call["response"]["model"]), html.unescape(text), judgement
