"""The contract of the three external calls: ask, search, read. Nothing else leaves the process.

A step gets the calls that it needs. It knows nothing of retries, fallback, budget and journal:
those wrap the calls in `agent/run/compose_calls.py`, and nowhere else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

from pydantic import Field

from agent.calls.model_tools import Exchange, Tool
from agent.errors import ExternalCallError, Halt
from agent.state import Attempt, EarlierAnswer, Frozen, ModelCost, Page, SearchResults, Slot
from agent.state.excerpts import Excerpt
from agent.state.values import MAX_TOKENS

TaskKind = Literal["plan", "read", "write", "judge"]
#: How much a model thinks before it replies; "": as much as its service has it by default.
Thinking = Literal["", "off", "low", "medium", "high"]
AnswerT = TypeVar("AnswerT", bound=Frozen)
RequestT = TypeVar("RequestT", contravariant=True)
ResponseT = TypeVar("ResponseT")
#: At the end of a query that works of research answer: services of scholarship are asked first.
FOR_RESEARCH = " in:scholar"
#: At the end of a query that only the sources of the user's own may see.
FOR_OWN = " in:own"


class Task(Frozen, Generic[AnswerT]):
    """What a step asks of a model: typed inputs, the prompt rendered from them, the answer's type.

    A task is a subclass of `Task[Answer]` with a `name`, where `Answer` is the model of its answer.
    A class that lacks one of them raises TypeError where it is defined.

    A language model gets `system_prompt`, `prompt` and the JSON schema of the answer type. That
    schema holds the docstrings of the answer's models, so these are prompt text. The extractive
    backend answers from the typed inputs. Prompts depend on the inputs alone.
    """

    #: Names the task in journals and events: `generate_queries`, `reflect`, `synthesize`, ...
    name: ClassVar[str]
    #: What it asks a model to do. Each kind may have models, and a level of thinking, of its own.
    kind: ClassVar[TaskKind] = "read"
    #: How long a reply may be, in tokens, before thoughts; several times what is needed.
    reply_tokens: ClassVar[int] = 2000
    _answer_type: ClassVar[type[Frozen]]

    topic: str
    today: str = ""  # the day on which the run began, as YYYY-MM-DD; empty: not given to the model
    slots: tuple[Slot, ...] = ()
    evidence: tuple[Excerpt, ...] = ()
    language: str = ""  # a BCP 47 tag; empty: the language of the topic
    reader: str = ""  # for whom to write, and in what tone; "": nobody in particular
    exchanges: tuple[Exchange, ...] = ()  # turns with tools so far; the answer is then a `Turn`
    thinking: Thinking = ""
    max_reply_tokens: int | None = None  # thoughts included; None: as many as the model will

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        generic = cls.__pydantic_generic_metadata__
        if generic["origin"] is Task:  # this is `Task[Answer]` itself, not yet a task
            (cls._answer_type,) = generic["args"]
            return
        answer_type = getattr(cls, "_answer_type", None)
        if not (isinstance(answer_type, type) and issubclass(answer_type, Frozen)):
            raise TypeError(f"{cls.__name__} has no answer type: derive it from Task[Answer]")
        if not getattr(cls, "name", ""):
            raise TypeError(f"{cls.__name__} has no name")

    @property
    def answer_type(self) -> type[AnswerT]:
        """The model of the answer."""
        return cast(type[AnswerT], self._answer_type)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call in its reply."""
        return ()

    @property
    def temperature(self) -> float | None:
        """The sampling temperature, for services that take one; None: the service's default."""
        return None

    @abstractmethod
    def system_prompt(self) -> str:
        """The system prompt: the same instructions for every input."""

    @abstractmethod
    def prompt(self) -> str:
        """The user prompt: what is asked, with all inputs rendered."""

    def shorten(self, by: int) -> Task[AnswerT]:
        """The task with about `by` characters less, for a model whose window it does not fit.

        The evidence is cut evenly, and what tools returned; itself where there is neither.
        """
        size = sum(excerpt.size for excerpt in self.evidence)
        size += sum(exchange.size for exchange in self.exchanges)
        if not size:
            return self
        share = max(0.0, 1 - by / size)
        cut = {
            "evidence": tuple(excerpt.shorten(share) for excerpt in self.evidence),
            "exchanges": tuple(exchange.shorten(share) for exchange in self.exchanges),
        }
        return self.model_copy(update=cut)

    def parse_tagged_reply(self, text: str) -> dict[str, Any] | None:
        """Parse a reply that is tagged text into the answer's JSON; None: not in that format."""
        return None


class Reply(Frozen, Generic[AnswerT]):
    """A model's valid answer, and its usage. `usd` is None if the price is not known.

    `mended` names the parts of it that came in another shape than the schema's. `confidence` is how
    sure rules are of an answer that they made.
    """

    answer: AnswerT
    model: str
    confidence: float | None = Field(default=None, exclude_if=lambda value: value is None)
    mended: tuple[str, ...] = Field(default=(), exclude_if=lambda parts: not parts)
    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    attempts: tuple[Attempt, ...] = ()
    costs: tuple[ModelCost, ...] = ()  # of each model that was asked


class Ask(Protocol):
    """Answers tasks, by a model. Raises ModelFailed."""

    def __call__(self, task: Task[AnswerT], /) -> Reply[AnswerT]: ...


class AskMany(Ask, Protocol):
    """An `Ask` that answers several tasks at once, too."""

    def collect(
        self, tasks: Sequence[Task[AnswerT]], /
    ) -> Iterator[Reply[AnswerT] | ExternalCallError | Halt]:
        """Outcomes in the order of the tasks, which run in parallel; a Halt for those not made."""


class Call(Protocol[RequestT, ResponseT]):
    """An external call: made and waited for, made ahead of need, or made in a group."""

    def __call__(self, request: RequestT) -> ResponseT:
        """Make the call and wait for it. Raises ExternalCallError."""

    def start(self, request: RequestT) -> Future[ResponseT]:
        """Make the call without waiting. Equal requests share one result."""

    def result_if_done(self, request: RequestT) -> ResponseT | None:
        """The result of a call that has already succeeded, else None. Never waits."""

    def collect(self, requests: Sequence[RequestT]) -> Iterator[ResponseT | ExternalCallError]:
        """Outcomes in the order of the requests. A call much slower than the others is given up."""


Search = Call[str, SearchResults]
Read = Call[str, Page]


class Parent(NamedTuple):
    """What a run has of the runs that it follows: what was asked, and the pages that they read."""

    earlier: tuple[EarlierAnswer, ...]  # the last one is the question that is followed
    search: Search
    read: Read


class ExternalCalls(NamedTuple):
    """The three calls of a run, its fallback model, and how to prepare and to release them."""

    ask: AskMany
    fallback: Ask  # answers where no model does; it makes no external call, so it is not recorded
    search: Search
    read: Read
    warm: Callable[[], None]  # imports and connects ahead of the first call
    close: Callable[[], None]
    warnings: Callable[[], tuple[str, ...]]  # for the user, about sources that were not used
    parent: Parent | None = None  # None: the run follows no other
