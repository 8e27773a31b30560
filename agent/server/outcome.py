"""How a run ended, in words for the line under its question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.answer.check import FAILING, build_check_result
from agent.answer.check_view import summarize
from agent.answer.messages import QUOTED, STATUSES, all_claims, describe_verdicts, is_quoted
from agent.state import HOLDING, Frozen

if TYPE_CHECKING:
    from agent.answer import Answer

Tone = Literal["ok", "quoted", "warn", "bad", "quiet"]
STAND_IN = "extractive"  # the backend that quotes sentences where no model answers


class Outcome(Frozen):
    """Words, how good that is, and how many sentences are confirmed. Nothing open is `ok`."""

    text: str
    tone: Tone
    confirmed: str = ""
    quoted: bool = False  # the answer is made of quoted sentences: no model wrote it


def describe_outcome(answer: Answer, *, cancelled: bool) -> Outcome:
    """The outcome of an answer, or of a check that the run made."""
    text, tone = ("Stopped by you", "quiet") if cancelled else _judge(answer)
    quoted = bool(answer.run and answer.run.models == (STAND_IN,) and not answer.check)
    return Outcome(text=text, tone=tone, confirmed=describe_verdicts(answer), quoted=quoted)


def _judge(answer: Answer) -> tuple[str, Tone]:
    if answer.error:
        return STATUSES["error"], "bad"
    if answer.check:
        return _judge_check(answer)
    if answer.status == "insufficient":
        return STATUSES["insufficient"] if answer.sources.read else "Nothing was read", "warn"
    if any(slot.status == "conflict" for slot in answer.slots.values()):
        return "Sources disagree", "warn"
    if answer.degraded and answer.run and STAND_IN in answer.run.models:
        return "The model did not answer: these are quoted sentences", "warn"
    if answer.status == "partial" or answer.degraded:
        return STATUSES["partial"], "warn"
    if any(claim.verdict not in HOLDING for claim in all_claims(answer)):
        return "Answered, not all of it judged", "quiet"
    return (QUOTED, "quoted") if is_quoted(answer) else (STATUSES["complete"], "ok")


def _judge_check(answer: Answer) -> tuple[str, Tone]:
    result = build_check_result(answer)
    if any(claim.verdict in FAILING for claim in result.claims):
        return summarize(result), "bad"
    is_whole = result.shares.judged and result.shares.holding == result.shares.claims
    if is_whole and not result.counts.get("supported"):
        return summarize(result), "quoted"
    return summarize(result), "ok" if is_whole else "warn"
