"""Research as a tool of other programs' models: over standard input and output, or over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError, UsageError
from agent.shell import ended, needs, shown

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from mcp.server import Server

LARGEST = 4 * 1024 * 1024  # bytes of a request: `audit` takes a whole answer object
EXAMPLES = """\b
Examples:
  python -m agent.mcp_server --offline          # what an MCP client starts
  python -m agent.mcp_server --http --port 8001 # http://127.0.0.1:8001/mcp
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--http", is_flag=True, help="Streamable HTTP at /mcp instead of standard input.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True)
@click.option("--offline", is_flag=True, help="No key, no model, no network: quote the corpus.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Search this folder or .jsonl.")
@click.option("--max-seconds", type=float, help="The most that one run may take; also:")
@click.option("--max-usd", type=float, help="dollars for models,")
@click.option("--max-tokens", type=int, help="tokens of models, in and out together,")
@click.option("--max-calls", type=int, help="outside calls.")
@click.version_option(__version__, prog_name="agent.mcp_server")
def command(http: bool, host: str, port: int, **given: Any) -> int:
    """Serve the tools `research` and `audit`, and finished runs as resources.

    Over HTTP, listening on anything but loopback needs a token: AGENT_API_TOKEN.
    """
    try:
        return _serve(http, host, port, {**given, "offline": given["offline"] or None})
    except AgentError as error:
        click.echo(f"Error: {error.message}\n{error.remedy}", err=True)
        return 2 if isinstance(error, UsageError) else 1


def _serve(http: bool, host: str, port: int, options: dict[str, Any]) -> int:
    """Settings are from the environment, over it options, over them what a caller gives."""
    needs("mcp", "mcp", "uvicorn")
    from agent import settings
    from agent.mcp_server.tools import Tools
    from agent.serving import logs, serve
    from agent.serving.runs import Runs

    own = settings.here(**options)
    logs.set_up(own.api_log)
    runs = Runs(own, logs.end_of_run)
    server = Tools(lambda given: settings.here(**{**options, **given}), runs).server()
    if http:
        app = serve.guarded(server.streamable_http_app(host=host), host, own, LARGEST)
        return serve.serve(app, runs, host, port, lifespan=True)
    _talk(server)
    runs.close()
    runs.wait(serve.GRACE)
    return 0


def _talk(server: Server[Any]) -> None:
    """Over standard input and output until the client closes them."""
    import asyncio

    from mcp.server.stdio import stdio_server

    async def talk() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    asyncio.run(talk())


def main() -> None:
    """The command."""
    ended(command, shown)


if __name__ == "__main__":
    main()
