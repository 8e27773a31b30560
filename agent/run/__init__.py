"""A run, from a topic to an answer. Its loop is in `loop.py`, its beginning in `begin.py`."""

from agent.run.begin import research
from agent.run.loop import Run
from agent.run.python_api import AsyncRun, aresearch

__all__ = ["AsyncRun", "Run", "aresearch", "research"]
