"""What a model call may cost at most, before it is made: in tokens and in US dollars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agent.calls import Task
from agent.calls.budget import Caps, Cost
from agent.calls.model_tools import render_transcript
from agent.errors import Spent
from agent.evidence import estimate_tokens
from agent.llm import Generation, Model

PROMPT_FRAME_TOKENS = 700  # of a prompt around its evidence: instructions, topic, slots, schema
SCHEMA_TOKENS = 200  # of an answer's JSON schema, about
REPLY_TOKENS = 1500  # at most of a reply, thoughts included: five times what tests have seen


def estimate_task_tokens(task: Task[Any]) -> int:
    """About how many tokens the prompt of a task has. A tenth is added for estimation error."""
    texts = (task.system_prompt(), task.prompt(), render_transcript(task.exchanges))
    return math.ceil(1.1 * sum(map(estimate_tokens, texts))) + SCHEMA_TOKENS


def estimate_cost(models: Sequence[Model], prompt_tokens: int) -> Cost:
    """What a call of the first model may cost, with the longest reply.

    The dollars are 0 if its price is not known; the extractive backend costs nothing.
    """
    if not models or models[0].provider == "extractive":
        return Cost()
    longest = _generation_of(prompt_tokens, REPLY_TOKENS)
    return Cost(tokens=prompt_tokens + REPLY_TOKENS, usd=models[0].cost_usd(longest) or 0.0)


def limit_reply(model: Model, prompt_tokens: int, left: Caps, spent: Spent) -> int | None:
    """How many tokens a reply may have so that no cap is passed, at least one; None: no cap.

    `spent`: what the task has used already, which `left` does not know yet.
    """
    limits: list[float] = []
    if left.tokens is not None:
        limits.append(left.tokens - spent.input_tokens - spent.output_tokens - prompt_tokens)
    if left.usd is not None and (price := _output_price(model, prompt_tokens)):
        prompt_usd = model.cost_usd(_generation_of(prompt_tokens, 0)) or 0.0
        limits.append((left.usd - (spent.usd or 0.0) - prompt_usd) / price)
    return max(1, math.floor(min(limits))) if limits else None


def _output_price(model: Model, prompt_tokens: int) -> float:
    """US dollars for a token of a reply; 0 if that is not known."""
    costs = [
        model.cost_usd(_generation_of(prompt_tokens, count)) or 0.0 for count in (0, 1_000_000)
    ]
    return (costs[1] - costs[0]) / 1e6


def _generation_of(prompt_tokens: int, reply_tokens: int) -> Generation:
    """A generation of so many tokens, whose prompt a cache takes up: that costs most."""
    return Generation(
        text="",
        input_tokens=prompt_tokens,
        output_tokens=reply_tokens,
        cache_write_tokens=prompt_tokens,
    )
