"""A research agent whose every sentence stands on a quote that is really on its page.

`from agent import research`: a question in, a run out, which is an iterator of events and has an
`answer()`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.run import research as research

__version__ = "0.1.0"
#: How it names itself to the sites that it reads; a user sets USER_AGENT to add a contact.
USER_AGENT = f"llm-research-agent/{__version__} (command-line research tool)"


def __getattr__(name: str) -> Any:
    """`research`, imported at first use: `import agent` and `--help` cost nothing (PEP 562)."""
    if name != "research":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agent.run import research

    return research
