"""Markdown (CommonMark and GitHub's tables) made of text: nothing from outside becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import quote

from agent.answer import phrases
from agent.state import Claim
from agent.state.plain import printable
from agent.state.urls import scheme

LINKED = ("http", "https")
#: What a renderer could take for markup, wherever it stands; also of Pandoc, MDX and mathematics.
_ANYWHERE = re.compile(
    r"[\\`*_{}\[\]<>|~$&^]"
    r"|(?<=[a-zA-Z]):(?=//)"  # an address that would link itself
    r"|(?i:(?<=\bwww))\.|@"
    r"|!(?=\[|$)"  # an image
    r"|(?<!\S)#|#(?=\s|$)"  # a heading's beginning and end
)
#: What is markup only at the beginning of a line.
_FIRST = re.compile(r"^(?:[-+=:%]|\d{1,9}(?=[.)]))")
#: Kept in a URL as it is. Not what could end its place; nor `;`, so that `&` begins no entity.
_KEPT = "!#$%'*+,-./:=?@_~&"

Mark = Callable[[int], str]


def escaped(text: str) -> str:
    """Text of anybody's, on one line, as Markdown that shows it."""
    line = " ".join(printable(text).split())
    safe = _ANYWHERE.sub(lambda found: f"\\{found[0]}", line)
    first = _FIRST.match(line)
    if first is None:
        return safe
    number = first[0] if first[0].isdigit() else ""
    return f"{number}\\{safe[len(number) :]}"


def link(url: str, text: str) -> str:
    """A link with words of ours; "" where the URL leads to no page of the web."""
    return f"[{text}]({target(url)})" if target(url) else ""


def address(url: str) -> str:
    """A URL that is a link itself; text where it leads to no page of the web."""
    return target(url) or escaped(url)


def target(url: str) -> str:
    """`<URL>`, with nothing in it that could end that place; "" for another scheme than http(s)."""
    return f"<{quote(url.strip(), _KEPT, errors='replace')}>" if scheme(url) in LINKED else ""


def plain(number: int) -> str:
    """A marker as text: `[1]`."""
    return f"[{number}]"


def linked(targets: Mapping[int, str]) -> Mark:
    """Markers that are shown as `[1]` too, and lead to the definition of their number."""
    return lambda n: rf"[\[{n}\]][{n}]" if n in targets else plain(n)


def definitions(targets: Mapping[int, str]) -> str:
    """Where markers lead, by number: what `linked` needs at the end of its document."""
    return "\n".join(f"[{n}]: {where}" for n, where in targets.items())


def markers(numbers: Iterable[int], mark: Mark) -> str:
    """The markers of some sources, one after the other."""
    return "".join(map(mark, numbers))


def sentence(claim: Claim, mark: Mark) -> str:
    """A claim with its markers, and in words what checking it said against it."""
    body, citations, end, said = phrases.sentence(claim)
    space = " " if body.endswith(" ") else ""
    text = f"{escaped(body)}{space}{markers(citations, mark)}{escaped(end)}"
    return f"{text} *({said})*" if said else text


def paragraph(claims: Iterable[Claim], mark: Mark) -> str:
    """Sentences, one after the other."""
    return " ".join(sentence(claim, mark) for claim in claims)


def items(lines: Iterable[str]) -> str:
    """A list of Markdown lines."""
    return "\n".join(f"- {line}" for line in lines)


def labelled(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of labels, which are ours, and texts, which are anybody's."""
    return items(f"**{label}**: {escaped(text)}" for label, text in pairs)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown cells."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
