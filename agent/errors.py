"""The exceptions that this program raises and catches: one tree.

AgentError               kind, message, remedy: the answer's `error` field
├── UsageError           the request is invalid                                       exit 2
├── NotConfigured        a key or a setting that the run needs is absent              exit 1
├── Busy                 the server is full: of runs, or of documents                 HTTP 429
├── OutputFailed         standard output or a file cannot be written whole            exit 1
├── JournalError         the journal cannot be read, or is in use                     exit 1
│   ├── JournalBusy      another run is writing it
│   └── JournalDamaged   a line of it cannot be used
├── Halt                 gathering ends early; the answer comes from what there is
│   ├── Stopped          the user asked for the best answer so far
│   └── Exhausted        a cap of the budget is reached
└── ExternalCallError    an external call failed; `outcome`: how, `attempts`: every try
    ├── ModelFailed      no model gave a usable reply
    ├── SearchFailed     no search provider could be asked
    └── ReadFailed       a page could not be read

Exceptions of libraries are translated into these once, where the library is called: in `llm/`,
`search/`, `pages/` and `calls/http.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:  # pydantic is not imported before it is needed: `--help` is instant
    from agent.state import Attempt, ModelCost, Outcome


#: Outcomes that a retry in the same run cannot change.
NON_RETRYABLE: frozenset[Outcome] = frozenset({"no_key", "bad_key", "no_credit"})

ANOTHER_MODEL = "Try again, or another model with --llm."  # where a reply could not be used


class AgentError(Exception):
    """A failure to be shown to the user: what happened (`message`), what to do (`remedy`).

    Both may quote a service, a file or a path. Characters that command a terminal are taken out.
    """

    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, remedy: str = "") -> None:
        from agent.state.characters import strip_controls  # not before: `--help` needs none of it

        self.message = strip_controls(message)
        self.remedy = strip_controls(remedy)
        super().__init__(self.message)


def as_agent_error(error: BaseException) -> AgentError:
    """The error itself; any other exception is a bug, and named by its type alone."""
    if isinstance(error, AgentError):
        return error
    return AgentError(f"Internal error: {type(error).__name__}", "Please report this.")


def format_error(message: str, remedy: str) -> str:
    """Message and remedy on one line."""
    return f"{message.rstrip('.')}. {remedy}" if remedy else message


class UsageError(AgentError):
    """The request is invalid."""

    kind = "usage"


class NotConfigured(AgentError, ValueError):
    """A key or a setting that the run needs is absent."""

    kind = "not_configured"


class Busy(AgentError):
    """The server is full: of runs, or of documents."""

    kind = "busy"


class OutputFailed(AgentError):
    """Standard output or a file cannot be written whole."""

    kind = "output"


class PipeClosed(OutputFailed):
    """The reader of a pipe is gone, as that of `| head`: it wants no message."""


class JournalError(AgentError):
    """The journal cannot be read, or does not fit the run."""

    kind = "journal"


class JournalBusy(JournalError):
    """Another run is writing the journal."""


class JournalDamaged(JournalError):
    """A line of the journal cannot be used: edited, or of another version."""

    kind = "damaged"


class Halt(AgentError):
    """Gathering ends early; the answer comes from what there is."""

    kind = "halted"


class Stopped(Halt):
    """The user asked for the best answer so far."""

    kind = "stopped"


class Exhausted(Halt):
    """A cap of the budget is reached."""

    kind = "budget"


class Spent(NamedTuple):
    """What models were paid for without an answer: tokens, and US dollars (None: not known)."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


NOTHING_SPENT = Spent()


class ExternalCallError(AgentError):
    """An external call failed after all retries; `attempts` lists every try."""

    kind = "outside"

    def __init__(
        self,
        message: str,
        remedy: str = "",
        *,
        outcome: Outcome = "unavailable",
        attempts: tuple[Attempt, ...] = (),
        retry_after: float | None = None,
        spent: Spent = NOTHING_SPENT,
        costs: tuple[ModelCost, ...] = (),
    ) -> None:
        super().__init__(message, remedy)
        self.outcome: Outcome = outcome
        self.attempts = attempts
        self.retry_after = retry_after  # seconds, from the service's Retry-After
        self.spent = spent
        self.costs = costs  # the same for each model


class ModelFailed(ExternalCallError):
    """No model gave a usable reply."""

    kind = "model"


class SearchFailed(ExternalCallError):
    """No search provider could be asked."""

    kind = "search"


class ReadFailed(ExternalCallError):
    """A page could not be read."""

    kind = "page"
