"""Research as a tool for other programs' models: over standard input and output, or over HTTP."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from agent.cli import shell

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from mcp.server import Server

EPILOG = """\b
Examples:
  research-agent mcp --offline          # what an MCP client starts
  research-agent mcp --http --port 8001 # http://127.0.0.1:8001/mcp
"""


@shell.command(EPILOG)
@click.option("--http", is_flag=True, help="Streamable HTTP at /mcp instead of standard input.")
@shell.server_options(port=8001)
def command(http: bool, host: str, port: int, **options: Any) -> int:
    """Serve research, checks and reading as tools, finished runs and their pages as resources.

    Over HTTP, listening on anything but loopback needs a token: RESEARCH_AGENT_API_TOKEN.
    """
    shell.require_extra("mcp", "mcp", "uvicorn")
    if not http:
        shell.require_stdin()
        shell.require_stdout()
    from agent.mcp_server.tools import Tools
    from agent.server import logs, uvicorn_server
    from agent.server.research_request import make_configure
    from agent.server.run_manager import Runs
    from agent.settings import load_settings

    configure = make_configure(load_settings, options)
    settings = configure({})
    logs.configure_logging(settings.api_log)
    runs = Runs(settings, logs.log_end_of_run)
    tools = Tools(configure, runs)
    if http:
        return uvicorn_server.serve(tools.make_app(host), runs, host, port, lifespan=True)
    _serve_stdio(tools.make_server())
    runs.close()
    runs.wait(uvicorn_server.GRACE)
    return 0


def _serve_stdio(server: Server[Any]) -> None:
    """Serve over standard input and output until the client closes them, or Ctrl-C.

    Runs under way stay in their journals when the client goes away or a signal comes.
    """
    import asyncio

    from mcp.server.stdio import stdio_server

    from agent.calls.threads import spawn

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    client = os.dup(1)  # while it serves, `stdio_server` turns 1 into standard error
    spawn(lambda: _exit_without_reader(client))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    asyncio.run(serve())


def _end(*_: object) -> NoReturn:
    """End the process at a signal.

    asyncio would wait for the thread that reads standard input, which only its end wakes, and tell
    an exception that came amid a task as a fault of it.
    """
    with suppress(RuntimeError):  # it came while a line was being written
        click.echo("Interrupted.", err=True)
    os._exit(shell.INTERRUPTED)


def _exit_without_reader(descriptor: int) -> None:
    """Wait until nobody reads a pipe any more, and end the process; a file has no reader."""
    if not hasattr(select, "poll"):
        return  # Windows: the end of standard input ends it
    gone = select.poll()
    gone.register(descriptor, 0)
    gone.poll()
    shell.exit_now(1)
