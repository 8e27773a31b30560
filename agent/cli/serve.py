"""Research over HTTP: the page, the API and the metrics."""

from __future__ import annotations

import secrets
from contextlib import closing
from typing import Any

import click

from agent.cli import shell

EPILOG = """\b
Examples:
  research-agent serve --offline
  curl http://127.0.0.1:8000/api/research -H Content-Type:application/json \\
    -d '{"question": "Who founded LEGO?"}' | jq .answer
  RESEARCH_AGENT_API_TOKEN=... research-agent serve --host 0.0.0.0
"""


@shell.command(EPILOG)
@shell.server_options(port=8000)
@click.option("--max-runs", "api_max_runs", type=int, help="Runs at once.  [default: 8]")
@click.option("--max-queue", "api_max_queue", type=int, help="Runs that wait.  [default: 64]")
@click.option("--documents", "api_documents", is_flag=True, default=None, help="Take files.")
@click.option("--make-token", is_flag=True, help="Create and print an access token if none is set.")
def command(host: str, port: int, make_token: bool, **options: Any) -> int:
    """Serve the page and the API. Ends with SIGTERM or Ctrl-C; runs then end with what they have.

    Listening on anything but loopback needs a token: RESEARCH_AGENT_API_TOKEN. Exit status: 0 it
    was ended, 1 it could not listen, 2 wrong usage.
    """
    shell.require_extra("server", "fastapi", "uvicorn", "prometheus_client", "python_multipart")
    from agent.calls.threads import spawn
    from agent.run.retriever import open_retriever
    from agent.server import logs, uvicorn_server
    from agent.server.app import make_server
    from agent.server.research_request import make_configure
    from agent.settings import load_settings

    configure = make_configure(load_settings, options)
    settings = configure({})
    if make_token and not settings.api_token.get_secret_value():
        options["api_token"] = secrets.token_urlsafe(24)
        configure = make_configure(load_settings, options)
        click.echo(f"Access token for this session: {options['api_token']}", err=True)
    # raises what cannot be searched, and indexes a corpus; on a thread, so that Ctrl-C ends it
    retriever = spawn(lambda: open_retriever(settings)).result()
    with closing(retriever):  # a corpus is read on while no run searches it
        app, runs = make_server(host, configure)
        logs.configure_logging(settings.api_log)
        return uvicorn_server.serve(app, runs, host, port)
