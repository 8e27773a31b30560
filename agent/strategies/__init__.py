"""Strategies: which steps a run takes, in which order, and when it stops.

A user chooses `slots.py` (the default), `loop/` or `report/`; `check/` is for reports of others. A
strategy has a function `build`, which `registry.py` finds by name, and a class of the protocol
`Strategy`. Steps that several strategies take are in `agent/steps/`.
"""

from agent.strategies.strategy import Strategy

__all__ = [
    "Strategy",
]
