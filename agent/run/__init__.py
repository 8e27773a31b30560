"""A run: from a topic to an answer."""

from agent.run.begin import research
from agent.run.loop import Run

__all__ = ["Run", "research"]
