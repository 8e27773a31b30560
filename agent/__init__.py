"""A research agent that cites, for each sentence, a quote that is on its page word for word.

`from agent import research` is its Python interface: `research(topic)` returns a run, which is an
iterator of events and has an `answer()`. `aresearch(topic)` is the same for code that awaits.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent.version import __version__ as __version__

if TYPE_CHECKING:
    from agent.run.begin import research as research
    from agent.run.python_api import aresearch as aresearch

_FUNCTIONS = {"aresearch": "agent.run.python_api", "research": "agent.run.begin"}


def __getattr__(name: str) -> Any:
    """Import the functions at their first use (PEP 562), so that `--help` is fast."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FUNCTIONS[name]), name)
