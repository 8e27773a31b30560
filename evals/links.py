"""Measures whether a citation's link opens a real page at its quote, in a real browser.

`python -m evals.links [--data DIR]`: quotes drawn by SHA-1 from the text that
`agent.pages` takes out of each page; the page itself is served on loopback and opened in
headless Chromium by the link of the citation. 4,000 empty pixels are added above and below the
content, so that the quote is in view only if the browser has scrolled to it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.documents import sniff
from agent.documents.reading import read_body
from agent.evidence import is_row, split_sentences
from agent.evidence.links import quote_link
from tests.support.browser import Browser, Tab, find_chromium
from tests.support.page_server import PageServer, reply

ROOT = Path(__file__).resolve().parents[1]
HTML = "Content-Type: text/html; charset=utf-8"
KINDS = ("sentence", "several", "part", "row")
NOTE = """The first 60 pages of each set. *opened at the quote*: the quote's first word is in view
after a fresh navigation, 4,000 pixels of nothing above the page; where the same words stand on
it more often, the place that the citation means. *several*: up to three sentences or rows."""
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


class DrawnQuote(NamedTuple):
    """A quote of a page: where it stands in the page's stored text."""

    kind: str
    start: int
    end: int


class OpenedLink(NamedTuple):
    """The result of opening a link. `right` is None where the page does not show the quote."""

    name: str
    kind: str
    right: bool | None
    quote: str
    link: str


def load_pages(data: Path) -> Iterator[tuple[str, str, str, bytes]]:
    """Yield set, name, URL and body of each page."""
    for file in sorted((data / "pages/article_html").glob("*.html.gz")):
        yield "articles", file.name[:16], "https://e.org/", gzip.decompress(file.read_bytes())
    with gzip.open(data / "worldcup/wikipedia_pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield "wikipedia", row["title"], row["url"], row["html"].encode()


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


def open_link(tab: Tab, base: str, name: str, text: str, quote: DrawnQuote) -> OpenedLink:
    """Open one link, and see whether the quote is in view."""
    words = text[quote.start : quote.end]
    address = quote_link(f"{base}?{quote.kind}", text, quote.start, quote.end)
    tab.open(address)
    tab.settle()
    seen = tab.run(f"{FIND}({json.dumps(words)})")
    before = len([m for m in re.finditer(re.escape(words), text) if m.start() < quote.start])
    same = len(seen) == len(re.findall(re.escape(words), text))
    right = seen[before][0] if same else any(first for first, _ in seen)
    return OpenedLink(name, quote.kind, bool(right) if seen else None, words, address)


def measure(data: Path, most: int = 60) -> list[OpenedLink]:
    """Open every drawn quote of at most `most` pages of each set."""
    found: list[OpenedLink] = []
    program = find_chromium()
    if program is None:
        return found
    count: Counter[str] = Counter()
    with Browser(program) as browser, PageServer() as server, browser.tab(1280, 800) as tab:
        for name, title, url, body in load_pages(data):
            count[name] += 1
            if count[name] > most:
                continue
            path = f"/{len(found)}-{count[name]}"
            server.answers[path] = reply(
                prepare_page(body), "200 OK", "Content-Type: text/html; charset=utf-8"
            )
            text = read_body(body, "text/html", url).text
            for quote in draw_quotes(text, title):
                found.append(open_link(tab, server.url + path, name, text, quote))
    return found


def report(found: list[OpenedLink]) -> str:
    """The part of RESULTS.md."""
    if not found:
        return "Skipped: chromium is not installed."
    lines = ["| pages | quote | n | opened at the quote | quote not on the page |"]
    lines.append("|---|---|---|---|---|")
    for name in dict.fromkeys(one.name for one in found):
        for kind in (*KINDS, "all"):
            some = [o for o in found if o.name == name and kind in (o.kind, "all")]
            shown = [o.right for o in some if o.right is not None]
            share = f"{sum(shown) / len(shown):.1%}" if shown else ""
            lines.append(f"| {name} | {kind} | {len(shown)} | {share} | {len(some) - len(shown)} |")
    return "\n".join([*lines, "", NOTE])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.links")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--most", type=int, default=60, help="pages of each set")
    parser.add_argument("--wrong", action="store_true", help="list the links that failed")
    given = parser.parse_args()
    found = measure(given.data.resolve(), given.most)
    for one in found:
        if given.wrong and not one.right:
            print(json.dumps(one._asdict(), ensure_ascii=False))
    print(report(found))


if __name__ == "__main__":
    main()
