"""Strategies: which steps a run takes, in which order, and when it stops.

`slots.py` (the default), `loop/` and `report/` are the strategies that a user can choose;
`choice.py` chooses one for a topic (`--strategy auto`). `loop/` and `report/` also hold the steps
that only they take; the steps that several strategies take are in `agent/steps/`.

To add a strategy: write a class of the protocol `Strategy` (`strategy.py`) in a file or folder
here, and add it with its steps to the dict `STRATEGIES` of `registry.py`.
"""

from agent.strategies.strategy import Strategy

__all__ = [
    "Strategy",
]
