"""The blocks of an element of a page: a paragraph, an item or a table row each, with its links."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple

from agent.documents.blocks import CELL, LINE, BlockBuilder, BlockKind, TextBlock

Element = Any  # lxml has no type hints

BLOCK_TAGS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol "
    "option p pre section summary table tbody tfoot thead title tr ul".split()
)
_CELL_TAGS = frozenset(("td", "th"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROW_LEVEL = 9  # of the head of a table, as a heading
_MAX_AROUND = 3  # elements around a text, one of which may be the item of a list
_LINE_BREAKS = str.maketrans("\n\r", "  ")


class LinkTarget(NamedTuple):
    """What a link leads to: see `TextBlock`."""

    url: str
    title: str = ""
    is_note: bool = False


def read_blocks(
    root: Element,
    cells: Container[Element] = frozenset(),
    links: Mapping[Element, LinkTarget] | None = None,
) -> Iterator[TextBlock]:
    """The blocks of an element in document order, cells joined by ` | `.

    `cells` are elements that are read as cells of a row, though they are none.
    """
    from lxml.etree import iterwalk

    reader = _BlockReader(cells, links or {})
    for event, node in iterwalk(root, events=("start", "end")):
        is_start = event == "start"
        if block := reader.enter(node) if is_start else reader.leave(node):
            yield block
        if is_start or node is not root:
            text = (node.text if is_start else node.tail) or ""
            reader.builder.add(text if reader.is_in_code else text.translate(_LINE_BREAKS))
    if block := reader.builder.build("paragraph"):
        yield block


class _BlockReader:
    """Goes through the elements of a page once. Inside a cell the borders of blocks end no line."""

    def __init__(self, cells: Container[Element], links: Mapping[Element, LinkTarget]) -> None:
        self.builder = BlockBuilder()
        self._cells = cells
        self._links = links
        self._starts: dict[Element, int] = {}  # of the links that are open
        self._numbers: dict[Element, int] = {}  # of the last item of each ordered list
        self._depth = 0  # of cells in cells
        self._code_depth = 0

    @property
    def is_in_code(self) -> bool:
        """Whether line breaks are shown as such."""
        return self._code_depth > 0

    def enter(self, node: Element) -> TextBlock | None:
        """Begin an element; returns the block that ends before it."""
        block = self._part(node, node.getparent())
        self._depth += self._is_cell(node)
        self._code_depth += node.tag == "pre"
        if node.tag == "ol":
            start = node.get("start", "")
            self._numbers[node] = (int(start) if start.isdecimal() and len(start) < 10 else 1) - 1
        if node.tag == "li" and node.getparent() in self._numbers:
            self._numbers[node.getparent()] += 1
        if node.tag == "br":
            self.builder.add(" " if self._depth else "\n")
        if node in self._links:
            self._starts[node] = self.builder.length
        return block

    def leave(self, node: Element) -> TextBlock | None:
        """End an element; returns the block that ends with it."""
        if node in self._links:
            url, title, is_note = self._links[node]
            self.builder.link(self._starts[node], url, title, is_note=is_note)
        self._depth -= self._is_cell(node)
        self._code_depth -= node.tag == "pre"
        return self._part(node, node)

    def _is_cell(self, node: Element) -> bool:
        return node.tag in _CELL_TAGS or node in self._cells

    def _part(self, node: Element, container: Element | None) -> TextBlock | None:
        """Part what stands in a container from what is behind a border of an element."""
        if self._is_cell(node):
            self.builder.separate(CELL)
        elif node.tag in BLOCK_TAGS and self._depth:
            self.builder.separate(LINE)
        elif node.tag in BLOCK_TAGS:
            kind, number, level = self._describe(container)
            return self.builder.build(kind, number, level)
        return None

    def _describe(self, container: Element | None) -> tuple[BlockKind, int | None, int]:
        """The kind, number and level of the text in an element."""
        around = () if container is None else chain((container,), container.iterancestors())
        for element in islice(around, _MAX_AROUND):
            if level := _HEADINGS.get(element.tag):
                return "heading", None, level
            if element.tag == "tr":
                is_head = element.find("td") is None
                return "heading" if is_head else "row", None, _ROW_LEVEL
            if element.tag == "li":
                return "item", self._numbers.get(element.getparent()), 0
        return "paragraph", None, 0
