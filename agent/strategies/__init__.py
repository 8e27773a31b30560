"""The order of the steps and when to stop."""

from agent.strategies.strategy import Strategy

__all__ = [
    "Strategy",
]
