"""Whether a sentence stands on its quotes: rules, and the bench on which claims are judged."""

from agent.checking.rules import Checked, check_claim, claim_likeness, find_turning_word

__all__ = [
    "Checked",
    "check_claim",
    "claim_likeness",
    "find_turning_word",
]
