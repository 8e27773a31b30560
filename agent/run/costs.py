"""What a model call may cost at most, before it is made: in tokens and in US dollars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agent.evidence import estimate_tokens
from agent.llm import Generation, Model
from agent.outside import Task
from agent.outside.budget import Cost
from agent.outside.tools import render_transcript

PROMPT_FRAME_TOKENS = 700  # of a prompt around its evidence: instructions, topic, slots, schema
SCHEMA_TOKENS = 200  # of an answer's JSON schema, about
REPLY_TOKENS = 1500  # at most of a reply, thoughts included: five times what tests have seen


def estimate_task_tokens(task: Task[Any]) -> int:
    """About how many tokens the prompt of a task has. A tenth is added for estimation error."""
    texts = (task.system_prompt(), task.prompt(), render_transcript(task.exchanges))
    return math.ceil(1.1 * sum(map(estimate_tokens, texts))) + SCHEMA_TOKENS


def estimate_cost(models: Sequence[Model], prompt_tokens: int) -> Cost:
    """What a call of the first model may cost, with the longest reply.

    The dollars are 0 if its price is not known; the extractive engine costs nothing.
    """
    if not models or models[0].provider == "extractive":
        return Cost()
    longest = Generation(text="", input_tokens=prompt_tokens, output_tokens=REPLY_TOKENS)
    return Cost(tokens=prompt_tokens + REPLY_TOKENS, usd=models[0].cost_usd(longest) or 0.0)
