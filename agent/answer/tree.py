"""What is shown of an answer, a check or a trace: a small tree that every writer knows.

A writer makes text, Markdown or HTML of it and knows nothing of what it is about. A role says what
a part is; it is the class of its element in HTML. Texts are foreign: writers escape them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Text(NamedTuple):
    """Words of some role, or words that are a link. HTML shows `note` when they are pointed at.

    Roles with a look of their own: `strong`, `quiet`, `warn`, and `mark` for words in parentheses.
    """

    text: str
    role: str = ""
    url: str = ""
    note: str = ""


class Marks(NamedTuple):
    """The numbers of the sources of what stands before: `[1][2]`."""

    numbers: Sequence[int]


Inline: TypeAlias = str | Text | Marks
Parts: TypeAlias = Sequence[Inline]


class Heading(NamedTuple):
    """A heading inside of a section."""

    text: str
    id: str = ""


class Prose(NamedTuple):
    """A paragraph."""

    parts: Parts
    role: str = ""


class Item(NamedTuple):
    """An item of a list, and the items under it."""

    parts: Parts
    items: Sequence[Item] = ()
    role: str = ""
    id: str = ""


class Bullets(NamedTuple):
    """A list."""

    items: Sequence[Item]
    role: str = ""


class Table(NamedTuple):
    """A table. One with a role has the names of its rows in the first column."""

    head: Sequence[str]
    rows: Sequence[Sequence[Parts]]
    role: str = ""


class Quotation(NamedTuple):
    """A passage of a page, where it stands there, and the address that opens the page at it."""

    text: str
    url: str = ""
    place: str = ""
    match: str = "exact"


class SourceEntry(NamedTuple):
    """A source with its quotes. `about` says in words what was read of it."""

    number: int
    title: str
    url: str
    about: str = ""
    quotes: Sequence[Quotation] = ()


class Group(NamedTuple):
    """Blocks that belong together, in a box if they have a title."""

    blocks: Sequence[Block]
    role: str = ""
    title: str = ""


class Drawing(NamedTuple):
    """What only HTML can show. Unlike all other texts it is markup already."""

    markup: str


class PagePart(NamedTuple):
    """A part of a page; without blocks it is not shown. `id` names it in HTML.

    `is_lead`: it follows the title, so that in Markdown it needs no heading.
    """

    heading: str
    blocks: Sequence[Block]
    id: str
    is_lead: bool = False


Block: TypeAlias = "Heading | Prose | Bullets | Table | Quotation | SourceEntry | Group | Drawing"


class Shown(NamedTuple):
    """All that is shown: what stands under the title, the sections, and how it ends."""

    title: str
    head: Sequence[Block] = ()
    sections: Sequence[PagePart] = ()
    foot: Sequence[PagePart] = ()
    has_contents: bool = False


def plain_text(parts: Parts) -> str:
    """The words of parts, without marks."""
    return "".join(part if isinstance(part, str) else getattr(part, "text", "") for part in parts)
