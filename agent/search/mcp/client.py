"""One MCP server for one run: connected at the first need, given up at its first fault.

The official SDK speaks the protocol, on an event loop in a thread; the bounds are here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from typing import IO, Any, TypeVar

import httpx2
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from agent.calls import SUPERVISOR, spawn
from agent.calls.transport import find_proxy, load_tls_context
from agent.errors import ExternalCallError, SearchFailed
from agent.search.mcp.tool_choice import McpTools, find_tools
from agent.settings.mcp_servers import McpServer
from agent.state import Outcome, strip_markup
from agent.version import __version__

MAX_MESSAGE = 1_000_000  # bytes; as objects of Python they are 140 MB at worst
MAX_BYTES = 60_000_000  # of all messages of a run
MAX_TOOLS = 500
MAX_DETAIL = 200  # characters of what a server says of its failure
REMEDY = "Try the server by itself, or leave it out."
TOKEN_REMEDY = "Give its token in RESEARCH_AGENT_MCP_SERVERS: headers, with Authorization."
ResultT = TypeVar("ResultT")
Connected = tuple[Client, McpTools]


class McpClient:
    """A connection to a server of the user's, until it is closed. Thread-safe."""

    def __init__(self, server: McpServer, seconds: float) -> None:
        """`seconds`: to start and to name its tools, and for one call."""
        self.fault: ExternalCallError | None = None  # why it is asked no more
        self._server, self._seconds = server, seconds
        self._lock = threading.Lock()
        self._connected: Future[Connected] = Future()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._task: asyncio.Task[None] | None = None
        self._errors: IO[str] | None = (
            None  # where the supervisor of its process writes why it ended
        )
        self._end_reason = ""  # by the supervisor
        self._status = 0  # of HTTP, of the last response
        self._bytes_left = MAX_BYTES
        spawn(self._run).add_done_callback(self._note_end)

    @property
    def tools(self) -> McpTools:
        """The tools that it offers. Raises ExternalCallError."""
        return self._connect()[1]

    def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """What a tool returns. Raises ExternalCallError."""
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        request = types.CallToolRequest(params=params)
        # not `Client.call_tool`: it runs the patterns of the server's own schema over the result
        result = self._ask(lambda c: c.session.send_request(request, types.CallToolResult))
        if result.is_error:
            texts = (block.text for block in result.content if block.type == "text")
            raise self._error("rejected", f"its tool failed: {' '.join(texts)}")
        return result

    def read(self, uri: str) -> types.ReadResourceResult:
        """A resource. Raises ExternalCallError."""
        return self._ask(lambda client: client.read_resource(uri))

    def close(self) -> None:
        """End the connection, and the server's process with all that it started. At any time."""
        with self._lock:
            self.fault = self.fault or self._error("unavailable", "the run is over")
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def _connect(self) -> Connected:
        if self.fault:
            raise self.fault
        return self._wait(self._connected)

    def _ask(self, request: Callable[[Client], Awaitable[ResultT]]) -> ResultT:
        client, _ = self._connect()

        async def ask() -> ResultT:
            return await request(client)

        coroutine = ask()
        try:
            return self._wait(asyncio.run_coroutine_threadsafe(coroutine, self._loop))
        except RuntimeError:  # the loop has ended meanwhile
            coroutine.close()
            raise self._give_up("unavailable", "it ended") from None

    def _wait(self, future: Future[ResultT]) -> ResultT:
        """The result of a call. Any failure but a refusal gives the server up."""
        try:
            error = future.exception(self._seconds)
        except TimeoutError:
            raise self._give_up("timeout", f"no answer within {self._seconds:g} s") from None
        if error is None:
            return future.result()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ExternalCallError):
            raise self._give_up(error.outcome, error.message)
        if self._status in (401, 403):
            raise self._give_up("bad_key", f"HTTP {self._status}")
        if not isinstance(error, MCPError):
            raise self._give_up("unavailable", f"the connection failed ({type(error).__name__})")
        is_lost = future is self._connected or error.error.code == types.CONNECTION_CLOSED
        if not is_lost and self._bytes_left > 0:
            raise self._error("rejected", error.error.message)
        raise self._give_up("unavailable", error.error.message)

    def _give_up(self, outcome: Outcome, detail: str) -> ExternalCallError:
        self._listen()
        fault = self._error(outcome, self._end_reason or detail)
        with self._lock:
            fault = self.fault = self.fault or fault
        self.close()
        return fault

    def _error(self, outcome: Outcome, detail: str) -> ExternalCallError:
        """An error without the secrets of the server, which it may repeat."""
        for secret in filter(None, self._server.secrets):
            detail = detail.replace(secret, "***")
        remedy = TOKEN_REMEDY if outcome == "bad_key" else REMEDY
        return ExternalCallError(strip_markup(detail, MAX_DETAIL), remedy, outcome=outcome)

    # --- in the thread of the loop ----------------------------------------------------------------

    def _run(self) -> None:
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # it would log each odd line
        with self._runner:
            self._runner.run(self._serve())

    def _cancel(self) -> None:
        """Cancel the connection once: it takes time to end, which is not to be cancelled too."""
        task, self._task = self._task, None
        if task:
            task.cancel()

    def _note_end(self, ended: Future[None]) -> None:
        """Release those who wait for a connection: there is none."""
        error = ended.exception() or self.fault or self._error("unavailable", "it ended")
        if not self._connected.done():
            self._connected.set_exception(error)

    async def _serve(self) -> None:
        self._task = asyncio.current_task()
        if self.fault:
            return
        async with AsyncExitStack() as stack:
            transport = await self._open_http(stack) if self._server.url else self._start(stack)
            own = types.Implementation(name="llm-research-agent", version=__version__)
            client = await stack.enter_async_context(Client(transport, client_info=own, cache=None))
            tools = [tool async for tool in _list_tools(client)]
            self._connected.set_result((client, find_tools(tools, self._server)))
            await asyncio.Event().wait()  # until it is cancelled

    def _start(self, stack: AsyncExitStack) -> Any:
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - on the stack
        self._errors = stack.enter_context(errors)
        stack.callback(self._listen)
        bounds = [SUPERVISOR, "messages", str(MAX_MESSAGE), str(MAX_BYTES)]
        process = StdioServerParameters(
            command=sys.executable,
            args=["-IS", *bounds, *self._server.command],
            env=self._server.env,
            cwd=self._server.cwd or None,
        )
        return stdio_client(process, errlog=self._errors)

    def _listen(self) -> None:
        with suppress(ValueError):
            if self._errors:
                message = os.pread(self._errors.fileno(), MAX_DETAIL, 0).decode("utf-8", "replace")
                self._end_reason = message.strip()

    async def _open_http(self, stack: AsyncExitStack) -> Any:
        """The transport to an address: it follows no redirect to another origin."""
        http = httpx2.AsyncClient(
            headers={**self._server.headers, "Accept-Encoding": "identity"},
            timeout=self._seconds,
            verify=load_tls_context(SearchFailed),
            trust_env=False,
            proxy=find_proxy(self._server.url, SearchFailed),
            event_hooks={"response": [self._bound]},
        )
        await stack.enter_async_context(http)
        return streamable_http_client(
            self._server.url, http_client=http, max_sse_event_size=MAX_MESSAGE
        )

    async def _bound(self, response: httpx2.Response) -> None:
        self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("a reply is compressed")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        most = MAX_BYTES if is_stream else MAX_MESSAGE
        response.stream = _BoundedBody(response.stream, self._count, most)

    def _count(self, size: int) -> bool:
        self._bytes_left -= size
        return self._bytes_left >= 0


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of a response, which fails once it is too long."""

    def __init__(self, body: Any, count: Callable[[int], bool], most: int) -> None:
        self._body, self._count, self._left = body, count, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            self._left -= len(part)
            if not self._count(len(part)) or self._left < 0:
                raise httpx2.StreamError("it sent too much")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


async def _list_tools(client: Client) -> AsyncIterator[types.Tool]:
    cursor: str | None = None
    count = 0
    while count < MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool
        cursor, count = page.next_cursor, count + max(1, len(page.tools))
        if not cursor:
            return
