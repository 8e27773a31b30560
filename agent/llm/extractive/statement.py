"""Where a sentence has the value of a fact: beside its words, before a verb, after `by`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.evidence import CJK, content_words, split_sentences
from agent.evidence.names import chinese_name_spans, name_spans
from agent.llm.extractive.facts import FactKind
from agent.llm.extractive.finders import find_values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion

QUOTE = 700  # characters of a quote that runs over several sentences


def fact_spans(text: str, fact: FactKind, question: ParsedQuestion | None) -> list[tuple[int, int]]:
    """Where the fact's own words stand, else those of the question."""
    if fact.stated:
        return [m.span() for m in re.finditer(fact.stated, text, re.I)]
    asked = set(question.words if question else ())
    told = [
        m.span()
        for m in re.finditer(rf"[{CJK}]{{2}}|[^\W{CJK}]+", text)
        if asked & set(content_words(m[0]))
    ]
    return told or [(0, 0)]


def values_beside(
    line: Line, fact: FactKind, spots: Sequence[tuple[int, int]], found: Sequence[str]
) -> list[str]:
    """The values on the side of the words where this fact has them; a passive turns it round."""
    text = line.text
    for start, end in spots:
        passive = re.match(r"\s*(?:\w+\s){0,3}by\b", text[end:])
        after = fact.side == "after" or passive or re.search(r"\bto$|是$", text[start:end])
        kept = [v for v in found if (text.find(v) >= end if after else text.find(v) < start)]
        if not after:
            kept = [v for v in kept if not _OF.search(text[: text.find(v)][-12:])]
        if kept:
            return kept[:1] if after else kept[-1:]
    return []


def nearest_value(text: str, spots: Sequence[int], found: Sequence[str]) -> tuple[str, int]:
    """The value closest to the words, and how far it is."""
    far = [
        (min((abs(text.find(v) - s) for s in spots), default=len(text)), i)
        for i, v in enumerate(found)
    ]
    distance, at = min(far)
    return found[at], distance


def extend_date(text: str, value: str) -> str:
    """A date with the one that ends its span: `January 1887 to March 1889`."""
    at = text.find(value) + len(value)
    link = re.match(r"\s?(?:to|until|till|through|–|-|至|到)\s?", text[at:])
    rest = text[at + link.end() :] if link else ""
    last = next(iter(find_values("date", rest)), "")
    if not (link and last and rest.startswith(last)):
        return value
    return text[at - len(value) : at + link.end() + len(last)]


def follows_by_or_to(text: str, value: str) -> bool:
    """Whether a name follows `by` or `to`, so that those listed after it did or got the same."""
    return bool(re.search(r"\b(?:by|to)\s$", text[: text.find(value)]))


def extend_list(text: str, value: str) -> str:
    """A name with those that follow it in a list: `A, B and C`."""
    at = text.find(value)
    end = at + len(value)
    spans = [span for span in name_spans(text) if span[0] >= end]
    for start, stop in spans:
        if text[end:start] not in (", ", " and ", ", and ", " & "):
            break
        end = stop
    return text[at:end] if " and " in text[at:end] or " & " in text[at:end] else value


# --- lists of names ------------------------------------------------------------------------------

MINUTE = re.compile(
    r"\(?\b\d{1,3}(?:st|nd|rd|th) minute|\b\d{1,3}(?:\+\d{1,2})?\s?['′’](?!s)|第\d{1,3}分钟"
)
_OF = re.compile(r"\b(?:of|for|from|against|by|in|at|to|with|over)\s(?:the\s)?$")


def find_makers(line: Line, fact: FactKind, found: Sequence[str]) -> list[str]:
    """Who did what the words of a fact say: the names after `by`, else those before the verb."""
    text = line.text
    own = line.title.casefold()
    for start, end in fact_spans(text, fact, None):
        by = re.match(
            r"[^.;:]{0,60}?\bby\s(?:(?!of\b|from\b)[\w-]+\s){0,4}?(?=[A-ZÀ-Þ])", text[end:]
        )
        first = end + by.end() if by else 0
        names = [text[a:b] for a, b in name_spans(text) if a >= first] if by else []
        if not by and not re.match(r"\s*(?:\w+\s){0,3}by\b", text[end:]):
            before = values_beside(line, fact._replace(side="before"), [(start, end)], found)
            names = [n for n in before if not _GAP.search(text[text.find(n) : start])]
        kept = _list_from(text, names)
        kept = [name for name in kept if name in found and name.casefold() not in own]
        if kept:
            return kept
    return []


_GAP = re.compile(r"[.;:]\s")


def _list_from(text: str, names: Sequence[str]) -> list[str]:
    """The first of some names, with those that follow it in a list."""
    return re.split(r",? and |, | & ", extend_list(text, names[0])) if names else []


def find_scorers(line: Line) -> tuple[list[str], str] | None:
    """Who scored, where minutes are told: the name before each of them; and the quote."""
    if not MINUTE.search(line.text):
        return None
    first, last = _scorer_span(line)
    quote = line.whole[first:last]
    found: list[str] = []
    spans = [span for span in name_spans(quote) if _can_act(quote, *span)]
    spans = chinese_name_spans(quote) or spans
    for minute in MINUTE.finditer(quote):
        before = [(a, b) for a, b in spans if b <= minute.start()]
        whole = [span for span in before if " " in quote[slice(*span)]] or before
        close = [span for span in before[-1:] if minute.start() - span[1] <= 3] or whole[-1:]
        found.extend(quote[a:b] for a, b in close)
    return (list(dict.fromkeys(found)), quote) if found else None


def _can_act(text: str, start: int, end: int) -> bool:
    """Whether a name can be who does something: not `of France`, `the French`, `, a captain,`."""
    before, after = text[max(0, start - 12) : start], text[end : end + 2]
    if _OF.search(before) or (before.endswith(", ") and after == ", "):
        return False
    return " " in text[start:end] or not re.search(r"\b(?:a|an|the)\s$", before, re.I)


def _scorer_span(line: Line) -> tuple[int, int]:
    """The span of a line and of its neighbours that tell minutes too, within a paragraph."""
    first, last = line.start, line.start + len(line.text)
    spans = split_sentences(line.whole)
    for start, end in (s for s in spans if s[0] >= last):
        if "\n" in line.whole[last:start] or not MINUTE.search(line.whole[start:end]):
            break
        last = end if end - first <= QUOTE else last
    for start, end in (s for s in reversed(spans) if s[1] <= first):
        if "\n" in line.whole[end:first] or not MINUTE.search(line.whole[start:end]):
            break
        first = start if last - start <= QUOTE else first
    return first, last
