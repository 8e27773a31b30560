"""A run as one page that stands alone: no script, no request, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from urllib.parse import urlsplit

from agent.output import Answer, Citation, SlotAnswer
from agent.render import printable
from agent.research import Alternative
from agent.trace.calls import Call, seconds
from agent.trace.tree import Node, Trace, spent, tree

LANES = {"ask": "Models", "search": "Searches", "read": "Pages"}
LINKED = ("http", "https", "file")
TICKS = 5  # parts of the time axis, about


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
    cost = spent(trace).figures
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
    ids = [citation.id for citation in answer.citations]
    cited = [
        tag("li", *_citation(citation), **({} if n in ids[:i] else {"id": f"source-{n}"}))
        for i, (n, citation) in enumerate(zip(ids, answer.citations, strict=True))
    ]
    return tag(
        "section",
        tag("h2", "Answer"),
        tag("p", _with_markers(answer), class_="answer", dir="auto"),
        _slots(answer),
        tag("ol", *cited, class_="citations") if cited else Markup(),
        _warnings(answer),
    )


def _with_markers(answer: Answer) -> Markup:
    """The answer's text, each `[n]` of which leads to its quote."""
    text = _text(answer.answer)
    for n in {citation.id for citation in answer.citations}:
        text = text.replace(f"[{n}]", tag("a", f"[{n}]", href=f"#source-{n}", class_="marker"))
    return Markup(text)


def _citation(citation: Citation) -> Iterator[Markup]:
    """A quote in its place, and the link that opens the page there."""
    how = "" if citation.match == "exact" else f"{citation.match} match"
    via = "only the search's snippet was read" if citation.via == "snippet" else ""
    worth = f"credibility {citation.credibility.score:.2f}"
    told = " · ".join(filter(None, (citation.url, citation.retrieved_at, how, via, worth)))
    yield tag("span", f"[{citation.id}]", class_="number")
    yield tag("blockquote", citation.quote, dir="auto")
    yield tag("p", link(citation.link, citation.title or citation.url), class_="source")
    yield tag("p", told, class_="quiet")


def _slots(answer: Answer) -> Markup:
    if not answer.slots:
        return Markup()
    return tag("table", *(_slot(name, slot) for name, slot in answer.slots.items()), class_="slots")


def _slot(name: str, slot: SlotAnswer) -> Markup:
    against = tuple(tag("span", _against(other), class_="quiet") for other in slot.alternatives)
    value = tag("td", "" if slot.value is None else str(slot.value), *against, dir="auto")
    cited = "".join(f"[{n}]" for n in slot.citations)
    status = tag("td", tag("span", slot.status, class_=f"badge {slot.status}"))
    return tag("tr", tag("th", name, scope="row"), value, tag("td", cited), status)


def _against(other: Alternative) -> str:
    cited = "".join(f"[{n}]" for n in other.citations)
    return f" or {other.value} {cited} (weight {other.weight:g})"


def _warnings(answer: Answer) -> Markup:
    if not answer.warnings:
        return Markup()
    told = tag("ul", *(tag("li", warning) for warning in answer.warnings))
    name = f"Warnings: {len(answer.warnings)}"
    return tag("details", tag("summary", name), told, class_="warnings")


# --- the timeline --------------------------------------------------------------------------------


def _timeline(trace: Trace) -> Markup:
    """A row for each outside call, in lanes by kind: a bar from its beginning to its end."""
    if not trace.calls:
        return Markup()
    end = max(call.ended for call in trace.calls) or 1.0
    step = _step(end)
    lanes = [
        lane
        for kind, name in LANES.items()
        for lane in _lane(name, [call for call in trace.calls if call.kind == kind], end, step)
    ]
    return tag(
        "section", tag("h2", "Timeline"), tag("div", _axis(end, step), *lanes), id="timeline"
    )


def _step(end: float) -> float:
    """The distance of the ticks: 1, 2 or 5 times a power of ten."""
    least = end / TICKS
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least)


def _ticks(end: float, step: float) -> list[float]:
    return [i * step for i in range(math.floor(end / step) + 1)]


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%"


def _axis(end: float, step: float) -> Markup:
    marks = [
        tag("text", f"{tick:g} s", x=_percent(tick, end), y="11", text_anchor=_anchor(tick, end))
        for tick in _ticks(end, step)
    ]
    return tag("div", tag("span"), tag("svg", *marks, class_="axis"), tag("span"), class_="call")


def _anchor(tick: float, end: float) -> str:
    """Numbers at the borders stay inside."""
    return "start" if not tick else "end" if tick > 0.95 * end else "middle"


def _lane(name: str, calls: Sequence[Call], end: float, step: float) -> Iterator[Markup]:
    if calls:
        yield tag("h3", name)
    for call in sorted(calls, key=lambda call: call.began):
        yield _row(call, end, step)


def _row(call: Call, end: float, step: float) -> Markup:
    good = call.outcome == "ok"
    lines = [
        tag("line", x1=_percent(tick, end), x2=_percent(tick, end), y1="0", y2="100%")
        for tick in _ticks(end, step)
    ]
    # a bar of no length could not be seen; one that begins at the end would be cut off
    width = max(call.seconds, 0.004 * end)
    bar = tag(
        "rect",
        x=_percent(min(call.began, end - width), end),
        y="20%",
        width=_percent(width, end),
        height="60%",
        rx="2",
        class_=call.kind if good else "failed",
    )
    told = (
        seconds(call.seconds)
        if good
        else f"{seconds(call.seconds)} {call.outcome.replace('_', ' ')}"
    )
    name = call.subject.partition("://")[2] or call.subject
    label = tag("a", name, href=f"#{_id(call)}", class_="label", title=call.subject)
    return tag(
        "div", label, tag("svg", *lines, bar), tag("span", told, class_="took"), class_="call"
    )


def _id(call: Call) -> str:
    """Where the tree tells of a call."""
    return f"call-{call.kind}-{call.key[:16]}"


# --- the tree ------------------------------------------------------------------------------------


def _tree(root: Node) -> Markup:
    parts = [_part(part) if part.mark == "part" else _line(part) for part in root.children]
    return tag("section", tag("h2", "What happened"), *parts, id="tree")


def _part(node: Node) -> Markup:
    if not node.children:
        return Markup()
    summary = tag("summary", tag("b", node.what), *_told(node.figures))
    return tag("details", summary, _list(node.children), Markup(), class_="part", open="")


def _list(nodes: Sequence[Node]) -> Markup:
    return tag("ul", *(tag("li", _line(node), **_marks(node)) for node in nodes))


def _marks(node: Node) -> dict[str, str]:
    marks = {"class_": node.mark} if node.mark else {}
    return marks | ({"id": _id(node.calls[0])} if node.calls else {})


def _line(node: Node) -> Markup:
    what = tag("span", node.what, class_="what")
    text = (
        link(node.link, node.text, dir="auto") if node.link else tag("span", node.text, dir="auto")
    )
    under = (_list(node.children),) if node.children else ()
    return joined([what, " ", text, *_told(node.figures), *under])


def _told(figures: Iterable[str]) -> Iterator[str]:
    for figure in filter(None, figures):
        yield " "
        yield tag("span", figure, class_="figure")
