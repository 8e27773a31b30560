"""The document model: what is shown of an answer, a check or a table, for every renderer.

A renderer makes text, Markdown or HTML of it and knows nothing of what it is about. A role says
what a part is; it is the class of its element in HTML. Texts are foreign: renderers escape them.
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
    """The numbers of the sources of the text before: `[1][2]`.

    `about` is the text before them: HTML links each to the quote of its source that is nearest.
    """

    numbers: Sequence[int]
    about: str = ""


class Sentence(NamedTuple):
    """A sentence with its marks. `note` says in words how it was judged."""

    parts: Sequence[str | Text | Marks]
    verdict: str
    note: str = ""


class Verdict(NamedTuple):
    """The verdict on a claim of a report, in words; HTML links it to the evidence of `number`."""

    text: str
    verdict: str
    number: int = 0


Inline: TypeAlias = str | Text | Marks | Sentence | Verdict
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
    """A passage of a page, its place there, and the address that opens the page at it."""

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


class Evidence(NamedTuple):
    """What decides on a claim of a report, folded unless `is_open`. Text does not show it."""

    number: int
    verdict: str
    summary: str
    blocks: Sequence[Block]
    is_open: bool = False


class ReportLine(NamedTuple):
    """A line of a report that was checked, with what decides on each of its claims."""

    parts: Parts
    evidence: Sequence[Evidence] = ()


class PagePart(NamedTuple):
    """A section; without blocks it is not shown. `id` names it in HTML.

    `is_lead`: it follows the title, so that in Markdown it needs no heading.
    """

    heading: str
    blocks: Sequence[Block]
    id: str
    is_lead: bool = False


Block: TypeAlias = (
    "Heading | Prose | Bullets | Table | Quotation | SourceEntry | Group | Evidence | ReportLine"
)


class View(NamedTuple):
    """All that is shown: what follows the title, the sections, and how it ends."""

    title: str
    head: Sequence[Block] = ()
    sections: Sequence[PagePart] = ()
    foot: Sequence[PagePart] = ()
    has_contents: bool = False


def plain_text(parts: Parts) -> str:
    """The words of parts, without marks."""
    return "".join(
        part
        if isinstance(part, str)
        else plain_text(part.parts)
        if isinstance(part, Sentence)
        else getattr(part, "text", "")
        for part in parts
    )
