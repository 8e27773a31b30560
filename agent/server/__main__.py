"""Research over HTTP: the page, the API and the metrics, on loopback unless told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agent import __version__
from agent.errors import AgentError, UsageError
from agent.shell import ended, needs, shown

EXAMPLES = """\b
Examples:
  python -m agent.server --offline
  curl http://127.0.0.1:8000/api/research -H Content-Type:application/json \\
    -d '{"question": "Who founded LEGO?"}' | jq .answer
  AGENT_API_TOKEN=... python -m agent.server --host 0.0.0.0 --max-usd 0.05
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option("--offline", is_flag=True, help="No key, no model, no network: quote the corpus.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Search this folder or .jsonl.")
@click.option("--max-seconds", type=float, help="The most that one run may take; also:")
@click.option("--max-usd", type=float, help="dollars for models,")
@click.option("--max-tokens", type=int, help="tokens of models, in and out together,")
@click.option("--max-calls", type=int, help="outside calls.")
@click.option("--max-runs", "api_max_runs", type=int, help="Runs at once.  [default: 8]")
@click.option("--max-queue", "api_max_queue", type=int, help="Runs that wait.  [default: 64]")
@click.version_option(__version__, prog_name="agent.server")
def command(host: str, port: int, **given: Any) -> int:
    """Serve the page and the API. Ends with SIGTERM or Ctrl-C; runs then end with what they have.

    Listening on anything but loopback needs a token: AGENT_API_TOKEN. Exit status: 0 it was ended,
    1 it could not listen, 2 wrong usage.
    """
    try:
        return _serve(host, port, {**given, "offline": given["offline"] or None})
    except AgentError as error:
        click.echo(f"Error: {error.message}\n{error.remedy}", err=True)
        return 2 if isinstance(error, UsageError) else 1


def _serve(host: str, port: int, options: dict[str, Any]) -> int:
    """Listen, with settings from the environment, over it options, over them a request's."""
    needs("server", "fastapi", "uvicorn", "prometheus_client")
    from agent import settings
    from agent.server.app import served
    from agent.serving import logs, serve
    from agent.sources.sources import open_sources

    own = settings.here(**options)
    open_sources(own).close()  # what cannot be searched is told now; a corpus is indexed
    app, runs = served(host, lambda given: settings.here(**{**options, **given}))
    logs.set_up(own.api_log)
    return serve.serve(app, runs, host, port)


def main() -> None:
    """The command."""
    ended(command, shown)


if __name__ == "__main__":
    main()
