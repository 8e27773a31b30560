"""Formats of figures for people: dollars, durations, tokens."""

from __future__ import annotations

from agent.answer.phrases import format_usd


def format_seconds(seconds: float) -> str:
    """A duration in seconds, or in milliseconds below a tenth of a second."""
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"


def format_tokens(tokens: tuple[int, int]) -> str:
    """Input and output tokens."""
    return f"{tokens[0]:,} + {tokens[1]:,} tokens"


def format_usage(tokens: tuple[int, int], usd: float | None) -> tuple[str, ...]:
    """Tokens and dollars; nothing if no tokens were used and no dollars spent."""
    is_used = any(tokens) or usd is None or usd > 0
    return (format_tokens(tokens), format_usd(usd)) if is_used else ()
