"""Verify: each claim is checked against its own quotes; one that fails is mended or dropped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from agent.checking.bench import Bench
from agent.errors import AgentError, ModelFailed
from agent.evidence import closest_sentences, render_sources, select_passages
from agent.evidence.citing import Draft, compose_answer
from agent.outside import Ask, Task
from agent.state import Claim, Event, Failed, Frozen, Halted, Research, Verdict, Verified, Warned
from agent.steps.asking import NO_REPLY, failure_event, reply_event
from agent.steps.prompt_rules import CITE_RULE, DATA_RULE, escape, language_rule, render_topic
from agent.steps.synthesize import build_abstention

# --- the tasks ---------------------------------------------------------------------------------


class Judgement(Frozen):
    """What a model says of one claim."""

    claim: int
    verdict: Literal["supported", "partial", "unsupported"]
    source: int | None = Field(default=None, description="id of the source that says it")

    @field_validator("verdict", mode="before")
    @classmethod
    def _normalize_case(cls, value: Any) -> Any:
        return value.strip().casefold() if isinstance(value, str) else value


class Judgements(Frozen):
    """A verdict for each claim that was shown."""

    verdicts: list[Judgement]


class JudgeClaims(Task[Judgements]):
    """Asks, in one call, whether each claim is supported by the sources that it cites."""

    name: ClassVar[str] = "verify"

    claims: tuple[Claim, ...]

    def system_prompt(self) -> str:
        return (
            "You check claims against the sources that they cite. supported: the cited sources say "
            "all of it. partial: they say a part, or say it less surely. unsupported: they do not "
            "say it, or say otherwise. Give one verdict for each claim id. What you know from "
            f"elsewhere does not count. {DATA_RULE}"
        )

    def prompt(self) -> str:
        return f"{render_sources(self.evidence)}\n{_render_claims(self.claims)}"


class MendClaims(Task[Draft]):
    """Asks to rewrite the claims that failed, so that the sources support them."""

    name: ClassVar[str] = "mend"

    claims: tuple[Claim, ...]
    reasons: tuple[str, ...]

    def system_prompt(self) -> str:
        return (
            "Sentences of an answer failed a check against their sources. Write each of them anew, "
            "corrected to what the sources say, or leave it out where they say nothing of it; "
            f"write nothing else. {CITE_RULE} {DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        lines = [
            render_sources(self.evidence),
            render_topic(self.topic),
            _render_claims(self.claims),
            "Why:",
            *(f"{n}. {escape(reason)}" for n, reason in enumerate(self.reasons, 1)),
        ]
        return "\n".join(lines)


def _render_claims(claims: Sequence[Claim]) -> str:
    return "\n".join(
        f'<claim id="{n}" cites="{",".join(map(str, claim.citations))}">'
        f"{escape(claim.text)}</claim>"
        for n, claim in enumerate(claims, 1)
    )


#: A claim as `_render_claims` writes it: its number and its text.
_CLAIM_ELEMENT = re.compile(r'^<claim id="(\d+)"[^>\n]*>(.*)</claim>$', re.M)


# --- the step ----------------------------------------------------------------------------------


class Verify:
    """Judges the claims of the answer, mends those that fail, and drops or flags the rest.

    The rules judge first. Then a model is asked once. By `mode` it judges the claims that the rules
    leave open ("unsure"), all that are not word for word on a page ("all"), or none ("rules"). For
    a claim that fails, better quotes are searched for in the sources. If it still fails, a model is
    asked once to rewrite it.
    """

    def __init__(
        self,
        ask: Ask,
        budget: int,
        language: str = "",
        *,
        mode: Literal["unsure", "all", "rules"] = "unsure",
        on_unsupported: Literal["drop", "flag"] = "drop",
    ) -> None:
        """`budget`: tokens of evidence for the rewriting."""
        self._ask = ask
        self._budget = budget
        self._language = language
        self._mode = mode
        self._drops_unsupported = on_unsupported == "drop"

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from _warn_of_denied_premise(research)
        answer = research.answer
        if answer is None or not answer.claims:
            return
        bench = Bench(answer, research.sources)
        bench.find_better_quotes()
        yield from self._judge_open_claims(bench, research)
        yield from self._mend_failed_claims(bench, research)
        verified = bench.to_verified(drop=self._drops_unsupported)
        yield from (Warned(message=message) for message in _unsupported_warnings(verified, bench))
        yield verified if verified.claims else _abstain(verified, research)

    def _judge_open_claims(self, bench: Bench, research: Research) -> Iterator[Event]:
        claims = tuple(claim for claim in bench.claims if self._is_open(claim, bench))
        if not claims or self._mode == "rules":
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
            yield _no_judge_event(task, error)
            return
        yield reply_event(task, reply)
        for judgement in reply.answer.verdicts:
            if 0 < judgement.claim <= len(claims):
                bench.record_judgement(claims[judgement.claim - 1], judgement.verdict)

    def _is_open(self, claim: Claim, bench: Bench) -> bool:
        """Whether a model's judgement could change the verdict, and `mode` asks for it."""
        checked = bench.check(claim)
        if checked.score == 1 or (checked.barred and checked.verdict == "unsupported"):
            return False
        return self._mode == "all" or not (checked.barred or checked.verdict == "supported")

    def _mend_failed_claims(self, bench: Bench, research: Research) -> Iterator[Event]:
        failed = tuple(claim for claim in bench.claims if bench.verdict(claim) == "unsupported")
        if not failed or self._mode == "rules":
            return
        ranking_query = " ".join((research.topic, *(claim.text for claim in failed)))
        task = MendClaims(
            topic=research.topic,
            claims=failed,
            reasons=tuple(bench.check(claim).reason for claim in failed),
            evidence=select_passages(research.sources, ranking_query, self._budget),
            language=self._language,
        )
        try:
            reply = self._ask(task)
        except NO_REPLY as error:
            yield _no_judge_event(task, error)
            return
        yield reply_event(task, reply)
        corrected, _ = compose_answer(reply.answer, research.sources)
        bench.mend(failed, corrected)


def _warn_of_denied_premise(research: Research) -> Iterator[Warned]:
    """Warn of a premise of the topic that a source denies and none repeats."""
    from agent.checking.premise import denies_premise, find_premise, repeats_premise

    premise = find_premise(research.topic)
    quotes = closest_sentences(premise, research.sources, most=5) if premise else []
    denials = [quote for quote in quotes if denies_premise(premise, quote.text)]
    others = [quote for quote in quotes if quote not in denials]
    if denials and not any(repeats_premise(premise, quote.text) for quote in others):
        denial = denials[0]
        yield Warned(
            message=f'The question takes for granted "{premise}"; [{denial.source}] says '
            f'otherwise: "{denial.text}"'
        )


def _no_judge_event(task: Task[Any], error: AgentError) -> Failed | Halted | Warned:
    """The event of a check without a model. A used-up budget is no `Halted`: gathering is over."""
    if isinstance(error, ModelFailed):
        return failure_event(task, error, stand_in="the rules")
    return Warned(message=f"Claims were judged by rules alone, without a model: {error.message}")


def _abstain(verified: Verified, research: Research) -> Verified:
    """The answer of a run none of whose claims is supported."""
    text = build_abstention(research).text
    return Verified(text=text, quotes=(), claims=(), dropped=verified.dropped)


def _unsupported_warnings(verified: Verified, bench: Bench) -> Iterator[str]:
    for claim in verified.dropped:
        yield f"Left out, nothing read supports it ({bench.check(claim).reason}): {claim.text}"
    for claim in verified.claims:
        if claim.verdict == "unsupported":
            yield f"Nothing read supports this ({bench.check(claim).reason}): {claim.text}"


def recorded_verdicts(calls: Iterable[dict[str, Any]]) -> dict[str, Verdict]:
    """The verdicts that models gave, by the claim's text, from the calls of a journal."""
    verdicts: dict[str, Verdict] = {}
    for call in calls:
        if call["request"].get("task") == "verify" and "response" in call:
            claims = dict(_CLAIM_ELEMENT.findall(call["request"]["prompt"]))
            for judgement in Judgements.model_validate(call["response"]["answer"]).verdicts:
                if text := claims.get(str(judgement.claim)):
                    verdicts[html.unescape(text)] = judgement.verdict
    return verdicts
