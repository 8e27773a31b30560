"""The answers of other programs, as JSON: parts of text with what each cites, and listed sources.

A part is a text with its citations beside it, wherever it stands: OpenAI's Responses and Chat
Completions (`annotations`: https://platform.openai.com/docs/guides/tools-web-search), Anthropic's
Messages (`citations` of a whole block: https://docs.claude.com/en/docs/build-with-claude/citations),
Gemini (`groundingSupports`, offsets in bytes: https://ai.google.dev/gemini-api/docs/google-search;
Interactions: `steps`), Perplexity (https://docs.perplexity.ai), the basis of each field of Exa and
Parallel (https://docs.parallel.ai), and our own answer object. Offsets count characters, units of
UTF-16 or bytes: which, the text itself tells.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from agent.documents.blocks import CitedSpan
from agent.documents.body_text import MAX_REPORT, BodyText
from agent.documents.reports.markdown import parse_markdown

Json = dict[str, Any]
ListedSource = tuple[str, str, str]  # label, URL, title
MAX_SPANS = 5000
#: Names that other programs have for the text of a report, the list of its sources, their address.
TEXTS = ("report", "answer", "output", "output_text", "content", "markdown", "text", "final_report")
LISTS = ("citations", "sources", "references", "search_results", "source_urls", "results")
URLS = ("url", "uri", "link", "href", "source", "id")
SNIPPETS = ("snippet", "summary", "text", "highlights", "excerpts")
WRAPPERS = ("response", "interaction", "result", "data", "message")
_PATH = re.compile(r"[^.\[\]/]+")


class _Part(NamedTuple):
    """A text with its citations. `continues`: it goes on in the paragraph of the part before."""

    text: str
    cited: Sequence[Json] = ()
    continues: bool = False


def parse_answer(text: str) -> BodyText:
    """The report in the JSON of an answer. Raises ValueError for what is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    found = value if isinstance(value, dict) else {"output": value}
    for _ in WRAPPERS:
        inner = next((found[name] for name in WRAPPERS if isinstance(found.get(name), dict)), None)
        found = found if inner is None or set(TEXTS) & found.keys() else inner
    for form, read in READERS.items():
        parts = list(read(found))
        if any(part.text.strip() for part in parts):
            return _make(form, parts, found)
    raise ValueError("is JSON, but not an answer that this program knows")


def _make(form: str, parts: Sequence[_Part], value: Json) -> BodyText:
    text = ""
    spans: list[CitedSpan] = []
    for part in parts:
        text += "" if part.continues or not text else "\n\n"
        spans += _locate(part, len(text))
        text += part.text
    listed = tuple(_list_sources(value))
    if form == "openai" and listed and not spans:
        form = "perplexity"
    report = parse_markdown(text, form)
    title = _text(value.get("topic")) or _text(value.get("title")) or _text(value.get("query"))
    return report._replace(
        title=title[:300] or report.title,
        listed=(*report.listed, *listed),
        spans=tuple(spans[:MAX_SPANS]),
    )


def _dicts(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _get(value: Json, *names: str) -> Any:
    """The first of some names that is there: services and their libraries spell them apart."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def _text(value: object) -> str:
    return value[:MAX_REPORT] if isinstance(value, str) else ""


# --- what a part cites ---------------------------------------------------------------------------


def _locate(part: _Part, at: int) -> Iterator[CitedSpan]:
    """The spans of a part: by their offsets, or the whole of it."""
    places = [
        (_get(x, "start_index", "startIndex"), _get(x, "end_index", "endIndex")) for x in part.cited
    ]
    fitting = _choose_unit(part.text, [(s or 0, e) for s, e in places if isinstance(e, int)])
    for one, (start, end) in zip(part.cited, places, strict=True):
        span = (0, len(part.text))
        if isinstance(end, int) and isinstance(start or 0, int):
            first = bisect_left(fitting, start or 0)
            span = first, max(first, bisect_left(fitting, end))
        title = _text(_get(one, "title", "document_title"))[:300]
        if url := _address(one) or (f"#{title}" if title else ""):
            yield CitedSpan(at + span[0], at + min(span[1], len(part.text)), url, title)


def _choose_unit(text: str, spans: Sequence[tuple[int, int]]) -> Sequence[int]:
    """Where each character begins, in the unit of which most spans begin and end between words."""
    sizes = [[1] * len(text)]
    if not text.isascii():
        sizes += [[1 + (char > "\uffff") for char in text]]
        sizes += [[len(char.encode("utf-8", "replace")) for char in text]]
    starts = [list(accumulate(size, initial=0)) for size in sizes]

    def fit(unit: list[int]) -> int:
        found = ((bisect_left(unit, a), bisect_left(unit, b)) for a, b in spans)
        return sum(_is_border(text, a) + _is_border(text, b, ends=True) for a, b in found)

    return max(starts, key=fit)


def _is_border(text: str, at: int, *, ends: bool = False) -> int:
    """How well a span could begin or end at an offset: between words, at brackets."""
    before, after = text[max(0, at - 1) : at], text[at : at + 1]
    if at > len(text) or (before.isalnum() and after.isalnum()):
        return 0
    return 1 + (before in tuple(".!?。)]】") if ends else after in tuple("([【"))


def _address(one: object) -> str:
    """The address of a source, which may be its only word."""
    found = one if isinstance(one, str) else _get(_dict(one), *URLS)
    return found if isinstance(found, str) else ""


def _list_sources(value: Json) -> Iterator[ListedSource]:
    """The sources that `[1]` counts: addresses, or objects with one."""
    inner = [item for item in _dicts(value.get("output")) if isinstance(item.get("results"), list)]
    lists = [one.get(name) for one in (value, *inner, _dict(value.get("output"))) for name in LISTS]
    found = next((one for one in lists if isinstance(one, list) and one), [])
    titles = {one.get("url"): one.get("title") for one in _dicts(value.get("search_results"))}
    for n, one in enumerate(found, 1):
        told = one if isinstance(one, dict) else {"url": one, "title": titles.get(str(one))}
        if url := _address(told):
            label = next((x for x in (told.get("id"), told.get("index")) if str(x).isdecimal()), n)
            yield str(label), url, _text(told.get("title"))[:300]


# --- the parts of each form ----------------------------------------------------------------------


def _read_own(value: Json) -> Iterator[_Part]:
    """An answer object: the report if it has one, else the answer; sources by their numbers."""
    if "schema_version" in value and "topic" in value:
        report = value.get("report")
        text = _text(_dict(report).get("markdown")) or _text(report)
        yield _Part(text or _text(value.get("answer")))


def _read_gemini(value: Json) -> Iterator[_Part]:
    """A response with grounding: the parts of its first candidate; else the last step with text."""
    steps = ([*_read_content(one)] for one in reversed(_dicts(_get(value, "steps", "outputs"))))
    yield from next(filter(None, steps), [])
    candidate = next(iter(_dicts(value.get("candidates"))), {})
    grounding = _dict(_get(candidate, "groundingMetadata", "grounding_metadata"))
    chunks = [
        _dict(_get(chunk, "web", "retrievedContext", "retrieved_context"))
        for chunk in _dicts(_get(grounding, "groundingChunks", "grounding_chunks"))
    ]
    cited: dict[object, list[Json]] = {}
    for support in _dicts(_get(grounding, "groundingSupports", "grounding_supports")):
        segment = _dict(support.get("segment"))
        indices = _get(support, "groundingChunkIndices", "grounding_chunk_indices")
        for n in indices if isinstance(indices, list) else ():
            if isinstance(n, int) and 0 <= n < len(chunks):
                of = _get(segment, "partIndex", "part_index") or 0
                cited.setdefault(of if isinstance(of, int) else 0, []).append(segment | chunks[n])
    for n, part in enumerate(_dicts(_dict(candidate.get("content")).get("parts"))):
        if not part.get("thought"):
            yield _Part(_text(part.get("text")), cited.get(n, ()), continues=True)


def _read_claude(value: Json) -> Iterator[_Part]:
    """A message: its blocks, parted by the uses of tools."""
    return _read_content(value) if isinstance(value.get("content"), list) else iter(())


def _read_openai(value: Json) -> Iterator[_Part]:
    """The items of a response, or the messages of a completion."""
    choices = [_dict(choice.get("message")) for choice in _dicts(value.get("choices"))]
    for message in (*_dicts(value.get("output")), *choices):
        yield from _read_content(message)


def _read_content(message: Json) -> Iterator[_Part]:
    content = message.get("content")
    parts = [message | {"text": content}] if isinstance(content, str) else _dicts(content)
    parts = parts or ([message] if isinstance(message.get("text"), str) else [])
    adjoins = False
    for part in parts:
        text = _text(part.get("text"))
        cited = [
            _dict(x.get("url_citation")) or x
            for x in _dicts(_get(part, "annotations", "citations"))
        ]
        if text and part.get("type") not in ("thinking", "reasoning", "thought"):
            yield _Part(text, cited, continues=adjoins)
        adjoins = bool(text)


def _read_fields(value: Json) -> Iterator[_Part]:
    """The fields of an answer, each with the citations that are its basis."""
    output = _dict(value.get("output"))
    content = output.get("content")
    for row in _dicts(_get(output, "basis", "grounding")):
        field, found = _text(row.get("field")), content
        for step in _PATH.findall(field):
            items = (
                dict(zip(map(str, range(len(found))), found, strict=True))
                if isinstance(found, list)
                else found
            )
            found = _dict(items).get(step)
        told = ", ".join(map(str, found)) if isinstance(found, list) else found
        if isinstance(content, dict) and told is not None and not isinstance(told, dict):
            name = " ".join(_PATH.findall(field)).replace("_", " ")
            yield _Part(f"{name}: {told}", _dicts(row.get("citations")))
    if isinstance(content, str):
        cited = [x for row in _dicts(output.get("basis")) for x in _dicts(row.get("citations"))]
        yield _Part(content, [] if "[1]" in content else cited)


def _read_listed(value: Json) -> Iterator[_Part]:
    yield _Part(next((found for name in TEXTS if (found := _text(value.get(name)))), ""))


def _read_results(value: Json) -> Iterator[_Part]:
    """The results of a search, each a passage of its page."""
    for one in _dicts(value.get("results")):
        found = _get(one, *SNIPPETS)
        text = (
            " ".join(filter(None, map(_text, found))) if isinstance(found, list) else _text(found)
        )
        yield _Part(text, [one])


READERS = {
    "gemini": _read_gemini,
    "answer": _read_own,
    "claude": _read_claude,
    "openai": _read_openai,
    "fields": _read_fields,
    "perplexity": _read_listed,
    "results": _read_results,
}
