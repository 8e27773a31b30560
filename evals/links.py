"""Whether a citation's link opens a real page at its quote, in a real browser.

Quotes are drawn by SHA-1 from the text of the first 60 pages of each set; the page itself is served
on loopback and opened in headless Chromium by the link of the citation. *opened at the quote*: the
quote's first word is in view after a fresh navigation, 4,000 pixels of nothing above the page;
where the same words stand on it more often, the place that the citation means. *several*: up to
three sentences or rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.documents import sniff
from agent.documents.reading import read_body
from agent.evidence import is_row, split_sentences
from agent.evidence.links import quote_link
from evals.harness import Bench, Evaluation, Table, count, main, share, size
from evals.page_kinds import load_articles
from evals.slots import read_pages
from tests.support.browser import Browser, Tab, find_chromium
from tests.support.page_server import PageServer, reply

MOST = 60  # pages of each set
HTML = "Content-Type: text/html; charset=utf-8"
TALL = "<div style='height:4000px'></div>"

#: Finds the words of a quote in the page, without blanks and punctuation. The value has, for each
#: occurrence, whether its first word is in view, and whether any of it is.
FIND = r"""
(quote => {
  const skip = 'script,style,noscript,template,sup.reference,.mw-editsection';
  const plain = text => [...text.normalize('NFKC').toLowerCase()].filter(
    char => /[\p{L}\p{N}]/u.test(char)).join('');
  const wanted = plain(quote);
  let text = ''; const places = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest(skip)) continue;
    for (let i = 0; i < node.length; i++) {
      const char = plain(node.data[i]);
      for (const one of char) { text += one; places.push([node, i]); }
    }
  }
  const seen = [];
  for (let at = text.indexOf(wanted); at >= 0 && wanted; at = text.indexOf(wanted, at + 1)) {
    const rects = [at, at + wanted.length - 1].map(i => {
      const range = document.createRange(), [node, offset] = places[i];
      range.setStart(node, offset); range.setEnd(node, offset + 1);
      return range.getBoundingClientRect();
    });
    const [first, last] = rects;
    if (!first.height) continue;
    seen.push([first.bottom > 0 && first.top < innerHeight,
               last.bottom > 0 && first.top < innerHeight]);
  }
  return seen;
})
"""


class WebPage(NamedTuple):
    """A real page."""

    set: str
    title: str
    url: str
    body: bytes


class DrawnQuote(NamedTuple):
    """A quote of a page: where it stands in the page's stored text."""

    kind: str
    start: int
    end: int


class OpenedLink(NamedTuple):
    """The result of opening a link. `right` is None where the page does not show the quote."""

    page: WebPage
    quote: DrawnQuote
    words: str
    link: str
    right: bool | None


def load_web_pages(data: Path) -> Iterator[WebPage]:
    """The real pages: articles, and pages of Wikipedia."""
    for one in load_articles(data):
        yield WebPage("articles", one.url, one.url, one.html)
    for row in read_pages(data):
        yield WebPage("wikipedia", row["title"], row["url"], row["html"].encode())


def load(data: Path) -> list[WebPage]:
    """The first pages of each set; none without a browser."""
    pages = list(load_web_pages(data)) if find_chromium() else []
    sets = dict.fromkeys(page.set for page in pages)
    return [page for name in sets for page in [p for p in pages if p.set == name][:MOST]]


def draw_quotes(text: str, name: str) -> Iterator[DrawnQuote]:
    """Yield a quote of each kind; the choice depends on the text and the name alone."""
    spans = [(a, b) for a, b in split_sentences(text) if len(text[a:b].split()) >= 4]
    order = sorted(spans, key=lambda s: hashlib.sha1(f"{name} {s}".encode()).digest())
    rows = [span for span in order if is_row(text[slice(*span)])]
    prose = [span for span in order if not is_row(text[slice(*span)])]
    yield from (DrawnQuote("row", *span) for span in rows[:1])
    yield from (DrawnQuote("sentence", *span) for span in prose[:1])
    for start, _ in prose[1:2]:
        yield DrawnQuote(
            "several", start, spans[min(spans.index((start, _)) + 2, len(spans) - 1)][1]
        )
    for start, end in prose[2:3]:
        borders = [m.start() + start for m in re.finditer(r"(?<!\w)\w", text[start:end])]
        yield DrawnQuote("part", borders[len(borders) // 4], end)


def prepare_page(body: bytes) -> bytes:
    """Return a page with empty space above and below, without its scripts, which have no server."""
    text = re.sub(r"(?is)<script\b.*?</script\s*>", "", sniff.decode(body, "text/html"))
    text = re.sub(r"(<body\b[^>]*>)", lambda m: m[1] + TALL, text, count=1, flags=re.I)
    head, end, rest = text.rpartition("</body>")
    return (f"{head}{TALL}{end}{rest}" if end else text + TALL).encode()


def measure(page: WebPage, _: Bench) -> Iterator[OpenedLink]:
    """Open every drawn quote of a page."""
    text = read_body(page.body, "text/html", page.url).text
    quotes = draw_quotes(text, page.title)
    with Browser(find_chromium() or "") as browser, PageServer() as server:
        server.answers["/"] = reply(prepare_page(page.body), "200 OK", HTML)
        with browser.tab(1280, 800) as tab:
            yield from (open_link(tab, f"{server.url}/", page, text, quote) for quote in quotes)


def open_link(tab: Tab, base: str, page: WebPage, text: str, quote: DrawnQuote) -> OpenedLink:
    """Open one link, and see whether the quote is in view."""
    words = text[quote.start : quote.end]
    address = quote_link(f"{base}?{quote.kind}", text, quote.start, quote.end)
    tab.open(address)
    tab.settle()
    seen = tab.run(f"{FIND}({json.dumps(words)})")
    before = len([m for m in re.finditer(re.escape(words), text) if m.start() < quote.start])
    same = len(seen) == len(re.findall(re.escape(words), text))
    right = seen[before][0] if same else any(first for first, _ in seen)
    return OpenedLink(page, quote, words, address, bool(right) if seen else None)


EVALUATION = Evaluation(
    title="Links that open at the quote, in a browser",
    load=load,
    measure=measure,
    needs="pages",
    tables=(
        Table(
            {"pages": "page.set", "quote": "quote.kind"},
            {
                "n": size,
                "opened at the quote": share("right"),
                "quote not on the page": count(lambda one: one.right is None),
            },
        ),
        Table({"pages": "page.set"}, {"n": size, "opened at the quote": share("right")}),
    ),
    missed=lambda one: f"{one.words}\n   {one.link}" if one.right is False else "",
)

if __name__ == "__main__":
    main("links")
