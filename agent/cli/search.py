"""Search alone: what the search providers find for a query. No model is asked, no page is read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.state import Json

EPILOG = """\b
Examples:
  research-agent search "LEGO founder" --search exa,tavily | jq -r .docs[].url
  research-agent search refunds --corpus ~/notes

\b
Exit status: 0 a provider answered, even if nothing was found; 1 none did (the
reason of each is in `attempts`); 2 wrong usage.
"""


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("words", metavar="QUERY", nargs=-1, required=True)
@shell.options("search mcp corpus offline no-cache trust-env")
def command(words: tuple[str, ...], **options: Any) -> int:
    """Print what search finds: JSON in a pipe, text on a terminal."""
    from agent.errors import SearchFailed
    from agent.run.search_once import open_limited_retriever, search_once
    from agent.settings import load_options

    settings = load_options(options)
    with open_limited_retriever(settings) as retriever:
        try:
            found = search_once(" ".join(words), settings, retriever)
        except SearchFailed as error:
            attempts = [attempt.model_dump(mode="json") for attempt in error.attempts]
            if not sys.stdout.isatty():
                shell.print_json({"docs": [], "attempts": attempts})
            return shell.fail_in_lines(error)
    if sys.stdout.isatty():
        shell.print_text(_render(found))
    else:
        shell.print_json(found)
    return 0


def _render(found: Json) -> str:
    from agent.state import sanitize_for_display

    rows = [(doc["title"], f"  {doc['url']}", f"  {doc['snippet']}") for doc in found["docs"]]
    lines = [sanitize_for_display(line) for row in rows for line in row if line.strip()]
    return "\n".join(lines or ["Nothing was found."]) + "\n"
