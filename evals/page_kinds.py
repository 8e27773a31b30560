"""How much of a page's own text comes out, by kind of page and by extractor.

`python -m evals.page_kinds [--data DIR]`: articles are the 181 real ones of the data; of lists,
forums, documentation, shops and tables twelve pages each are made, of passages of the multihop
corpus in the markup that such sites have, with menus, sidebars and other people's links around
them. F1 of shingles of four words against the page's own text; *worst* is that of the worst page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.html.reader import extract_html
from evals.extractive import ROOT

ROWS = 30  # passages of a page
PAGES = 12  # of each kind that is made
Extractor = Callable[[str], str]


class Sample(NamedTuple):
    """A page and its own text."""

    html: str
    truth: str


def read_ours(html: str) -> str:
    """As the program reads it."""
    return extract_html(html)[1]


def read_trafilatura(**options: Any) -> Extractor:
    """Trafilatura with options."""
    import trafilatura

    def read(html: str) -> str:
        found: Any = trafilatura.bare_extraction(html, include_comments=False, **options)
        return (found.text or "") if found else ""

    return read


def read_justext(html: str) -> str:
    """jusText, by the density of English stop words and links."""
    import justext

    paragraphs = justext.justext(html.encode(), justext.get_stoplist("English"))
    return "\n".join(one.text for one in paragraphs if not one.is_boilerplate)


def extractors() -> dict[str, Extractor]:
    """By name."""
    return {
        "ours": read_ours,
        "trafilatura, fast": read_trafilatura(fast=True),
        "trafilatura, full": read_trafilatura(fast=False),
        "jusText": read_justext,
    }


# --- the pages -----------------------------------------------------------------------------------


def load_articles(data: Path) -> Iterator[Sample]:
    """Real articles with their text."""
    truth = json.loads((data / "pages" / "article_ground_truth.json").read_text("utf-8"))
    for key, article in truth.items():
        body = gzip.decompress((data / "pages" / "article_html" / f"{key}.html.gz").read_bytes())
        yield Sample(body.decode("utf-8", "replace"), article["articleBody"])


def load_passages(data: Path) -> Iterator[tuple[str, str]]:
    """Title and text of short passages."""
    with gzip.open(data / "multihop" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if 100 < len(row["text"]) < 900:
                yield row["title"], row["text"]


def _frame(title: str, content: str) -> str:
    """A page with what sites have around their content."""
    menu = "".join(f'<li><a href="/{n}">Topic number {n} of ours</a></li>' for n in range(25))
    more = "".join(
        f'<div class="card"><a href="/m{n}">Read about subject {n} in our magazine today</a></div>'
        for n in range(12)
    )
    return (
        f"<!doctype html><html lang=en><head><title>{escape(title)} | A site</title></head><body>"
        f"<header><nav><ul>{menu}</ul></nav></header><div id=wrap>"
        f"<div class=content>{content}</div>"
        f'<div class="sidebar related"><h4>You may also like</h4>{more}</div></div>'
        "<footer><p>Copyright 2024 A site. All rights reserved. Terms and conditions apply.</p>"
        "</footer></body></html>"
    )


def _make_list(rows: Sequence[tuple[str, str]]) -> Sample:
    items = "".join(
        f'<div class="slide"><div class="slide-image"><img src="/{n}.jpg" alt=""></div>'
        f"<h2>{n}. {escape(title)}</h2><div class=slide-text>{escape(text)}</div></div>"
        for n, (title, text) in enumerate(rows, 1)
    )
    content = (
        f"<h1>The {len(rows)} best of all</h1><p>Here they are, in the order of votes.</p>{items}"
    )
    return Sample(_frame("A list", content), _join(rows))


def _make_forum(rows: Sequence[tuple[str, str]]) -> Sample:
    posts = "".join(
        f'<div class="post" id="p{n}"><div class="author"><a href="/u{n}">user{n}</a> Member</div>'
        f'<div class="postbody"><h3>{escape(title)}</h3><div class="message">{escape(text)}</div>'
        '</div><div class="tools"><a href="#">Reply</a> <a href="#">Quote</a></div></div>'
        for n, (title, text) in enumerate(rows)
    )
    return Sample(
        _frame("A thread", f"<h1>A thread</h1><div class=thread>{posts}</div>"), _join(rows)
    )


def _make_docs(rows: Sequence[tuple[str, str]]) -> Sample:
    entries = "".join(
        f'<dt id="o{n}"><code>option_{n}</code> <em>{escape(title)}</em></dt>'
        f"<dd>{escape(text)}<pre>set option_{n} = value {n}</pre></dd>"
        for n, (title, text) in enumerate(rows)
    )
    truth = "\n".join(
        f"option_{n} {title}\n{text}\nset option_{n} = value {n}"
        for n, (title, text) in enumerate(rows)
    )
    return Sample(_frame("Options", f"<h1>Options</h1><dl class=docs>{entries}</dl>"), truth)


def _make_shop(rows: Sequence[tuple[str, str]]) -> Sample:
    (title, text), *reviews = rows[:6]
    points = "".join(f"<li>{escape(one)}</li>" for one, _ in rows[6:14])
    properties = [(f"Property {n}", one) for n, (one, _) in enumerate(rows[14:22])]
    specs = "".join(f"<tr><th>{n}</th><td>{escape(one)}</td></tr>" for n, one in properties)
    said = "".join(
        f'<div class="review"><span class="stars">4</span><div>{escape(one)}</div></div>'
        for _, one in reviews
    )
    content = (
        f"<h1>{escape(title)}</h1><div class=price>EUR 49.90</div><button>Add to cart</button>"
        f"<div class=description>{escape(text)}<ul>{points}</ul></div><table>{specs}</table>"
        f"<div class=reviews>{said}</div>"
    )
    truth = "\n".join(
        [title, "EUR 49.90", text, *(one for one, _ in rows[6:14])]
        + [f"{n} {one}" for n, one in properties]
        + [one for _, one in reviews]
    )
    return Sample(_frame(title, content), truth)


def _make_table(rows: Sequence[tuple[str, str]]) -> Sample:
    cells = [(str(n), title, text.split(".")[0][:60]) for n, (title, text) in enumerate(rows)]
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    head = "<tr><th>No<th>Name<th>What</tr>"
    content = f"<h1>All of them</h1><p>The whole table.</p><table>{head}{lines}</table>"
    return Sample(_frame("A table", content), "\n".join(" ".join(row) for row in cells))


MAKERS = {
    "lists": _make_list,
    "forums": _make_forum,
    "documentation": _make_docs,
    "shops": _make_shop,
    "tables": _make_table,
}


def _join(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{title}\n{text}" for title, text in rows)


def load_samples(data: Path) -> dict[str, list[Sample]]:
    """The pages of each kind."""
    passages = load_passages(data)
    made = {
        kind: [make(list(islice(passages, 30))) for _ in range(PAGES)]
        for kind, make in MAKERS.items()
    }
    return {"articles": list(load_articles(data)), **made}


# --- the figures ---------------------------------------------------------------------------------


def score(text: str, truth: str) -> float:
    """F1 of shingles of four words."""
    found, true = _shingles(text), _shingles(truth)
    both = (found & true).total()
    return 2 * both / max(1, found.total() + true.total())


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[n : n + 4]) for n in range(max(1, len(words) - 3)))


def measure(data: Path) -> Iterator[tuple[str, str, int, float, float, float]]:
    """Kind, extractor, number of pages, mean F1, worst F1, and milliseconds for a page."""
    for kind, samples in load_samples(data).items():
        for name, read in extractors().items():
            started = time.process_time()
            scores = [score(read(sample.html), sample.truth) for sample in samples]
            spent = 1000 * (time.process_time() - started) / len(samples)
            yield kind, name, len(samples), sum(scores) / len(scores), min(scores), spent


def report(rows: Iterator[tuple[str, str, int, float, float, float]]) -> str:
    """The figures as Markdown."""
    lines = ["| pages | n | extractor | F1 | worst | ms a page |", f"|{'---|' * 6}"]
    for kind, name, count, mean, worst, spent in rows:
        lines.append(f"| {kind} | {count} | {name} | {mean:.3f} | {worst:.3f} | {spent:.0f} |")
    return "\n".join(
        [
            *lines,
            "",
            "Articles are real ones of the data, the others are made of passages of the multihop",
            "corpus with menus and links of other pages around them.",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m evals.page_kinds", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    print(report(measure(parser.parse_args().data)))


if __name__ == "__main__":
    main()
