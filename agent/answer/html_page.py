"""A tree as one self-contained HTML page. Each `[n]` links to its source on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from agent.answer import tree
from agent.answer.html import (
    EMPTY,
    Markup,
    element,
    escape_html,
    join_markup,
    language_attributes,
    link_element,
    render_document,
)

MAX_HOVER = 1000  # characters of quotes that a mark shows


def write_html(page: tree.Shown, *sheets: str, has_hover: bool = False) -> str:
    """The page with its styles: `sheets` are style sheets, each as `package/file`.

    `has_hover`: a mark shows the quotes of its source when it is pointed at.
    """
    contents = _render_contents(page.sections) if page.has_contents else EMPTY
    body = write_body(page, contents)
    body = _add_quotes(body, page) if has_hover else body
    return render_document(page.title, join_markup((_render_skip_link(page), body)), *sheets)


def write_body(page: tree.Shown, contents: Markup = EMPTY) -> Markup:
    """What stands on the page, without what only leads around on it."""
    title = foreign_element("h1", [page.title])
    foot = (part for section in page.foot for part in _render_content(section, section.id))
    parts = (
        element("header", title, *map(render_block, page.head), contents),
        element("main", *map(_render_section, page.sections)),
        element("footer", *foot) if page.foot else EMPTY,
    )
    return join_markup(parts)


def _add_quotes(main: Markup, page: tree.Shown) -> Markup:
    """The sections, in which each mark shows the quotes of its source when it is pointed at.

    The begin of a mark stands for itself: no foreign text holds a quotation mark that is not
    escaped.
    """
    for block in (block for section in page.sections for block in section.blocks):
        if isinstance(block, tree.SourceEntry):
            quotes = "\n".join(f"“{one.text}”" for one in block.quotes)[:MAX_HOVER]
            begin = f'<a href="#source-{block.number}" class="marker"'
            main = Markup(main.replace(begin, f'{begin} title="{escape_html(quotes)}"'))
    return main


def _render_skip_link(page: tree.Shown) -> Markup:
    if not any(section.id == "answer" and section.blocks for section in page.sections):
        return EMPTY
    return element("a", "Skip to the answer", href="#answer", class_="skip")


def _render_contents(sections: Iterable[tree.PagePart]) -> Markup:
    """The headings of the page, each a link."""
    items = []
    for section in sections:
        inner = [block for block in section.blocks if isinstance(block, tree.Heading)]
        links = (
            element("li", foreign_element("a", [one.text], href=f"#{one.id}")) for one in inner
        )
        nested = element("ul", *links) if inner else EMPTY
        link = element("a", section.heading, href=f"#{section.id}")
        items += [element("li", link, nested)] if section.blocks else []
    return element("nav", element("ul", *items), aria_label="Contents", class_="contents")


def _render_section(section: tree.PagePart) -> Markup:
    """A section, which is a landmark, with its heading; EMPTY without blocks."""
    if not section.blocks:
        return EMPTY
    heading_id = f"{section.id}-heading"
    content = _render_content(section, heading_id)
    return element("section", *content, id=section.id, aria_labelledby=heading_id)


def _render_content(section: tree.PagePart, heading_id: str) -> Iterator[Markup]:
    yield element("h2", section.heading, id=heading_id)
    for is_list, blocks in groupby(section.blocks, lambda one: isinstance(one, tree.SourceEntry)):
        shown = join_markup(map(render_block, blocks))
        yield element("ul", shown, class_="sources") if is_list else shown


def render_block(block: tree.Block) -> Markup:
    """A block as an element."""
    match block:
        case tree.Heading(text=text, id=id):
            return foreign_element("h3", [text], id=id)
        case tree.Prose(parts=parts, role=role):
            alert = {"role": "alert"} if role == "trouble" else {}
            return foreign_element("p", parts, **_role(role), **alert)
        case tree.Bullets(items=items, role=role):
            return element("ul", *map(_render_item, items), **_role(role))
        case tree.Table():
            return _render_table(block)
        case tree.Quotation():
            return _render_quote(block)
        case tree.SourceEntry():
            return _render_source(block)
        case tree.Drawing(markup=markup):
            return Markup(markup)
        case tree.Group():
            title = element("p", element("b", block.title)) if block.title else EMPTY
            return element("div", title, *map(render_block, block.blocks), **_role(block.role))


def foreign_element(tag: str, parts: tree.Parts, **attributes: str) -> Markup:
    """An element with parts, and the language and direction of their words."""
    language = language_attributes(tree.plain_text(parts))
    return element(tag, *map(_render_inline, parts), **attributes, **language)


def _role(role: str) -> dict[str, str]:
    return {"class_": role} if role else {}


def _render_inline(part: tree.Inline) -> str:
    match part:
        case tree.Marks(numbers=numbers):
            return join_markup(map(_render_mark, numbers))
        case tree.Text(text=text, role="strong"):
            return element("b", text)
        case tree.Text(text=text, role=role, url=url, note=note) if url or note:
            return link_element(url, text, **_role(role), **({"title": note} if note else {}))
        case tree.Text(text=text, role=""):
            return text
        case tree.Text(text=text, role=role):
            ours = {"dir": "ltr", "lang": "en"} if role.startswith("mark") else {}
            return element("span", text, **_role(role), **ours)
    return part


def _render_mark(number: int) -> Markup:
    """`[1]`, a link to the quotes of its source."""
    label = f"[{number}], source {number}"
    return element("a", f"[{number}]", href=f"#source-{number}", class_="marker", aria_label=label)


def _render_item(item: tree.Item) -> Markup:
    nested = [element("ul", *map(_render_item, item.items))] if item.items else []
    attributes = _role(item.role) | ({"id": item.id} if item.id else {})
    language = language_attributes(tree.plain_text(item.parts))
    return element("li", *map(_render_inline, item.parts), *nested, **attributes, **language)


def _render_table(table: tree.Table) -> Markup:
    head = element("tr", *(foreign_element("th", [cell], scope="col") for cell in table.head))
    rows = (_render_row(row, has_name=bool(table.role)) for row in table.rows)
    return element("table", element("thead", head), element("tbody", *rows), **_role(table.role))


def _render_row(row: Sequence[tree.Parts], *, has_name: bool) -> Markup:
    cells = [foreign_element("td", parts) for parts in row]
    if has_name:
        cells[0] = foreign_element("th", row[0], scope="row")
    return element("tr", *cells)


def _render_source(source: tree.SourceEntry) -> Markup:
    """A source with its quotes, a place on the page to which marks lead."""
    title = source.title or source.url
    return element(
        "li",
        element("span", f"[{source.number}]", class_="number"),
        element(
            "p", link_element(source.url, title, **language_attributes(title)), class_="source"
        ),
        *(element("p", line, class_="quiet") for line in (source.url, source.about) if line),
        *map(_render_quote, source.quotes),
        id=f"source-{source.number}",
        tabindex="-1",
    )


def _render_quote(quote: tree.Quotation) -> Markup:
    """A quote, and the link that opens its page at it."""
    words = foreign_element("blockquote", [quote.text])
    if not quote.url:
        return words
    match = "" if quote.match == "exact" else f" ({quote.match} match)"
    link = link_element(quote.url, f"Open the page at this quote{match}", class_="there")
    place = foreign_element("span", [f"{quote.place} "], class_="quiet") if quote.place else EMPTY
    return element("div", words, place, link)
