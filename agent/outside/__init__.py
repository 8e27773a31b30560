"""The three outside calls: their contract, and what wraps them, such as journal and budget."""

from agent.outside.contract import (
    AnswerT,
    Ask,
    AskMany,
    Call,
    Excerpt,
    Outside,
    Parent,
    Read,
    Reply,
    RequestT,
    ResponseT,
    Search,
    Task,
    TaskKind,
    Thinking,
)
from agent.outside.threads import run_with_timeout, spawn

__all__ = [
    "AnswerT",
    "Ask",
    "AskMany",
    "Call",
    "Excerpt",
    "Outside",
    "Parent",
    "Read",
    "Reply",
    "RequestT",
    "ResponseT",
    "Search",
    "Task",
    "TaskKind",
    "Thinking",
    "spawn",
    "run_with_timeout",
]
