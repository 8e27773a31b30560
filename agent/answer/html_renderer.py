"""A document as HTML: a page of its own that needs no script, or a fragment of another page.

Hooks for style and script, in addition to the roles of the document as classes:

- sections: `section` with `#answer`, `#sources`, `#closest`, `#tries`, `#checked`, `#warnings`, and
  of a report `#method`, `#findings`, `#conflicts`, `#confidence`, `#facts`, `#links`
- a sentence: `span.sentence.VERDICT`; `data-why` says how it was judged
- the number of a source: `a.marker[data-source=N]`; `href` leads to the quote nearest to the text
- a source: `div.source#source-N`, in it each quote as `div.quote#quote-N-K` with `a.there`
- facts: `table.slots`, a row each with `.badge.filled`, `.badge.missing` or `.badge.conflict`
- a disagreement: `div.disagreement`, in it a `div.side` for each value
- what to try: `#tries li.deeper`, `#tries li.rephrase`
- a claim of a report: `span.sentence.VERDICT`, then `a.verdict.VERDICT#claim-N`, whose `href` leads
  to what decides on it: `details.evidence.VERDICT#evidence-N` in the margin of its `div.row`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent.answer import doc
from agent.answer.html import (
    EMPTY,
    LINK_SCHEMES,
    Markup,
    element,
    join_markup,
    language_attributes,
    link_element,
    render_document,
)
from agent.evidence.bm25 import rank_texts
from agent.state import url_scheme

STYLES = tuple(f"agent.answer/{name}.css" for name in ("base", "page", "check"))
CHECK_SCRIPT = "agent.answer/check.js"
MAX_NOTE = 300  # characters of a quote that a mark shows when it is pointed at


def render_page(page: doc.View, *more_styles: str) -> str:
    """The document as a page of its own. `more_styles` are style sheets, each as `package/file`."""
    renderer = _Renderer(page)
    has_answer = any(one.id == "answer" and one.blocks for one in page.sections)
    skip = element("a", "Skip to the answer", href="#answer", class_="skip")
    body = (skip if has_answer else EMPTY, *renderer.render(has_navigation=True))
    is_check = any(isinstance(one, doc.ReportLine) for one in _all_blocks(page))
    script = CHECK_SCRIPT if is_check else ""
    return render_document(page.title, join_markup(body), *STYLES, *more_styles, script=script)


def render_fragment(page: doc.View, prefix: str = "") -> Markup:
    """The document without title and landmarks. `prefix` is put before each id, to be unique."""
    return join_markup(_Renderer(page, prefix).render_parts())


def render_body(page: doc.View) -> Markup:
    """The document without what only leads around on it."""
    return join_markup(_Renderer(page).render())


def _all_blocks(page: doc.View) -> Iterator[doc.Block]:
    yield from page.head
    yield from (block for section in page.sections for block in section.blocks)


def _role(role: str) -> dict[str, str]:
    return {"class_": role} if role else {}


class _Renderer:
    """Renders the blocks of one document, of which it knows the sources."""

    def __init__(self, page: doc.View, prefix: str = "") -> None:
        self._page, self._prefix = page, prefix
        entries = (one for one in _all_blocks(page) if isinstance(one, doc.SourceEntry))
        self._sources = {one.number: one for one in entries}
        self._blocks: dict[type, Callable[[Any], Markup]] = {
            doc.Heading: self._heading,
            doc.Prose: self._prose,
            doc.Bullets: self._bullets,
            doc.Table: self._table,
            doc.Quotation: self._quote,
            doc.SourceEntry: self._source,
            doc.Group: self._group,
            doc.Evidence: self._evidence,
            doc.ReportLine: self._report_line,
        }

    def render(self, *, has_navigation: bool = False) -> Iterator[Markup]:
        page = self._page
        title = self.foreign("h1", [page.title]) if page.title else EMPTY
        contents = self._contents() if has_navigation and page.has_contents else EMPTY
        foot = (part for one in page.foot for part in self._content(one, self._id(one.id)))
        yield element("header", title, *map(self.block, page.head), contents)
        yield element("main", *map(self._section, page.sections))
        yield element("footer", *foot) if page.foot else EMPTY

    def render_parts(self) -> Iterator[Markup]:
        """The parts without title and landmarks, as another page takes them."""
        page = self._page
        yield from map(self.block, page.head)
        yield self._contents() if page.has_contents else EMPTY
        yield from map(self._section, (*page.sections, *page.foot))

    def _id(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _contents(self) -> Markup:
        """The headings of the page, each a link."""
        items = []
        for section in filter(lambda one: one.blocks, self._page.sections):
            inner = [block for block in section.blocks if isinstance(block, doc.Heading)]
            links = [
                element("li", self.foreign("a", [one.text], href=f"#{self._id(one.id)}"))
                for one in inner
            ]
            link = element("a", section.heading, href=f"#{self._id(section.id)}")
            items.append(element("li", link, element("ul", *links) if links else EMPTY))
        return element("nav", element("ul", *items), aria_label="Contents", class_="contents")

    def _section(self, section: doc.PagePart) -> Markup:
        """A section, which is a landmark, with its heading; EMPTY without blocks."""
        if not section.blocks:
            return EMPTY
        name = self._id(f"{section.id}-heading")
        content = self._content(section, name)
        return element("section", *content, id=self._id(section.id), aria_labelledby=name)

    def _content(self, section: doc.PagePart, heading_id: str) -> Iterator[Markup]:
        yield element("h2", section.heading, id=heading_id)
        yield from map(self.block, section.blocks)

    # --- blocks ----------------------------------------------------------------------------------

    def block(self, block: doc.Block) -> Markup:
        """A block as an element."""
        return self._blocks[type(block)](block)

    def _heading(self, heading: doc.Heading) -> Markup:
        name = {"id": self._id(heading.id)} if heading.id else {}
        return self.foreign("h3", [heading.text], **name)

    def _prose(self, prose: doc.Prose) -> Markup:
        alert = {"role": "alert"} if prose.role == "trouble" else {}
        return self.foreign("p", prose.parts, **_role(prose.role), **alert)

    def _bullets(self, bullets: doc.Bullets) -> Markup:
        return element("ul", *map(self._item, bullets.items), **_role(bullets.role))

    def _group(self, group: doc.Group) -> Markup:
        title = element("p", element("b", group.title)) if group.title else EMPTY
        return element("div", title, *map(self.block, group.blocks), **_role(group.role))

    def _item(self, item: doc.Item) -> Markup:
        nested = [element("ul", *map(self._item, item.items))] if item.items else []
        attributes = _role(item.role) | ({"id": self._id(item.id)} if item.id else {})
        language = language_attributes(doc.plain_text(item.parts))
        return element("li", *map(self.inline, item.parts), *nested, **attributes, **language)

    def _table(self, table: doc.Table) -> Markup:
        head = element("tr", *(self.foreign("th", [cell], scope="col") for cell in table.head))
        rows = (self._row(row, has_name=bool(table.role)) for row in table.rows)
        made = element(
            "table", element("thead", head), element("tbody", *rows), **_role(table.role)
        )
        return element("div", made, class_="wide")

    def _row(self, row: Sequence[doc.Parts], *, has_name: bool) -> Markup:
        cells = [self.foreign("td", parts) for parts in row]
        if has_name:
            cells[0] = self.foreign("th", row[0], scope="row")
        return element("tr", *cells)

    def _source(self, source: doc.SourceEntry) -> Markup:
        """A source with its quotes, a place on the page to which marks lead."""
        title = source.title or source.url
        link = link_element(source.url, title, **language_attributes(title))
        number = element("span", f"[{source.number}]", class_="number")
        lines = (element("p", line, class_="quiet") for line in (source.url, source.about) if line)
        quotes = (self._quote(one, source.number, n) for n, one in enumerate(source.quotes, 1))
        head = element("p", number, " ", link, class_="title")
        return element(
            "div",
            *(head, *lines, *quotes),
            id=self._id(f"source-{source.number}"),
            class_="source",
            tabindex="-1",
        )

    def _quote(self, quote: doc.Quotation, source: int = 0, n: int = 0) -> Markup:
        """A quote, and the link that opens its page at it."""
        words = element("blockquote", self.foreign("p", [quote.text]))
        match = "" if quote.match == "exact" else f" ({quote.match} match)"
        is_open = url_scheme(quote.url) in LINK_SCHEMES
        label = f"Open the page at this quote{match}"
        link = link_element(quote.url, label, class_="there") if is_open else EMPTY
        place = self.foreign("span", [quote.place]) if quote.place else EMPTY
        below = element("p", place, " " if place else "", link, class_="quiet")
        place_id = {"id": self._id(f"quote-{source}-{n}"), "tabindex": "-1"} if n else {}
        return element("div", words, below if link or place else EMPTY, class_="quote", **place_id)

    def _report_line(self, line: doc.ReportLine) -> Markup:
        words = self.foreign("p", line.parts)
        margin = element("div", *map(self._evidence, line.evidence), class_="margin")
        return element("div", words, margin, class_="row")

    def _evidence(self, one: doc.Evidence) -> Markup:
        """The verdict in words; a click opens the quote that decides, or is nearest."""
        summary = element("summary", one.summary, class_=f"verdict {one.verdict}")
        name = {"class_": f"evidence {one.verdict}", "id": self._id(f"evidence-{one.number}")}
        is_open = {"open": ""} if one.is_open else {}
        return element("details", summary, *map(self.block, one.blocks), **name, **is_open)

    # --- words -----------------------------------------------------------------------------------

    def foreign(self, tag: str, parts: doc.Parts, **attributes: str) -> Markup:
        """An element with parts, and the language and direction of their words."""
        language = language_attributes(doc.plain_text(parts))
        return element(tag, *map(self.inline, parts), **attributes, **language)

    def inline(self, part: doc.Inline) -> str:
        """Words as text or an element."""
        match part:
            case doc.Marks(numbers=numbers, about=about):
                return join_markup(self._mark(number, about) for number in numbers)
            case doc.Sentence(parts=parts, verdict=verdict, note=note):
                why = {"data_why": note} if note else {}
                inner = map(self.inline, parts)
                return element("span", *inner, class_=f"sentence {verdict}", **why)
            case doc.Verdict(text=text, verdict=verdict, number=number):
                target = {"href": f"#{self._id(f'evidence-{number}')}"}
                target |= {"id": self._id(f"claim-{number}"), "class_": f"verdict {verdict}"}
                return element("a", text, **target)
            case doc.Text():
                return _render_text(part)
        return part

    def _mark(self, number: int, about: str) -> Markup:
        """`[1]`, a link to the quote of its source that shares most with the text before it."""
        source = self._sources.get(number, doc.SourceEntry(number, "", ""))
        quotes = [one.text for one in source.quotes]
        ranks = rank_texts(quotes, about) if about and len(quotes) > 1 else [0.0] * len(quotes)
        best = max(range(len(quotes)), key=ranks.__getitem__, default=None)
        target = f"source-{number}" if best is None else f"quote-{number}-{best + 1}"
        return element(
            "a",
            f"[{number}]",
            href=f"#{self._id(target)}",
            class_="marker",
            data_source=str(number),
            aria_label=f"Quote {number}, from {source.title or source.url}",
            **({} if best is None else {"title": quotes[best][:MAX_NOTE]}),
        )


def _render_text(part: doc.Text) -> str:
    text, role, url, note = part
    if role == "strong":
        return element("b", text)
    if url or note:
        return link_element(url, text, **_role(role), **({"title": note} if note else {}))
    if not role:
        return text
    if role.startswith("mark"):
        return element("span", f"({text})", **_role(role), dir="ltr", lang="en")
    return element("span", text, **_role(role))
