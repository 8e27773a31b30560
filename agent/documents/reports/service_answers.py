"""The answers of services and of this program, as JSON: their Markdown, with what each part cites.

A part is a text with a list of citations. A citation has offsets, or is for the whole part. Each
becomes a link without words behind every sentence that it is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agent.documents.body_text import BodyText, UnreadablePage
from agent.evidence import split_sentences

Json = dict[str, Any]
MAX_CITATIONS = 5000  # of a part
_ENCLOSED = tuple("([【")


class ServiceForm(NamedTuple):
    """Where a service has the parts of its answer, and the encoding whose bytes offsets count."""

    name: str
    parts: str  # the names on the way to them, through every list
    unit: str = ""  # "": offsets count characters


#: The first form that has a text is taken. Anthropic: https://docs.claude.com/en/docs/build-with-
#: claude/citations; OpenAI: https://platform.openai.com/docs/guides/tools-web-search; Gemini:
#: https://ai.google.dev/gemini-api/docs/google-search.
FORMS = (
    ServiceForm("gemini", "candidates content parts", "utf-8"),
    ServiceForm("gemini", "steps content", "utf-8"),
    ServiceForm("gemini", "outputs", "utf-8"),
    ServiceForm("openai", "response output content"),
    ServiceForm("openai", "output content"),
    ServiceForm("openai", "choices message"),
    ServiceForm("claude", "content"),
    ServiceForm("answer", "report"),
    ServiceForm("answer", ""),
)
TEXTS = ("text", "content", "markdown", "answer", "report", "output_text")
CITED = ("annotations", "citations", "sources")
LISTS = ("citations", "sources", "references", "search_results")
URLS = ("url", "uri", "link")


def read_answer(text: str) -> BodyText:
    """Title, Markdown and form of an answer in JSON. Raises UnreadablePage for what is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadablePage("is not JSON", "invalid") from None
    for form in FORMS:
        supports = list(_find_supports(value)) if form.name == "gemini" else []
        own = [p for p in _walk(value, form.parts.split()) if p.get("type") not in _THOUGHTS]
        markdown = "".join(_write(part, form, supports) for part in own if not part.get("thought"))
        if markdown.strip():
            is_list = "](<" not in markdown or form.name == "answer"
            title = _first(value, ("topic", "title", "query"))
            markdown += _write_list(value) * is_list
            return BodyText(str(title or "")[:300], markdown, form=form.name)
    raise UnreadablePage("is JSON, but not an answer that this program knows", "invalid")


_THOUGHTS = ("thinking", "reasoning", "thought")


def _walk(value: object, names: Sequence[str]) -> Iterator[Json]:
    """The objects at the end of a way, through lists."""
    if isinstance(value, list):
        for one in value:
            yield from _walk(one, names)
    elif isinstance(value, dict) and not names:
        yield value
    elif isinstance(value, dict) and isinstance(inner := value.get(names[0]), str):
        yield {"text": inner, **value} if len(names) == 1 else {}
    elif isinstance(value, dict):
        yield from _walk(value.get(names[0]), names[1:])


def _first(value: object, names: Sequence[str]) -> Any:
    found = value if isinstance(value, dict) else {}
    return next((found[name] for name in names if found.get(name)), None)


def _write(part: Json, form: ServiceForm, supports: Sequence[Json]) -> str:
    """The Markdown of a part; a part without text, such as the use of a tool, ends a paragraph."""
    text = next((part[name] for name in TEXTS if isinstance(part.get(name), str)), "")
    if not text:
        return "\n\n"
    own = _first(part, CITED) if form.parts else None
    cited = [*(own if isinstance(own, list) else ()), *supports]
    links: dict[int, str] = {}
    replaced: list[tuple[int, int]] = []
    for one in cited[:MAX_CITATIONS]:
        inner = one.get("url_citation") if isinstance(one, dict) else None
        row = inner if isinstance(inner, dict) else one
        start, end = _place(row, text, form.unit)
        if not (link := _link(row)) or row.get("url", "-") in text[start:end]:
            continue
        if text[start:end].startswith(_ENCLOSED):
            replaced.append((start, end))
        for _, at in split_sentences(text[start:end]) or ((start, end),):
            links[start + at] = links.get(start + at, "") + link
    pieces = (links.get(n, "") + char for n, char in enumerate((*text, "")))
    hidden = {n for start, end in replaced for n in range(start, end)}
    return "".join(links.get(n, "") if n in hidden else piece for n, piece in enumerate(pieces))


def _place(row: object, text: str, unit: str) -> tuple[int, int]:
    """The offsets of a citation in a text; those of the whole text where it has none."""
    start, end = (_first(row, names) for names in (_STARTS, _ENDS))
    if not isinstance(end, int) or not isinstance(start or 0, int):
        return 0, len(text)
    if not unit:
        return min(start or 0, len(text)), min(end, len(text))
    body = text.encode(unit, "replace")
    first, last = (len(body[:at].decode(unit, "ignore")) for at in (start or 0, end))
    return first, last


_STARTS, _ENDS = ("start_index", "startIndex"), ("end_index", "endIndex")


def _link(row: object) -> str:
    url, title = _first(row, URLS), _first(row, ("title", "document_title"))
    words = " ".join(str(title or "").replace('"', "'").split())[:300]
    is_whole = isinstance(url, str) and not set(url) & set("<> \n")
    return f'[](<{url}> "{words}")' if is_whole and url else ""


def _find_supports(value: object) -> Iterator[Json]:
    """What Gemini says of the text of its first candidate, as citations with offsets."""
    for snake in (False, True):
        name = "grounding_{}" if snake else "grounding{}"
        names = [name.format(x if snake else x.title()) for x in ("metadata", "chunks", "supports")]
        for grounding in _walk(value, ("candidates", names[0])):
            chunks = list(_walk(grounding, (names[1], "web")))
            for support in _walk(grounding, (names[2],)):
                numbers = _first(support, ("groundingChunkIndices", "grounding_chunk_indices"))
                for n in numbers if isinstance(numbers, list) else ():
                    if isinstance(n, int) and 0 <= n < len(chunks):
                        yield {**chunks[n], **next(_walk(support, ("segment",)), {})}


def _write_list(value: object) -> str:
    """The sources that `[1]` counts, as a list behind the text."""
    found = next((v for name in LISTS if isinstance(v := _first(value, (name,)), list)), [])
    lines = []
    for n, one in enumerate(found, 1):
        row = one if isinstance(one, dict) else {"url": one}
        number, url, title = row.get("id", n), _first(row, URLS), row.get("title")
        if isinstance(url, str) and isinstance(number, int):
            words = " ".join(str(title or "").split())
            lines.append(f"[{number}] {words}\\\n{' '.join(url.split())}\n")
    return "\n\n" + "\n".join(dict.fromkeys(lines)) if lines else ""
