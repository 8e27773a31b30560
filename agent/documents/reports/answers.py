"""The answers of other programs, as JSON: OpenAI, Gemini, Perplexity, and our own answer object.

Formats: https://platform.openai.com/docs/guides/tools-web-search (`url_citation`: offsets of
characters), https://ai.google.dev/gemini-api/docs/google-search (`groundingSupports`: offsets of
bytes in UTF-8), https://docs.perplexity.ai (`citations`: a list that `[1]` counts from 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from agent.documents.blocks import CitedSpan
from agent.documents.body_text import MAX_REPORT, BodyText
from agent.documents.reports.markdown import parse_markdown

Json = dict[str, Any]
ListedSource = tuple[str, str, str]  # label, URL, title
#: Names that other programs have for the text of a report, and for the list of its sources.
TEXTS = ("report", "answer", "output", "output_text", "content", "markdown", "text", "final_report")
LISTS = ("citations", "sources", "references", "search_results", "source_urls")


def parse_answer(text: str) -> BodyText:
    """The report in the JSON of an answer. Raises ValueError for what is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    found = value if isinstance(value, dict) else {"output": value}
    for parse in (_parse_gemini, _parse_own, _parse_openai, _parse_listed):
        if report := parse(found):
            return report
    raise ValueError("is JSON, but not an answer that this program knows")


def _make(
    form: str,
    text: str,
    title: str = "",
    *,
    listed: Iterable[ListedSource] = (),
    spans: Iterable[CitedSpan] = (),
) -> BodyText:
    report = parse_markdown(text, form)
    title, listed = title or report.title, (*report.listed, *listed)
    return report._replace(title=title, listed=listed, spans=tuple(spans))


def _dicts(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _get(value: Json, *names: str) -> Any:
    """The first of some names that is there: services and their libraries spell them apart."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def _text(value: object) -> str:
    return value[:MAX_REPORT] if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= MAX_REPORT * 4 else 0


# --- OpenAI, and whatever speaks like it ---------------------------------------------------------


def _parse_openai(value: Json) -> BodyText | None:
    """A response with `output`, or a completion with `choices`, with `url_citation` annotations."""
    text = ""
    spans: list[CitedSpan] = []
    for part, marks in _openai_parts(value):
        text += "\n\n" * bool(text)
        spans += _read_url_citations(marks, len(text))
        text += part
    if not text or not (spans or _get(value, "output", "choices")):
        return None
    listed = tuple(_list_sources(value))
    form = "perplexity" if listed and not spans else "openai"
    return _make(form, text, spans=spans, listed=listed)


def _openai_parts(value: Json) -> Iterator[tuple[str, list[Json]]]:
    output = [part for item in _dicts(value.get("output")) for part in _dicts(item.get("content"))]
    messages = [_dict(choice.get("message")) for choice in _dicts(value.get("choices"))]
    for part, name in (*((p, "text") for p in output), *((m, "content") for m in messages)):
        if text := _text(part.get(name)):
            yield text, _dicts(part.get("annotations"))


def _read_url_citations(annotations: Iterable[Json], at: int) -> Iterator[CitedSpan]:
    for annotation in annotations:
        found = _dict(annotation.get("url_citation")) or annotation
        if isinstance(url := found.get("url"), str):
            start, end = _number(found.get("start_index")), _number(found.get("end_index"))
            title = _text(found.get("title"))[:300]
            yield CitedSpan(at + start, at + max(start, end), url, title)


# --- Perplexity, and any text with a list of its sources -----------------------------------------


def _parse_listed(value: Json) -> BodyText | None:
    text = next((found for name in TEXTS if (found := _text(value.get(name)))), "")
    if not text:
        return None
    title = _text(value.get("title")) or _text(value.get("query"))
    return _make("perplexity", text, title[:300], listed=_list_sources(value))


def _list_sources(value: Json) -> Iterator[ListedSource]:
    """The sources that `[1]` counts: addresses, or objects with one."""
    lists = (value.get(name) for name in LISTS)
    found = next((one for one in lists if isinstance(one, list) and one), [])
    titles = {one.get("url"): one.get("title") for one in _dicts(value.get("search_results"))}
    for n, one in enumerate(found, 1):
        told = one if isinstance(one, dict) else {"url": one, "title": titles.get(str(one))}
        if isinstance(url := _get(told, "url", "link", "uri", "href"), str):
            yield str(told.get("id", told.get("index", n))), url, _text(told.get("title"))[:300]


# --- Gemini --------------------------------------------------------------------------------------


def _parse_gemini(value: Json) -> BodyText | None:
    """A response of Gemini with grounding: the parts of its first candidate, in bytes."""
    candidate = next(iter(_dicts(value.get("candidates"))), None)
    if candidate is None:
        return None
    parts = _dicts(_dict(candidate.get("content")).get("parts"))
    texts = [_text(part.get("text")) for part in parts if not part.get("thought")]
    grounding = _dict(_get(candidate, "groundingMetadata", "grounding_metadata"))
    return _make("gemini", "".join(texts), spans=_read_supports(grounding, texts))


def _read_supports(grounding: Json, texts: list[str]) -> Iterator[CitedSpan]:
    chunks = [
        _dict(_get(chunk, "web", "retrievedContext", "retrieved_context"))
        for chunk in _dicts(_get(grounding, "groundingChunks", "grounding_chunks"))
    ]
    for support in _dicts(_get(grounding, "groundingSupports", "grounding_supports")):
        span = _locate_segment(_dict(support.get("segment")), texts)
        indices = _get(support, "groundingChunkIndices", "grounding_chunk_indices")
        for n in indices if isinstance(indices, list) else ():
            chunk = chunks[n] if isinstance(n, int) and 0 <= n < len(chunks) else {}
            if isinstance(url := _get(chunk, "uri", "url"), str):
                yield CitedSpan(*span, url, _text(chunk.get("title"))[:300])


def _locate_segment(segment: Json, texts: list[str]) -> tuple[int, int]:
    """The offsets of a segment in characters of all parts together; its own are bytes of one."""
    part = _number(_get(segment, "partIndex", "part_index"))
    part = part if part < len(texts) else 0
    before = sum(map(len, texts[:part]))
    data = texts[part].encode("utf-8", "replace") if texts else b""
    first, last = _get(segment, "startIndex", "start_index"), _get(segment, "endIndex", "end_index")
    start = len(data[: _number(first)].decode("utf-8", "ignore"))
    end = len(data[: _number(last)].decode("utf-8", "ignore"))
    return before + start, before + end


# --- our own answer object -----------------------------------------------------------------------


def _parse_own(value: Json) -> BodyText | None:
    """An answer object: the report if it has one, else the answer; sources by their numbers."""
    if "schema_version" not in value or "topic" not in value:
        return None
    report = value.get("report")
    text = _text(_dict(report).get("markdown")) or _text(report)
    listed = _list_sources({"citations": value.get("citations")})
    topic = _text(value.get("topic"))[:300]
    return _make("answer", text or _text(value.get("answer")), topic, listed=listed)
