"""What the program reads of a file or of a page: its text, its places, and what it does not read.

It is what to look at where an answer that should be there is not found. No model is asked.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.documents.body_text import BodyText
    from agent.state import Json

UNREADABLE = 4  # exit status
EPILOG = """\b
Examples:
  research-agent read report.docx
  research-agent read https://example.org/ --format json | jq .not_read
  research-agent read --mcp 'uvx notes-server' mcp://notes-server/fetch/17
"""


@shell.command(EPILOG)
@click.argument("source", metavar="FILE|URL")
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="Default: by stdout.")
@shell.options("browser mcp trust-env")
def command(source: str, form: str | None, **options: Any) -> int:
    """Print what the program reads of a file or a web page: JSON in a pipe, text on a terminal.

    An address that begins with mcp: is read at the MCP server that it names.

    "not_read" is what was seen of it and not read, how much, and why. Exit status: 0 it was read,
    2 wrong usage, 4 it could not be read.
    """
    from agent.errors import ReadFailed

    is_page = source.startswith(("http://", "https://", "mcp:"))
    try:
        read = _read_page(source, options) if is_page else _read_file(Path(source))
    except ReadFailed as error:
        shell.fail_in_lines(error)
        return UNREADABLE
    if form == "text" or (form is None and sys.stdout.isatty()):
        shell.print_text(_render_text(read))
    else:
        shell.print_json(read)
    return 0


def _read_file(file: Path) -> Json:
    """Raises UsageError for what is no file, ReadFailed for one that cannot be read."""
    from agent.documents.body_reader import BodyReader
    from agent.documents.body_text import Body, UnreadablePage
    from agent.documents.format_registry import SUFFIXES
    from agent.errors import ReadFailed
    from agent.search.corpus_documents import MAX_BYTES

    suffix = file.suffix.lower()
    if not file.is_file():
        raise UsageError(f"{file} is not a file.", "Name a file, or an http(s) address.")
    if suffix not in SUFFIXES:
        known = "research-agent doctor -v lists the supported types."
        raise UsageError(f"{file} is not a supported type.", known)
    if file.stat().st_size > MAX_BYTES:
        raise ReadFailed(f"{file} is larger than {MAX_BYTES // 1_000_000} MB.", outcome="rejected")
    reader = BodyReader()
    with closing(reader):
        try:
            found = reader.read(Body(file.read_bytes(), suffix=suffix))
        except (UnreadablePage, OSError) as error:
            raise ReadFailed(f"{file}: {error}.", outcome="invalid") from None
    return _describe(found.title or file.stem, found)


def _read_page(url: str, options: dict[str, Any]) -> Json:
    """Raises ReadFailed."""
    from agent.run.page_readers import open_page_reader
    from agent.search.mcp.source import load_place
    from agent.settings import load_options

    settings = load_options(options)
    with closing(open_page_reader(settings)) as reader:
        if not url.startswith("mcp:"):
            _, title, read = reader.load(url)
            return _describe(title, read)
        row = load_place(settings, url)
        read = reader.extract(row.body, row.media_type)
    return _describe(row.title or read.title or url, read)


def _describe(title: str, read: BodyText) -> Json:
    places = [{"start": start, "name": name, "number": n} for start, name, n in read.marks]
    lost = [{"what": what, "count": count, "why": why} for what, count, why in read.not_read]
    head = {"title": title, "text": read.text, "places": places}
    return {**head, "date": read.date, "not_read": lost}


def _render_text(read: Json) -> str:
    """The text with its places in brackets before each, and at the end what was not read."""
    text, places = read["text"], [*read["places"], {"start": len(read["text"]), "name": ""}]
    head = [read["title"], *([read["date"]] if read["date"] else []), ""]
    parts = [text[: places[0]["start"]]]
    for place, following in zip(places, places[1:], strict=False):
        number = f" {place['number']}" if place["number"] is not None else ""
        piece = text[place["start"] : following["start"]].strip("\n")
        parts.append(f"[{place['name']}{number}]\n{piece}" if place["name"] else piece)
    lost = [f"Not read: {one['count']} {one['what']}: {one['why']}" for one in read["not_read"]]
    return "\n".join([*head, *filter(None, parts), *(["", *lost] if lost else [])]) + "\n"
