"""The sentences of a report, and the sources that each cites.

A sentence cites what a link in it leads to, what its markers name (`[1]`, `[^a]`, `【1†source】`, a
footnote), what it names by author and year, and the addresses and DOIs that stand in it. A marker
behind the full stop belongs to the sentence before it. What only names a source is cut out of the
sentence; words that are linked stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from string import digits
from typing import NamedTuple

from agent.documents.blocks import CitedSpan, TextBlock
from agent.documents.body_text import BodyText
from agent.documents.reports.references import (
    DOI,
    CitedAddress,
    References,
    find_address,
    split_references,
)
from agent.evidence import split_sentences
from agent.state import CitedReport, ReportSentence, ReportSource
from agent.state.reports import MAX_CITED, MAX_REPORT_CHARS, MAX_SENTENCES
from agent.state.sanitizing import sanitize_line
from agent.state.urls import is_web_url

FEWEST_WORDS = 3  # of a sentence that cites nothing and is listed
MOST_RANGED = 30  # sources that `[1-9]` may name
_MARKER = re.compile(
    r"[\[【［]\s*(?P<names>\^?[\w-]{1,30}(?:\s*[,;–-]\s*\^?[\w-]{1,30}){0,30})"
    r"(?:†[^\]】]{0,80}|:\d+)?\s*[\]】］]"
)
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT, _LOWERED = re.compile(f"[{_RAISED}]+"), str.maketrans(_RAISED, digits)
#: What a link shows that only names its source: a number, an address, a host, a word for it.
_NAME_ONLY = re.compile(
    r"\W*(?:\^[\w-]{1,30}|\d{1,4}"
    r"|(?:source|link|ref|reference|citation|cite|quelle|来源|出典)s?(?: \d+)?"
    r"|https?://\S*|(?:[\w-]+\.)+[a-z]{2,12}(?:/\S*)?)\W*",
    re.I,
)
_AUTHOR = r"[^\W\d_a-z][\w'’-]+(?:\s(?:et al\.?,?|(?:and|&|und|y|et|e|en)\s[^\W\d_a-z][\w'’-]+))?"
_IN_BRACKETS = re.compile(r"\(([^()\n]{4,250})\)")
_BY_AUTHOR = re.compile(
    rf"\s*(?:see |e\.g\.,? |cf\. |vgl\. )?"
    rf"(?P<author>{_AUTHOR}(?:,\s[^\W\d_a-z][\w'’-]+)*(?:,?\s&\s[^\W\d_a-z][\w'’-]+)?),?\s"
    r"(?P<year>1[5-9]\d\d|20\d\d)[a-z]?(?:[,:]\s?(?:pp?\.|S\.)?\s?[\d–-]+)?\s*"
)
_NAMED_AUTHOR = re.compile(
    rf"(?P<author>{_AUTHOR})\s\((?P<year>1[5-9]\d\d|20\d\d)[a-z]?(?:,[^()]*)?\)"
)
_BULLET = re.compile(r"[-–—•●▪◦‣*·\uf0b7\uf0a7]\s+")
_URL = re.compile(r"https?://[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、]+", re.I)
_OPENING, _CLOSING = "([（【", ")]）】"
_GLUE = re.compile(r"[\s,;.&|–-]*(?:and|und|also)?[\s,;.&|–-]*")


class _Cut(NamedTuple):
    """A region of a block that cites. It is cut out of the sentence, unless it is `kept`."""

    start: int
    end: int
    cited: tuple[CitedAddress, ...]
    kept: bool = False


class _Sentence(NamedTuple):
    """A sentence before its sources have numbers."""

    text: str
    start: int
    end: int
    cited: tuple[CitedAddress, ...]


def cite_sentences(parsed: BodyText, name: str = "") -> CitedReport:
    """The report with its sentences in order and their sources, numbered by first use."""
    prose, entries = split_references(parsed.blocks)
    references = References(parsed.listed)
    for block in entries:
        references.add_block(block)
    texts = (block for block in prose if block.kind != "heading")
    read = [one for block in texts for one in _read_block(block, references)]
    told = _add_spans(read, parsed.spans)
    sentences = [one for one in told if one.cited or len(one.text.split()) >= FEWEST_WORDS]
    return _number(sentences, parsed, name)


def _number(sentences: Sequence[_Sentence], parsed: BodyText, name: str) -> CitedReport:
    numbers: dict[str, ReportSource] = {}
    made: list[ReportSentence] = []
    for text, start, end, addresses in sentences[:MAX_SENTENCES]:
        for key, url, title in addresses:
            if key not in numbers and len(numbers) < MAX_CITED:
                n, title = len(numbers) + 1, sanitize_line(title, 300)
                numbers[key] = ReportSource(n=n, url=url[:5000], title=title)
        cited = dict.fromkeys(numbers[one.key].n for one in addresses if one.key in numbers)
        made.append(ReportSentence(text=text, start=start, end=end, sources=tuple(cited)))
    cut = f"Only the first {MAX_SENTENCES} of {len(sentences)} sentences are read."
    return CitedReport(
        name=name,
        form=parsed.form,
        title=sanitize_line(parsed.title or name, 300),
        text=parsed.text[:MAX_REPORT_CHARS],
        sentences=tuple(made),
        sources=tuple(numbers.values()),
        warnings=(cut,) if len(sentences) > MAX_SENTENCES else (),
        marks=sum(len(one.cited) for one in sentences),
        unaddressed=sum(not mark.url for one in sentences for mark in one.cited),
    )


# --- a block --------------------------------------------------------------------------------------


def _read_block(block: TextBlock, references: References) -> Iterator[_Sentence]:
    """The sentences of a block. A marker behind a stop belongs to the sentence before it."""
    cuts = _find_cuts(block, references)
    kept = _kept_offsets(block.text, cuts)
    clean = "".join(" " if block.text[i] == "\n" else block.text[i] for i in kept)
    spans = [(0, len(clean))] if block.kind == "row" else list(split_sentences(clean))
    spans = [span for span in spans if any(map(str.isalnum, clean[slice(*span)]))]
    cited: list[list[CitedAddress]] = [[] for _ in spans]
    for cut in cuts:
        # of what is kept, its last character; of what is cut, the last one before it
        at = bisect_right(kept, cut.end - 1 if cut.kept else cut.start - 1) - 1
        owner = max((n for n, (start, _) in enumerate(spans) if start <= at), default=0)
        if spans:
            cited[owner] += cut.cited
    for (start, end), addresses in zip(spans, cited, strict=True):
        text = " ".join(clean[start:end].split())
        first, last = _to_report(block, kept[start]), _to_report(block, kept[end - 1]) + 1
        yield _Sentence(text, first, max(first, last), tuple(dict.fromkeys(addresses)))


def _to_report(block: TextBlock, at: int) -> int:
    """The offset in the report's text of an offset in a block."""
    n = bisect_right([piece for piece, _ in block.origin], at) - 1
    piece, origin = block.origin[n] if n >= 0 else (0, 0)
    return origin + at - piece


def _kept_offsets(text: str, cuts: Sequence[_Cut]) -> list[int]:
    """The offsets of the characters that are left, without a blank before what follows a cut."""
    kept: list[int] = []
    at = 0
    for cut in cuts:
        if cut.kept:
            continue
        kept += range(at, max(at, cut.start))
        at = max(at, cut.end)
        closes = at >= len(text) or text[at] in ".,;:!?)。，；：！？ \n"
        while closes and kept and text[kept[-1]] in " \n":
            kept.pop()
    kept += range(at, len(text))
    return kept


# --- what cites -----------------------------------------------------------------------------------


def _find_cuts(block: TextBlock, references: References) -> list[_Cut]:
    """Everything in a block that cites, in order; no two that are cut out overlap."""
    links = _cited_links(block, references)
    cuts = list(_cut_links(block.text, links))
    if sign := _BULLET.match(block.text):
        cuts.append(_Cut(0, sign.end(), ()))
    taken = [(cut.start, cut.end) for cut in (*links, *cuts)]
    text = block.text
    named = chain(_cut_authors(text, references), _cut_markers(text, references))
    for cut in chain(named, _cut_addresses(text)):
        if all(cut.end <= start or end <= cut.start for start, end in taken):
            cuts.append(cut)
            taken.append((cut.start, cut.end))
    return sorted(cuts, key=lambda cut: (cut.start, cut.end))


def _cited_links(block: TextBlock, references: References) -> list[_Cut]:
    """The links that cite: an address outside, or the note or entry that their marker names.

    Words that are linked are kept, unless they only name a source.
    """
    found = []
    for link in sorted(block.links, key=lambda link: link.start):  # notes keep their order
        shown = block.text[link.start : link.end]
        is_known = is_web_url(link.url) or link.is_note
        entry = references.find(shown.strip("[](){} ^")) if link.url.startswith("#") else None
        if address := CitedAddress.of(link.url, link.title) if is_known else entry:
            is_name = link.is_note or not shown.strip() or _NAME_ONLY.fullmatch(shown)
            found.append(_Cut(link.start, link.end, (address,), kept=not is_name))
    return found


def _cut_links(text: str, links: Sequence[_Cut]) -> Iterator[_Cut]:
    """The links, those in a row together: in brackets of their own they are cut with these."""
    rows: list[list[_Cut]] = []
    for link in links:
        if not rows or not _GLUE.fullmatch(text[rows[-1][-1].end : link.start]):
            rows.append([])
        rows[-1].append(link)
    for row in rows:
        before, after = text[: row[0].start].rstrip(), text[row[-1].end :].lstrip()
        if before[-1:] in _OPENING and after[:1] in _CLOSING and before and after:
            cited = tuple(address for link in row for address in link.cited)
            yield _Cut(len(before) - 1, len(text) - len(after) + 1, cited)
        else:
            yield from row


def _cut_markers(text: str, references: References) -> Iterator[_Cut]:
    for marker in _MARKER.finditer(text):
        labels = list(_read_labels(marker["names"]))
        cited = [references.find(label) for label in labels]
        is_numbered = all(label.isdecimal() and 0 < int(label) < 1000 for label in labels)
        if all(cited) or (is_numbered and references):
            known = zip(cited, labels, strict=True)
            given = (found or CitedAddress.of(f"#{x}", f"[{x}]") for found, x in known)
            yield _Cut(*marker.span(), tuple(given))
    for marker in _SUPERSCRIPT.finditer(text):
        if address := references.find(marker[0].translate(_LOWERED)):
            yield _Cut(*marker.span(), (address,))


def _read_labels(names: str) -> Iterator[str]:
    """The labels that a marker names; of a range all between its ends."""
    for part in names.replace(";", ",").split(","):
        first, _, last = (end.strip() for end in part.replace("–", "-").partition("-"))
        is_range = (first + last).isdecimal() and bool(first and last)
        if is_range and 0 < int(last) - int(first) < MOST_RANGED:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield part.strip().lstrip("^").strip()


def _cut_authors(text: str, references: References) -> Iterator[_Cut]:
    """`(Smith, 2020; Jones et al., 2021)`, and `Smith (2020)`, of which the name stays."""
    if not references:
        return
    for brackets in _IN_BRACKETS.finditer(text):
        named = filter(None, (_BY_AUTHOR.fullmatch(part) for part in brackets[1].split(";")))
        cited = (references.find_by_author(one["author"], one["year"]) for one in named)
        if found := tuple(filter(None, cited)):
            yield _Cut(*brackets.span(), found)
    for one in _NAMED_AUTHOR.finditer(text):
        if address := references.find_by_author(one["author"], one["year"]):
            yield _Cut(one.end("author"), one.end(), (address,))


def _cut_addresses(text: str) -> Iterator[_Cut]:
    """Addresses and DOIs that stand in the text, with brackets of their own around them."""
    for match in (*_URL.finditer(text), *DOI.finditer(text)):
        if url := find_address(match[0]):
            start = match.start()
            stated = url if match.re is _URL else match[0]
            end = start + len(stated.rstrip("."))
            in_brackets = text[start - 1 : start] + text[end : end + 1] in ("()", "<>", "[]")
            yield _Cut(start - in_brackets, end + in_brackets, (CitedAddress.of(url),))


# --- what services say of their own answers -------------------------------------------------------


def _add_spans(sentences: list[_Sentence], spans: Iterable[CitedSpan]) -> list[_Sentence]:
    """The sentences with what spans of the text cite: those in it, else the one before it."""
    cited = [{one.key: one for one in sentence.cited} for sentence in sentences]
    for span in spans:
        before = [n for n, s in enumerate(sentences) if s.start < span.end]
        inside = [n for n in before if span.start < sentences[n].end]
        address = CitedAddress.of(span.url, span.title)
        for n in inside or before[-1:]:
            cited[n][address.key] = address
    told = zip(sentences, cited, strict=True)
    return [one._replace(cited=tuple(addresses.values())) for one, addresses in told]
