"""A research agent that cites, for each sentence, a quote that is on its page word for word.

`from agent import research` is its Python interface: `research(topic)` returns a run, which is an
iterator of events and has an `answer()`. `aresearch(topic)` is the same for code that awaits.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.run import aresearch as aresearch
    from agent.run import research as research

__version__ = "0.2.0"
#: The default User-Agent of its requests. The setting USER_AGENT replaces it, to add a contact.
USER_AGENT = f"llm-research-agent/{__version__} (command-line research tool)"


def __getattr__(name: str) -> Any:
    """Import the functions at their first use (PEP 562), so that `--help` is fast."""
    if name not in ("aresearch", "research"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agent import run

    return getattr(run, name)
