"""The outside: three calls, and how they are waited for. Nothing else leaves the process.

A step gets the calls that it needs and knows nothing of retries, fallback, budget or journal:
those wrap the calls, once each, in `compose.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from agent.errors import OutsideError
from agent.outside.tools import Exchange, Tool
from agent.state import Attempt, Found, Frozen, Page, Slot

A = TypeVar("A", bound=Frozen)
Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response")


class Excerpt(Frozen):
    """What a model is shown of a source: its best passages, in the order of the page.

    `same`: the source that says all of it already; then no passage is shown twice.
    """

    source: int
    title: str
    url: str
    passages: tuple[str, ...]
    same: int | None = None


class Task(Frozen, Generic[A]):
    """What a step asks of a model: typed inputs, the prompt made of them, the answer's type.

    A model gets `system`, `prompt` and the JSON schema of `answer`; the extractive engine, which is
    no model, answers from the typed inputs. Prompts are deterministic: no clock, no randomness.
    """

    topic: str
    slots: tuple[Slot, ...] = ()
    evidence: tuple[Excerpt, ...] = ()
    language: str = ""  # a BCP 47 tag; empty: that of the topic
    exchanges: tuple[Exchange, ...] = ()  # turns with tools so far; `answer` is then a `Turn`

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model may call in its reply."""
        return ()

    @property
    def temperature(self) -> float | None:
        """How freely to write, where a service takes it well; None: its own default."""
        return None

    @property
    def name(self) -> str:
        """`generate_queries`, `reflect`, `synthesize`: the key of the system's contract."""
        raise NotImplementedError

    @property
    def answer(self) -> type[A]:
        """The model of the answer."""
        raise NotImplementedError

    def system(self) -> str:
        """The standing instructions."""
        raise NotImplementedError

    def prompt(self) -> str:
        """What is asked, with all inputs rendered."""
        raise NotImplementedError

    def tagged(self, text: str) -> dict[str, Any] | None:
        """The answer as JSON of a reply that is tagged text; None: this task takes JSON alone."""
        return None


class Reply(Frozen, Generic[A]):
    """A model's valid answer, and what it cost. `usd` is None where the price is not known."""

    answer: A
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    attempts: tuple[Attempt, ...] = ()


class Ask(Protocol):
    """A model that answers tasks. Raises ModelFailed."""

    def __call__(self, task: Task[A], /) -> Reply[A]: ...


class Call(Protocol[Request, Response]):
    """An outside call that can be made ahead, alone, or in a group."""

    def __call__(self, request: Request) -> Response:
        """Make the call and wait for it. Raises OutsideError."""
        ...

    def start(self, request: Request) -> Future[Response]:
        """Make the call without waiting. Whoever asks for the same shares the result."""
        ...

    def ready(self, request: Request) -> Response | None:
        """The result of a call that has already ended well; nothing is waited for."""
        ...

    def collect(self, requests: Sequence[Request]) -> Iterator[Response | OutsideError]:
        """Outcomes in the order of the requests; a straggler is given up and recorded as missed."""
        ...


Search = Call[str, Found]
Read = Call[str, Page]


class Outside(NamedTuple):
    """The three calls, what answers where no model does, and how to let go of what they hold."""

    ask: Ask
    stand_in: Ask  # asked directly: it goes nowhere, so nothing is recorded
    search: Search
    read: Read
    warm: Callable[[], None]
    close: Callable[[], None]
    notes: Callable[[], tuple[str, ...]]
