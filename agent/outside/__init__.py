"""The three outside calls as types, and all that wraps one: journal, budget, limits, threads."""

from agent.outside.contract import (
    A,
    Ask,
    Call,
    Excerpt,
    Outside,
    Read,
    Reply,
    Request,
    Response,
    Search,
    Task,
)
from agent.outside.threads import spawn, within

__all__ = [
    "A",
    "Ask",
    "Call",
    "Excerpt",
    "Outside",
    "Read",
    "Reply",
    "Request",
    "Response",
    "Search",
    "Task",
    "spawn",
    "within",
]
