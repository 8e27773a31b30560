"""Whether a sentence stands on its quotes: rules, and the bench on which claims are judged."""

from agent.checking.rules import Checked, check, likeness, turned

__all__ = [
    "Checked",
    "check",
    "likeness",
    "turned",
]
