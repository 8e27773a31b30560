"""Which tools of an MCP server search, and which fetch: by their schemas, or as the settings say.

By its name a tool searches or fetches; a query, or an id or address, is all that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.errors import ExternalCallError
from agent.settings.mcp_servers import McpServer
from agent.state import get_path

if TYPE_CHECKING:
    from mcp.types import Tool

QUERIES = "query q search_query search_term search question keywords text input".split()
ADDRESSES = "url uri link address".split()
IDS = "id document_id doc_id documentId docId result_id page_id path".split()
#: Words in the names of tools. One that fetches has one of FETCHES, and takes an address or has one
#: of TEXTS too.
SEARCHES = set("search find lookup retrieve".split())
FETCHES = set("scrape extract crawl read open get load view".split())
TEXTS = set("page document doc content article note file text url website webpage".split())


class McpTool(NamedTuple):
    """A tool, and the name of its one argument."""

    tool: str
    argument: str

    def __str__(self) -> str:
        return f"{self.tool}({self.argument})"


class McpTools(NamedTuple):
    """The tools of a server that are called; None: it has none such."""

    search: McpTool | None
    fetch: McpTool | None


def find_tools(tools: Iterable[Tool], server: McpServer) -> McpTools:
    """The tools that are called: those that the settings name, else the first whose name is the
    task's, else the first that is of its kind. Raises ExternalCallError for one that is not there.
    """
    offered = {tool.name: tool for tool in tools}
    return McpTools(
        _choose(offered, server.search, "search", QUERIES),
        _choose(offered, server.fetch, "fetch", [*IDS, *ADDRESSES]),
    )


def _choose(
    offered: dict[str, Tool], named: str, task: str, arguments: Sequence[str]
) -> McpTool | None:
    if named and named not in offered:
        remedy = "See RESEARCH_AGENT_MCP_SERVERS."
        raise ExternalCallError(f"it has no tool {named!r}", remedy, outcome="unsupported")
    tools = [offered[named]] if named else sorted(offered.values(), key=lambda t: t.name != task)
    fitting = (tool for tool in tools if named or _is_of_task(tool, task))
    calls = (McpTool(t.name, one) for t in fitting if (one := _argument_of(t, arguments)))
    return next(calls, None)


def _is_of_task(tool: Tool, task: str) -> bool:
    if tool.annotations and tool.annotations.read_only_hint is False:
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", tool.name)}
    if task == "search":
        return bool(words & SEARCHES)
    is_address = bool(_argument_of(tool, ADDRESSES))
    return task in words or bool(words & FETCHES and (is_address or words & TEXTS))


def _argument_of(tool: Tool, names: Sequence[str]) -> str:
    needed = get_path(tool.input_schema, "required")
    needed = needed if isinstance(needed, list) else []
    for name in names:
        form = get_path(tool.input_schema, "properties", name)
        kind = get_path(form, "type")
        if form is not None and kind in (None, "string") and set(needed) <= {name}:
            return name
    return ""
