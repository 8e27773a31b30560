"""Verify: every sentence is judged by its own quotes; what fails is mended or left out."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from agent.checking.bench import Bench
from agent.errors import AgentError, ModelFailed
from agent.evidence import closest, select, show
from agent.evidence.citing import Draft, compose
from agent.outside import Ask, Task
from agent.state import Claim, Event, Failed, Frozen, Halted, Research, Verdict, Verified, Warned
from agent.steps.asking import CITE_RULE, DATA_RULE, NO_REPLY, asked, failed, language_rule
from agent.steps.synthesize import nothing_found

# --- the task ----------------------------------------------------------------------------------


class Judgement(Frozen):
    """What a model says of one claim."""

    claim: int
    verdict: Literal["supported", "partial", "unsupported"]
    source: int | None = Field(default=None, description="id of the source that says it")

    @field_validator("verdict", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return value.strip().casefold() if isinstance(value, str) else value


class Judgements(Frozen):
    """A verdict for each claim that was shown."""

    verdicts: list[Judgement]


class JudgeClaims(Task[Judgements]):
    """Asks of all claims at once whether the sources that each cites say it."""

    claims: tuple[Claim, ...]

    @property
    def name(self) -> str:
        return "verify"

    @property
    def answer(self) -> type[Judgements]:
        return Judgements

    def system(self) -> str:
        return (
            "You check claims against the sources that they cite. supported: the cited sources say "
            "all of it. partial: they say a part, or say it less surely. unsupported: they do not "
            "say it, or say otherwise. Give one verdict for each claim id. What you know from "
            f"elsewhere does not count. {DATA_RULE}"
        )

    def prompt(self) -> str:
        return f"{show(self.evidence)}\n{_posed(self.claims)}"


class MendClaims(Task[Draft]):
    """Asks for the claims that failed to be said anew, as far as the sources say it."""

    claims: tuple[Claim, ...]
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        return "mend"

    @property
    def answer(self) -> type[Draft]:
        return Draft

    def system(self) -> str:
        return (
            "Sentences of an answer failed a check against their sources. Write each of them anew, "
            "corrected to what the sources say, or leave it out where they say nothing of it; "
            f"write nothing else. {CITE_RULE} {DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        why = "\n".join(
            f"{n}. {html.escape(r, quote=False)}" for n, r in enumerate(self.reasons, 1)
        )
        return f"{show(self.evidence)}\n<topic>{topic}</topic>\n{_posed(self.claims)}\nWhy:\n{why}"


def _posed(claims: Sequence[Claim]) -> str:
    return "\n".join(
        f'<claim id="{n}" cites="{",".join(map(str, claim.citations))}">'
        f"{html.escape(claim.text, quote=False)}</claim>"
        for n, claim in enumerate(claims, 1)
    )


# --- the step ----------------------------------------------------------------------------------


class Verify:
    """Judges the claims of the answer, mends what fails, and drops or flags what still does.

    The rules judge first. A model is asked once, of all claims that they leave open (`verify`
    "unsure"), of all that are not word for word there ("all"), or not at all ("rules"). What fails
    is first given better evidence from what was read, then one turn of a model to say it anew.
    """

    def __init__(
        self,
        ask: Ask,
        budget: int,
        language: str = "",
        *,
        by: Literal["unsure", "all", "rules"] = "unsure",
        on_unsupported: Literal["drop", "flag"] = "drop",
    ) -> None:
        self._ask = ask
        self._budget = budget
        self._language = language
        self._by = by
        self._drop = on_unsupported == "drop"

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from _taken_for_granted(research)
        answer = research.answer
        if answer is None or not answer.claims:
            return
        bench = Bench(answer, research.sources)
        bench.better()
        yield from self._judged(bench, research)
        yield from self._mended(bench, research)
        verified = bench.verified(drop=self._drop)
        yield from (Warned(message=line) for line in _warnings(verified, bench))
        yield verified if verified.claims else _nothing(verified, research)

    def _judged(self, bench: Bench, research: Research) -> Iterator[Event]:
        claims = tuple(claim for claim in bench.claims if self._is_open(claim, bench))
        if not claims or self._by == "rules":
            return
        task = JudgeClaims(
            topic=research.topic,
            claims=claims,
            evidence=bench.evidence(claims),
            language=self._language,
        )
        try:
            reply = self._ask(task)
        except NO_REPLY as error:
            yield _unasked(task, error)
            return
        yield asked(task, reply)
        for row in reply.answer.verdicts:
            if 0 < row.claim <= len(claims):
                bench.judge(claims[row.claim - 1], row.verdict)

    def _is_open(self, claim: Claim, bench: Bench) -> bool:
        rules = bench.checked(claim)
        if rules.score == 1 or (rules.barred and rules.verdict == "unsupported"):
            return False  # nothing that a model says could change it
        return self._by == "all" or not (rules.barred or rules.verdict == "supported")

    def _mended(self, bench: Bench, research: Research) -> Iterator[Event]:
        failing = tuple(c for c in bench.claims if bench.verdict(c) == "unsupported")
        if not failing or self._by == "rules":
            return
        told = " ".join(claim.text for claim in failing)
        task = MendClaims(
            topic=research.topic,
            claims=failing,
            reasons=tuple(bench.checked(claim).reason for claim in failing),
            evidence=select(research.sources, f"{research.topic} {told}", self._budget),
            language=self._language,
        )
        try:
            reply = self._ask(task)
        except NO_REPLY as error:
            yield _unasked(task, error)
            return
        yield asked(task, reply)
        corrected, _ = compose(reply.answer, research.sources)
        bench.mend(failing, corrected)


def _taken_for_granted(research: Research) -> Iterator[Warned]:
    """Names a premise of the question that a source denies, and none affirms."""
    from agent.checking.premise import denied, premise, repeated

    taken = premise(research.topic)
    near = closest(taken, research.sources, most=5) if taken else []
    against = [quote for quote in near if denied(taken, quote.text)]
    if against and not any(repeated(taken, q.text) for q in near if q not in against):
        told = f'The question takes for granted "{taken}"; [{against[0].source}] says otherwise: '
        yield Warned(message=f'{told}"{against[0].text}"')


def _unasked(task: Task[Any], error: AgentError) -> Failed | Halted | Warned:
    """That the rules alone judge; what was gathered is no less whole for it."""
    if isinstance(error, ModelFailed):
        return failed(task, error, stand_in="the rules")
    return Warned(message=f"Claims were judged by rules alone, without a model: {error.message}")


def _nothing(verified: Verified, research: Research) -> Verified:
    """Abstention: of what was written nothing holds."""
    said = nothing_found(research)
    return Verified(text=said.text, quotes=(), claims=(), dropped=verified.dropped)


def _warnings(verified: Verified, bench: Bench) -> Iterator[str]:
    for claim in verified.dropped:
        yield f"Left out, nothing read supports it ({bench.checked(claim).reason}): {claim.text}"
    for claim in verified.claims:
        if claim.verdict == "unsupported":
            yield f"Nothing read supports this ({bench.checked(claim).reason}): {claim.text}"


def judgements(calls: Iterable[dict[str, Any]]) -> dict[str, Verdict]:
    """What models said of claims, by the claim's text, as the calls of a journal hold it."""
    said: dict[str, Verdict] = {}
    for call in calls:
        if call["request"].get("task") == "verify" and "response" in call:
            shown = dict(_POSED.findall(call["request"]["prompt"]))
            for row in Judgements.model_validate(call["response"]["answer"]).verdicts:
                if text := shown.get(str(row.claim)):
                    said[html.unescape(text)] = row.verdict
    return said


_POSED = re.compile(r'^<claim id="(\d+)"[^>]*>(.*)</claim>$', re.M)
