"""A research agent whose every sentence stands on a quote that is really on its page.

`from agent import research`: a question in, a run out, which is an iterator of events and has an
`answer()`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.run import research as research

__version__ = "0.1.0"
#: How it names itself to the sites that it reads; a user sets USER_AGENT to add a contact.
USER_AGENT = f"llm-research-agent/{__version__} (command-line research tool)"


class _Package(ModuleType):
    """Makes `agent.research` the function, imported at first use, though a module is called so too.

    That module stays what `from agent.research import ...` reads.
    """

    @property
    def research(self) -> Any:
        from agent.run import research

        return research

    @research.setter
    def research(self, module: ModuleType) -> None:
        """The import system puts the module here once it is loaded."""


sys.modules[__name__].__class__ = _Package
