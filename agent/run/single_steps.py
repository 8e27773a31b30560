"""The steps of the default strategy by themselves: plain values in, plain values out.

Each takes the settings that `research` takes: without any, those of the environment. It keeps no
journal, and raises what a run raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent.calls import ExternalCalls
from agent.calls.journal import Journal
from agent.calls.rate_limits import RateLimiter
from agent.run.compose_calls import compose_calls
from agent.run.header import RunSpec, make_header, new_run_name
from agent.run.models import make_models
from agent.run.resources import open_rate_limits
from agent.run.run_retriever import open_cached_retriever
from agent.run.validate_request import clean_topic, requested_slots
from agent.settings import Settings, load_settings, replace_settings
from agent.state import Answered, Event, Hit, Page, PageRead, Queried, Research, RunRequest
from agent.state.clock import utc_now
from agent.state.json_data import Json
from agent.strategies.registry import build_strategy

Doc = Mapping[str, str]


def generate_queries(topic: str, settings: Settings | None = None, **overrides: Any) -> Json:
    """The step `GenerateQueries`: `{"queries", "slots"}`."""
    research, _ = _run("generate", topic, settings, overrides)
    slots = [slot.name for slot in research.slots]
    return {"queries": list(research.current_queries), "slots": slots}


def search_web(queries: Sequence[str], settings: Settings | None = None, **overrides: Any) -> Json:
    """The step `WebSearchTool`: `{"docs": [{"title", "url", "snippet", "text"}]}`.

    `text` is empty where the page was not read.
    """
    queried = Queried(round=1, queries=tuple(queries))
    research, _ = _run("search", " ".join(queries), settings, overrides, queried)
    texts = {source.hit.url: source.page.text for source in research.sources}
    docs = [
        {"title": hit.title, "url": hit.url, "snippet": hit.snippet}
        | {"text": texts.get(hit.url, "")}
        for hit in research.hits.values()
    ]
    return {"docs": docs}


def reflect(
    topic: str, docs: Iterable[Doc], settings: Settings | None = None, **overrides: Any
) -> Json:
    """The step `Reflect`; `slots` of the settings names what is to be filled.

    `{"need_more", "new_queries", "filled": {slot: value}, "missing": [slot]}`.
    """
    research, _ = _run("reflect", topic, settings, overrides, *_read_docs(topic, docs))
    last = research.reflections[-1]
    return {
        "need_more": last.need_more,
        "new_queries": list(last.new_queries),
        "filled": {one.slot: one.value for one in last.findings if one.status != "missing"},
        "missing": [one.slot for one in last.findings if one.status == "missing"],
    }


def synthesize(
    topic: str, docs: Iterable[Doc], settings: Settings | None = None, **overrides: Any
) -> Json:
    """The step `Synthesize`: `{"answer", "citations": [{"id", "title", "url", "quote"}]}`.

    `[n]` and `id` are the number of a document that has a text, from 1.
    """
    research, events = _run("synthesize", topic, settings, overrides, *_read_docs(topic, docs))
    written = next(event for event in events if isinstance(event, Answered))
    pages = {source.n: source.page for source in research.sources}
    citations = [
        {"id": quote.source, "title": pages[quote.source].title}
        | {"url": pages[quote.source].url, "quote": quote.text}
        for quote in written.quotes
    ]
    return {"answer": written.text, "citations": citations}


def _run(
    name: str, topic: str, settings: Settings | None, overrides: Mapping[str, Any], *before: Event
) -> tuple[Research, list[Event]]:
    """What is known after the step `name`, and its events; `before`: what was known."""
    given = {**overrides, "strategy": "slots"}
    settings = replace_settings(settings, given) if settings else load_settings(**given)
    topic = clean_topic(topic)
    research = Research(topic, requested_slots(settings))
    for event in before:
        research.grow(event)
    with _open_calls(topic, settings) as calls:
        step = getattr(build_strategy(calls, settings, RunRequest()), name)
        return research, [research.grow(event) for event in step(research)]


@contextmanager
def _open_calls(topic: str, settings: Settings) -> Iterator[ExternalCalls]:
    path, request = Path(f"{new_run_name()}.jsonl"), RunRequest()
    spec = RunSpec(path, make_header(path, topic, settings, request, None), settings, request)
    limiter = RateLimiter(open_rate_limits(settings))
    retriever = open_cached_retriever(settings)
    calls = compose_calls(spec, Journal(spec.header), make_models(settings), retriever, limiter)
    try:
        yield calls
    finally:
        calls.close()


def _read_docs(topic: str, docs: Iterable[Doc]) -> Iterator[Event]:
    """The events of documents that were searched and read."""
    yield Queried(round=1, queries=(topic,))
    for doc in docs:
        url, title, snippet = (doc.get(name, "") for name in ("url", "title", "snippet"))
        if text := doc.get("text") or snippet:
            page = Page.from_text(url, title, text, utc_now())
            yield PageRead(page=page, hit=Hit(url=url, title=title, snippet=snippet))
