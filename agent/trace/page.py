"""A trace as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.answer.formats import BASE_STYLE
from agent.answer.html import (
    EMPTY,
    Markup,
    element,
    join_markup,
    language_attributes,
    link_element,
    render_document,
)
from agent.answer.html_page import render_blocks, render_parts
from agent.answer.shown import list_badges, list_error, list_sections
from agent.trace.timeline import call_id, render_timeline
from agent.trace.tree import build_tree, make_cost_node
from agent.trace.values import Node, Trace


def render_trace(trace: Trace) -> str:
    """Render the page: the answer, the timeline of calls, and the tree."""
    root = build_tree(trace)
    parts = [
        _render_header(trace),
        _render_answer(trace),
        render_timeline(trace.calls),
        _render_tree(root),
    ]
    main = element("main", join_markup(parts))
    return render_document(root.label, main, BASE_STYLE, "agent.trace/page.css")


# --- the topic and the answer --------------------------------------------------------------------


def _render_header(trace: Trace) -> Markup:
    answer, run = trace.answer, trace.answer.run
    facts = (f"strategy {run.strategy}", run.started_at, *run.models, *run.providers) if run else ()
    facts += make_cost_node(trace).figures
    return element(
        "header",
        element("h1", answer.topic, **language_attributes(answer.topic)),
        _render_status(trace),
        element("ul", join_markup(element("li", fact) for fact in facts), class_="facts"),
        _render_problem(trace),
    )


def _render_status(trace: Trace) -> Markup:
    if trace.unfinished_reason:
        return element("p", element("span", "unfinished", class_="badge unfinished"))
    return render_blocks(list_badges(trace.answer))


def _render_problem(trace: Trace) -> Markup:
    """Why the run has not finished or has no answer; empty if it has one."""
    if trace.unfinished_reason:
        return element("p", "The journal ends early. ", trace.unfinished_reason, class_="trouble")
    return render_blocks(list_error(trace.answer))


def _render_answer(trace: Trace) -> Markup:
    return render_parts(list_sections(trace.answer)) if trace.answer.answer else EMPTY


# --- the tree ------------------------------------------------------------------------------------


def _render_tree(root: Node) -> Markup:
    parts = [
        _render_part(node) if node.mark == "part" else _render_node(node) for node in root.children
    ]
    return element("section", element("h2", "What happened"), *parts, id="tree")


def _render_part(node: Node) -> Markup:
    if not node.children:
        return EMPTY
    summary = element("summary", element("b", node.label), *_render_figures(node.figures))
    return element("details", summary, _render_list(node.children), class_="part", open="")


def _render_list(nodes: Sequence[Node]) -> Markup:
    return element(
        "ul", *(element("li", _render_node(node), **_list_item_attributes(node)) for node in nodes)
    )


def _list_item_attributes(node: Node) -> dict[str, str]:
    """The style of a node, and the id to which the timeline links."""
    attributes = {"class_": node.mark} if node.mark else {}
    return attributes | ({"id": call_id(node.calls[0])} if node.calls else {})


def _render_node(node: Node) -> Markup:
    label = element("span", node.label, class_="what")
    if node.link:
        text = link_element(node.link, node.text, dir="auto")
    else:
        text = element("span", node.text, dir="auto")
    children = [_render_list(node.children)] if node.children else []
    return join_markup([label, " ", text, *_render_figures(node.figures), *children])


def _render_figures(figures: Iterable[str]) -> Iterator[str]:
    for figure in filter(None, figures):
        yield " "
        yield element("span", figure, class_="figure")
