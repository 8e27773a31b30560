"""Verify: each claim is judged against its own quotes; one that fails is mended or dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from agent.calls import AskMany, Task, TaskKind
from agent.evidence import select_passages
from agent.evidence.citing import compose_answer
from agent.state import Claim, Draft, Event, Research, Verified, Warned
from agent.steps.ask_model import NO_REPLY, reply_event
from agent.steps.judges import Docket, JudgeClaims, judge_groups, no_judge_event, render_claims
from agent.steps.prompt_rules import CITE_RULE, DATA_RULE, escape, language_rule
from agent.steps.resolve_conflicts import find_added, resolve_conflicts
from agent.verification.claim_batch import ClaimBatch
from agent.verification.rules import FAILING


class MendClaims(Task[Draft]):
    """Asks to rewrite the claims that failed, so that the sources support them."""

    name: ClassVar[str] = "mend"
    kind: ClassVar[TaskKind] = "write"

    claims: tuple[Claim, ...]
    reasons: tuple[str, ...]

    def system_prompt(self) -> str:
        return (
            "You correct sentences of an answer that failed a check. Write each anew as its "
            "sources have it, or leave it out where they have nothing on it; "
            f"write nothing else. {CITE_RULE} {DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        reasons = (f"\n{n}. {escape(reason)}" for n, reason in enumerate(self.reasons, 1))
        return f"{render_claims(self, self.claims)}\nWhy:{''.join(reasons)}"


# --- the step ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verify:
    """Judges the claims of the answer and the values of its slots; mends, drops or flags the rest.

    A model judges all of them, a few in each call. It may be offered the sentences closest to a
    claim, and the claim cites one that it names. Claims that fail are rewritten once, if anything
    else holds, and judged again. Without a judge a sentence of a page is quoted, and all else
    unchecked.
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
        batch = ClaimBatch(answer, research)
        if not batch.claims and not batch.values:
            return
        batch.find_better_quotes()
        drop = self.on_unsupported == "drop"
        if self.mode == "model":
            batch.add(find_added(batch.to_verified(drop=False), research))
            yield from self._judge_open_claims(batch, research)
            yield from self._mend_failed_claims(batch, research)
            if batch.add(find_added(batch.to_verified(drop=drop), research)):
                yield from self._judge_open_claims(batch, research)
        verified = batch.to_verified(drop=drop)
        yield from (Warned(message=message) for message in _failure_warnings(verified, batch))
        yield resolve_conflicts(verified, research, batch.judge_added)

    def _judge_open_claims(self, batch: ClaimBatch, research: Research) -> Iterator[Event]:
        """Ask for the verdicts of the open claims, so many in each call."""
        claims = batch.open_claims()
        groups = [claims[i : i + self.batch] for i in range(0, len(claims), self.batch)]
        docket = Docket[Claim](
            lambda group: self._make_task(group, batch, research), batch.record_judgement
        )
        yield from judge_groups(self.ask, groups, docket, research)

    def _make_task(
        self, claims: Sequence[Claim], batch: ClaimBatch, research: Research
    ) -> JudgeClaims:
        return JudgeClaims(
            topic=research.topic,
            claims=tuple(map(batch.put, claims)),
            evidence=batch.evidence(claims),
            language=self.language,
        )

    def _mend_failed_claims(self, batch: ClaimBatch, research: Research) -> Iterator[Event]:
        """Have the claims that failed rewritten, and judge what is written like any claim."""
        failed = batch.failed_claims()
        if not failed or not batch.has_support():
            return
        ranking_query = " ".join((research.topic, *(claim.text for claim in failed)))
        task = MendClaims(
            topic=research.topic,
            claims=failed,
            reasons=tuple(batch.explain(claim) for claim in failed),
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
        batch.replace_failed(failed, corrected)
        yield from self._judge_open_claims(batch, research)


def _failure_warnings(verified: Verified, batch: ClaimBatch) -> Iterator[str]:
    for claim in verified.dropped:
        yield f"Left out: nothing that was read supports it ({batch.explain(claim)}): {claim.text}"
    for claim in verified.claims:
        if claim.verdict in FAILING:
            yield f"Nothing read supports this ({batch.explain(claim)}): {claim.text}"
