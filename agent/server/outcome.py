"""How a run ended, in words for the line under its question."""

from __future__ import annotations

from typing import Literal

from agent.answer.check_result import FAILING, build_check_result
from agent.answer.check_view import summarize
from agent.answer.messages import describe_open, describe_verdicts, is_quoted, state_of
from agent.answer.schema import Answer
from agent.answer.states import StateName
from agent.state import Frozen

Tone = Literal["ok", "quoted", "warn", "bad", "quiet"]
TONES: dict[StateName, Tone] = {"Answered": "ok", "Stopped": "quiet", "Could not run": "bad"}


class Outcome(Frozen):
    """Words, how good that is, what is open, and how many sentences are confirmed.

    `quoted`: the answer is made of quoted sentences.
    """

    text: str
    tone: Tone
    open: str = ""
    confirmed: str = ""
    quoted: bool = False


def describe_outcome(answer: Answer) -> Outcome:
    """The outcome of an answer, or of a check that the run made."""
    if answer.check and not answer.error:
        return _describe_check(answer)
    state, quoted = state_of(answer), is_quoted(answer)
    tone = TONES.get(state.name, "warn")
    return Outcome(
        text=state.name,
        tone="quoted" if tone == "ok" and quoted else tone,
        open=describe_open(answer),
        confirmed=describe_verdicts(answer),
        quoted=quoted,
    )


def _describe_check(answer: Answer) -> Outcome:
    result = build_check_result(answer)
    is_whole = result.shares.judged and result.shares.holding == result.shares.claims
    tone: Tone = "ok" if is_whole else "warn"
    if is_whole and not result.counts.get("supported"):
        tone = "quoted"
    if any(claim.verdict in FAILING for claim in result.claims):
        tone = "bad"
    return Outcome(text=summarize(result), tone=tone)
