"""What is shown of a run: the trace, and the nodes of the tree that is built from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from agent.answer import Answer
from agent.state import Event
from agent.trace.calls import TracedCall

Mark = Literal["", "part", "good", "bad", "quiet"]  # the style of a node; also its class in HTML


class Trace(NamedTuple):
    """All that is shown of a run, as replayed from its journal."""

    answer: Answer
    events: Sequence[Event]
    calls: Sequence[TracedCall]
    max_rounds: int  # 0: not known
    unfinished_reason: str = ""  # why the journal ends early; empty: the run has finished


class Node(NamedTuple):
    """A line of the tree, and the nodes under it. Its texts are untrusted."""

    label: str
    text: str = ""
    figures: tuple[str, ...] = ()
    mark: Mark = ""
    children: tuple[Node, ...] = ()
    calls: tuple[TracedCall, ...] = ()
    link: str = ""
