"""The strategies by name. A new one is a module with a function `build`, and a line here."""

from __future__ import annotations

from importlib import import_module

from agent.calls import ExternalCalls
from agent.calls.plugins import load_plugin, plugin_names
from agent.errors import UsageError
from agent.settings import Settings
from agent.state import RunRequest
from agent.strategies.strategy import Strategy

#: The module of each, imported at use: a run needs no steps of the other strategies.
STRATEGIES = {
    "slots": "agent.strategies.slots",
    "loop": "agent.strategies.loop.strategy",
    "report": "agent.strategies.report.strategy",
}
CHECK = "agent.strategies.check.strategy"  # of a report in the request, whatever is chosen


def build_strategy(calls: ExternalCalls, settings: Settings, request: RunRequest) -> Strategy:
    """The strategy that the settings name; for a report in the request, its check.

    Raises UsageError for a strategy that is not installed.
    """
    name = settings.strategy
    module = CHECK if request.report is not None else STRATEGIES.get(name)
    if module is not None:
        built: Strategy = import_module(module).build(calls, settings, request)
        return built
    plugin = load_plugin("strategies", name)
    if plugin is None:  # a journal may name one of a package that is not installed here
        choices = ", ".join([*STRATEGIES, *plugin_names("strategies")])
        raise UsageError(f"There is no strategy {name!r}.", f"Choose from: {choices}.")
    added: Strategy = plugin(calls, settings)
    return added
