"""A run as one page that stands alone: no script, no request, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from urllib.parse import urlsplit

from agent.output import Answer, Citation
from agent.render import printable
from agent.trace.calls import SUBJECT, Call, seconds
from agent.trace.tree import Node, Trace, tree

LANES = {"ask": "Models", "search": "Searches", "read": "Pages"}
LINKED = ("http", "https", "file")
TICKS = 5  # parts of the time axis, about
MARKER = "[{}]"


class Markup(str):
    """Markup already; whatever else goes into a page is text, and is escaped on its way in."""


def tag(name: str, *inside: str, **attributes: str) -> Markup:
    """An element. `class_` is `class`, `stroke_width` is `stroke-width`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{''.join(map(_safe, inside))}</{name}>")


def _safe(part: str) -> str:
    return part if isinstance(part, Markup) else _text(part)


def _text(text: str) -> str:
    return html.escape(printable(text))


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(map(_safe, parts)))


def link(url: str, text: str, **attributes: str) -> Markup:
    """A link, if its scheme is one that only shows a document; else the text alone."""
    try:
        scheme = urlsplit(url.strip()).scheme.lower()
    except ValueError:
        scheme = ""
    if scheme not in LINKED:
        return tag("span", text, **attributes)
    return tag("a", text, href=url.strip(), rel="noopener noreferrer", **attributes)


def page(trace: Trace) -> str:
    """The whole page, as HTML."""
    style = (files("agent.trace") / "page.css").read_text("utf-8")
    root = tree(trace)
    body = joined([_head(trace), _answer(trace), _timeline(trace), _tree(root)])
    return (
        "<!doctype html>\n"
        + tag("html", _meta(root.what, style), tag("body", tag("main", body)), lang="en")
        + "\n"
    )


def _meta(title: str, style: str) -> Markup:
    """The head; its policy allows this page's own style and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", Markup(style)),
    )


# --- the question and the answer -----------------------------------------------------------------


def _head(trace: Trace) -> Markup:
    answer, run = trace.answer, trace.answer.run
    status = "unfinished" if trace.unfinished else answer.status
    badges = [tag("span", status, class_=f"badge {status}")]
    badges += [tag("span", "degraded", class_="badge partial")] * answer.degraded
    told = (f"strategy {run.strategy}", run.started_at, *run.models, *run.providers) if run else ()
    cost = tree(trace).children[-1].figures
    figures = joined(tag("li", figure) for figure in (*told, *cost))
    return tag(
        "header",
        tag("h1", answer.topic, dir="auto"),
        tag("p", *badges),
        tag("ul", figures, class_="facts"),
        _trouble(trace),
    )


def _trouble(trace: Trace) -> Markup:
    """Why there is no whole answer."""
    if trace.unfinished:
        return tag("p", "The journal ends early. ", trace.unfinished, class_="trouble")
    error = trace.answer.error
    if error:
        return tag("p", error.message, " ", error.remedy, class_="trouble")
    return Markup()


def _answer(trace: Trace) -> Markup:
    answer = trace.answer
    if not answer.answer:
        return Markup()
    cited = joined(_citation(i, one) for i, one in enumerate(answer.citations))
    return tag(
        "section",
        tag("h2", "Answer"),
        tag("p", _with_markers(answer), class_="answer", dir="auto"),
        _slots(answer),
        tag("ol", cited, class_="citations") if cited else Markup(),
        _warnings(answer),
    )


def _with_markers(answer: Answer) -> Markup:
    """The answer's text, each `[n]` of which leads to its quote."""
    text = _text(answer.answer)
    for n in {citation.id for citation in answer.citations}:
        marker = MARKER.format(n)
        text = text.replace(marker, tag("a", marker, href=f"#source-{n}", class_="marker"))
    return Markup(text)


def _citation(place: int, citation: Citation) -> Markup:
    """A quote in its place, and the link that opens the page there."""
    how = "" if citation.match == "exact" else f"{citation.match} match"
    via = "snippet of the search only" if citation.via == "snippet" else ""
    worth = f"credibility {citation.credibility.score:.2f}"
    told = " · ".join(filter(None, (citation.url, citation.retrieved_at, how, via, worth)))
    return tag(
        "li",
        tag("span", MARKER.format(citation.id), class_="number"),
        tag("blockquote", citation.quote, dir="auto"),
        tag("p", link(citation.link, citation.title or citation.url), class_="source"),
        tag("p", told, class_="quiet"),
        id=f"source-{citation.id}" if place == _first(citation, place) else f"quote-{place}",
    )


def _slots(answer: Answer) -> Markup:
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", *_value(slot.value, slot.alternatives)),
            tag("td", slot.status, class_=f"status {slot.status}"),
            tag("td", "".join(MARKER.format(n) for n in slot.citations)))
        for name, slot in answer.slots.items()
    ]
    return tag("div", tag("table", *rows, class_="slots"), class_="wide") if rows else Markup()
