"""Title and text of an HTML page: the main text, with its tables and boxes where they stood."""

from __future__ import annotations

import logging
import re
from typing import Any

from agent.pages.boxes import boxes, lines

Element = Any

MAX_BYTES = 2_000_000
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*0(?![.\d]*[1-9])", re.I
)
_UNSEEN = (
    "//style | //template | //noscript | //iframe | //script[not(@type='application/ld+json')]"
    " | //*[@hidden] | //*[@aria-hidden='true'] | //sup[contains(@class, 'reference')]"
    " | //*[contains(@class, 'mw-editsection') or contains(@class, 'mw-jump-link')"
    " or contains(@class, 'navbar-mini')]"
)
_MARK = "⟦{}⟧"
_MARKS = re.compile(r"⟦(\d+)⟧")


def extract_html(html: str, url: str = "") -> tuple[str, str]:
    """Title and text; the text is empty where nothing is shown."""
    tree = parse(html)
    if tree is None:
        return "", ""
    prune(tree)
    return title(tree), text(tree, url)


def parse(html: str) -> Element | None:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        return document_fromstring(html.encode("utf-8", "replace")[:MAX_BYTES], parser=parser)
    except etree.ParserError:
        return None


def prune(tree: Element) -> None:
    """Take out what a reader does not see: instructions for machines hide there."""
    for element in tree.xpath(_UNSEEN):
        if element.tag not in ("html", "body") and element.getparent() is not None:
            element.drop_tree()
    for element in tree.xpath("//*[@style]"):
        if element.tag not in ("html", "body") and _HIDDEN.search(element.get("style")):
            if element.getparent() is not None:
                element.drop_tree()


def title(tree: Element) -> str:
    for path in ("//meta[@property='og:title']/@content", "//title", "//h1"):
        for found in tree.xpath(path):
            words = found if isinstance(found, str) else found.text_content()
            if words.strip():
                return " ".join(words.split())
    return ""


def text(tree: Element, url: str) -> str:
    import trafilatura
    from lxml.html import Element as new

    body = tree.find("body")
    if body is None:
        return ""
    kept = []
    for n, box in enumerate(boxes(body)):
        kept.append("\n".join(lines(box)))
        mark = new("p")
        mark.text, mark.tail = _MARK.format(n), box.tail
        box.getparent().replace(box, mark)
    got = trafilatura.bare_extraction(
        tree, url=url or None, fast=True, include_comments=False
    )
    main = (got.text or "") if got else ""
    return _MARKS.sub(lambda m: "\n" + kept[int(m[1])] + "\n", main)
