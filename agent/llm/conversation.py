"""How turns with tools are told to a model: its own as they came, another's as text."""

from __future__ import annotations

from typing import Any

from agent.outside import Task
from agent.outside.tools import Exchange, transcript


def opening(task: Task[Any], model: str) -> tuple[str, list[Exchange]]:
    """The first message, and the turns that the model made itself since it took over.

    What another model did before is text in the first message: its form fits no one else.
    """
    foreign = [i for i, exchange in enumerate(task.exchanges) if not _own(exchange, model)]
    taken_over = foreign[-1] + 1 if foreign else 0
    before, own = task.exchanges[:taken_over], task.exchanges[taken_over:]
    return told(task.prompt(), before), list(own)


def told(prompt: str, exchanges: tuple[Exchange, ...]) -> str:
    """A prompt with turns as text."""
    done = f"\n\nWhat you have called so far:\n{transcript(exchanges)}" if exchanges else ""
    return prompt + done


def _own(exchange: Exchange, model: str) -> bool:
    return exchange.model == model and exchange.turn.verbatim is not None
