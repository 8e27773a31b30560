"""Markdown (CommonMark and GitHub's tables): text from outside is escaped and never is markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import quote

from agent.answer import phrases
from agent.state import Claim
from agent.state.sanitizing import sanitize_for_display
from agent.state.urls import is_web_url

#: What a renderer could take for markup anywhere in a line, in Pandoc, MDX and mathematics too.
_INLINE_MARKUP = re.compile(
    r"[\\`*_{}\[\]<>|~$&^]"
    r"|(?<=[a-zA-Z]):(?=//)"  # a bare URL, which GitHub turns into a link
    r"|(?i:(?<=\bwww))\.|@"
    r"|!(?=\[|$)"  # an image
    r"|(?<!\S)#|#(?=\s|$)"  # the opening and the closing of a heading
)
#: What is markup only at the beginning of a line.
_LINE_START_MARKUP = re.compile(r"^(?:[-+=:%]|\d{1,9}(?=[.)]))")
#: Left as they are in a link destination. Characters that could end it are not among them, nor is
#: `;`, without which `&` cannot begin an entity.
_URL_CHARACTERS = "!#$%'*+,-./:=?@_~&"

#: How the number of a source is written as a marker.
MarkerFormat = Callable[[int], str]


def escape_markdown(text: str) -> str:
    """Escape text, so that a renderer shows it literally, on one line."""
    line = " ".join(sanitize_for_display(text).split())
    escaped = _INLINE_MARKUP.sub(lambda match: f"\\{match[0]}", line)
    start = _LINE_START_MARKUP.match(line)
    if start is None:
        return escaped
    number = start[0] if start[0].isdigit() else ""
    return f"{number}\\{escaped[len(number) :]}"


def format_link(url: str, label: str) -> str:
    """`[label](<URL>)`, or "" where the URL is not http(s). The label is Markdown."""
    destination = format_link_destination(url)
    return f"[{label}]({destination})" if destination else ""


def format_autolink(url: str) -> str:
    """`<URL>`, which is a link by itself, or the URL as text where it is not http(s)."""
    return format_link_destination(url) or escape_markdown(url)


def format_link_destination(url: str) -> str:
    """`<URL>`, with all that could end it percent-encoded, or "" where it is no web URL."""
    if not is_web_url(url):
        return ""
    return f"<{quote(url.strip(), _URL_CHARACTERS, errors='replace')}>"


def format_plain_marker(number: int) -> str:
    """A marker as text: `[1]`."""
    return f"[{number}]"


def linked_marker_format(destinations: Mapping[int, str]) -> MarkerFormat:
    """A format of markers that show as `[1]` and link to the destination of their number.

    The document must hold `format_link_definitions(destinations)`.
    """
    return lambda n: rf"[\[{n}\]][{n}]" if n in destinations else format_plain_marker(n)


def format_link_definitions(destinations: Mapping[int, str]) -> str:
    """The link reference definitions that linked markers refer to: `[1]: <URL>`, one a line."""
    return "\n".join(f"[{n}]: {destination}" for n, destination in destinations.items())


def format_markers(numbers: Iterable[int], format_marker: MarkerFormat) -> str:
    """The markers of some sources, without blanks between them."""
    return "".join(map(format_marker, numbers))


def format_sentence(claim: Claim, format_marker: MarkerFormat) -> str:
    """A claim with its markers, and in italics the verdict where it is not `supported`."""
    body, citations, end, verdict = phrases.split_sentence(claim)
    blank = " " if body.endswith(" ") else ""
    markers = format_markers(citations, format_marker)
    text = f"{escape_markdown(body)}{blank}{markers}{escape_markdown(end)}"
    return f"{text} *({verdict})*" if verdict else text


def format_claims(claims: Iterable[Claim], format_marker: MarkerFormat) -> str:
    """Claims as paragraphs, lists and tables."""
    blocks = phrases.group_claims(claims)
    return "\n\n".join(_format_block(block, format_marker) for block in blocks)


def _format_block(block: phrases.Block, format_marker: MarkerFormat) -> str:
    if block.form == "row":
        rows = [_format_row(claim, format_marker) for claim in block.claims]
        width = max(len(row) for row in (block.head, *rows))
        head = [escape_markdown(cell) for cell in block.head]
        body = format_table(_fill(head, width), (_fill(row, width) for row in rows))
    else:
        sentences = [format_sentence(claim, format_marker) for claim in block.claims]
        body = format_list(sentences) if block.form == "item" else " ".join(sentences)
    return "\n\n".join(filter(None, (escape_markdown(block.intro), body)))


def _format_row(claim: Claim, format_marker: MarkerFormat) -> list[str]:
    """The cells of a row; its markers and its verdict are in the last one."""
    *cells, last = map(escape_markdown, phrases.read_cells(claim.text))
    verdict = phrases.VERDICT_LABELS.get(claim.verdict, "")
    parts = (last, format_markers(claim.citations, format_marker), f"*({verdict})*" * bool(verdict))
    return [*cells, " ".join(filter(None, parts))]


def _fill(row: list[str], width: int) -> list[str]:
    return [*row, *[""] * (width - len(row))]


def format_list(items: Iterable[str]) -> str:
    """A bullet list. Items are Markdown."""
    return "\n".join(f"- {item}" for item in items)


def format_labelled_list(pairs: Iterable[phrases.LabelledText]) -> str:
    """A bullet list of labels, which are Markdown, and texts, which are escaped."""
    return format_list(f"**{label}**: {escape_markdown(text)}" for label, text in pairs)


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Cells are Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
