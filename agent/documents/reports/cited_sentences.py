"""The sentences of a report in Markdown, and the sources that each cites.

A mark behind the full stop belongs to the sentence before it, one alone to the
block before. What only names a source is cut out of the sentence; words that are linked stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from typing import NamedTuple

from agent.documents.body_text import BodyText
from agent.documents.plain_text import read_front_matter
from agent.documents.reports.marks import Cut, MarkFinder, used_labels
from agent.documents.reports.source_lists import Address, Entry, References
from agent.evidence import count_words, split_sentences
from agent.state import CitedReport, ReportSentence, ReportSource
from agent.state.reports import MAX_CITED, MAX_REPORT_CHARS, MAX_SENTENCES, MarkForm
from agent.state.sanitizing import sanitize_line

FEWEST_WORDS = 3  # of a sentence that cites nothing and is listed
LONGEST_CONTEXT = 300  # characters
LONGEST_RULE = 1000
#: What gives the addresses, where marks have none.
ADVICE: dict[MarkForm, str] = {
    "raw": "The marks are a product's own and lead nowhere outside it: export the report there as "
    "Markdown, Word or PDF, or save its page as HTML, instead of copying its text.",
    "": "Give the report with its list of sources and their addresses.",
}
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.M | re.S)
_OPENS = re.compile(
    r"[ \t>]*(?:(?P<heading>#{1,6}\s+)|(?P<row>\|\s*)|(?P<item>(?:[-*+•●▪◦‣·–—]|\d{1,3}[.)])\s+))?"
)
_MARK = "\0"  # in place of what cites, while a block is cleaned
_MARKS = rf"{_MARK}(?:[\s,;&]*{_MARK})*"
_JOINTS = r"[\s,;.&|–-]*"
_WITHIN = rf"{_JOINTS}{_MARK}(?:{_JOINTS}{_MARK})*{_JOINTS}"
_PAIRS = "|".join(rf"\{one}{_WITHIN}\{two}" for one, two in ("()", "[]", "<>", "（）", "【】"))
_ROW = re.compile(rf"(?<! ) *(?:{_PAIRS}|{_MARKS})")
_CLOSES = ("", *".,;:!?)。，；：！？ ")
_RULE = re.compile(r"[ >]*(?:=+|(?:[-*_]\s*){3,}|\|?[\s:|-]+\|[\s:|-]*)$")


def _is_rule(line: str) -> bool:
    return len(line) < LONGEST_RULE and bool(_RULE.match(line))


class ReportBlock(NamedTuple):
    """A part of a report, by its offsets, the number of its first line, and what opens it."""

    kind: str  # heading, row, item, paragraph
    start: int
    end: int
    line: int
    context: str = ""


class CitedSentence(NamedTuple):
    """A sentence before its sources have numbers, with all that its marks cite."""

    text: str
    start: int
    end: int
    cited: tuple[Address, ...]
    context: str = ""
    scope: tuple[int, int] | None = None


def cite_sentences(parsed: BodyText, name: str = "") -> CitedReport:
    """The report with its sentences in order and their sources, numbered by first use."""
    text = parsed.text[:MAX_REPORT_CHARS]
    fields, start = read_front_matter(text)
    shown = _blank(text[:start]) + _CODE.sub(lambda code: _blank(code[0]), text[start:])
    shown = shown.replace(_MARK, " ")
    lines = shown.split("\n")
    references = References(lines, used_labels(shown, _find_spans(lines)))
    blocks = list(_split_blocks(shown, lines, references.taken))
    prose = [one for one in _add_context(shown, blocks) if one.kind != "heading"]
    marks = MarkFinder(shown, [(one.start, one.end, one.line) for one in prose], references)
    forms: Counter[MarkForm] = Counter()
    claims: list[CitedSentence] = []
    unaddressed = 0
    for block in prose:
        cuts = list(marks.find_cuts(block.start, block.end, block.line))
        forms.update(cut.form for cut in cuts for _ in cut.cited)
        unaddressed += sum(not one.url for cut in cuts for one in cut.cited)
        own = list(_read_block(shown, block, cuts))
        if not own and claims:  # marks alone
            cited = (*claims[-1].cited, *(one for cut in cuts for one in cut.cited))
            claims[-1] = claims[-1]._replace(cited=cited)
        claims += own
    heading = next((shown[one.start : one.end] for one in blocks if one.kind == "heading"), "")
    title = fields.get("title") or parsed.title or _plain(heading) or name
    claims = [one for one in claims if _is_claim(one)]
    sentences, sources = _number(claims[:MAX_SENTENCES])
    cut = f"Only the first {MAX_SENTENCES} of {len(claims)} sentences are read."
    return CitedReport(
        name=name,
        form=parsed.form,
        title=sanitize_line(title, 300),
        text=text,
        sentences=sentences,
        sources=sources,
        marked_by=next((form for form, n in forms.most_common() if form and n), ""),
        marks=forms.total(),
        unaddressed=unaddressed,
        advice=ADVICE["raw" if forms["raw"] else ""] if unaddressed else "",
        warnings=(cut,) if len(claims) > MAX_SENTENCES else (),
    )


def _find_spans(lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The offsets and the number of each line, without the keys that it begins with."""
    at = 0
    for n, line in enumerate(lines):
        keys = Entry(n, line)
        begin = len(line) - len(keys.text) if keys.opens and keys.text.strip() else 0
        yield at + begin, at + len(line), n
        at += len(line) + 1


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _plain(text: str) -> str:
    return re.sub(r"[*_`\\#]+", "", text).strip()


def _is_claim(one: CitedSentence) -> bool:
    """Whether a sentence says something: it cites, or has words and only opens nothing."""
    is_opening = one.text.endswith((":", "："))
    return bool(one.cited) or (count_words(one.text) >= FEWEST_WORDS and not is_opening)


def _number(
    sentences: Sequence[CitedSentence],
) -> tuple[tuple[ReportSentence, ...], tuple[ReportSource, ...]]:
    """The sentences with the numbers of their sources, which count by first use."""
    numbers: dict[str, ReportSource] = {}
    made: list[ReportSentence] = []
    for words, start, end, addresses, context, scope in sentences:
        for key, url, title in addresses:
            if key not in numbers and len(numbers) < MAX_CITED:
                n, title = len(numbers) + 1, sanitize_line(title, 300)
                numbers[key] = ReportSource(n=n, url=url[:5000], title=title)
        cited = tuple(dict.fromkeys(numbers[x.key].n for x in addresses if x.key in numbers))
        extent = {"context": context, "scope": scope}
        made.append(ReportSentence(text=words, start=start, end=end, sources=cited, **extent))
    return tuple(made), tuple(numbers.values())


def _split_blocks(text: str, lines: Sequence[str], taken: set[int]) -> Iterator[ReportBlock]:
    """The blocks of a report; lines of a paragraph or an item belong together."""
    last: ReportBlock | None = None
    at = 0
    for n, line in enumerate(lines):
        opens, start, end = _OPENS.match(line), at, at + len(line.rstrip(" \\"))
        at += len(line) + 1
        if n in taken or not line.strip() or _is_rule(line):
            is_title = line.strip() and n not in taken and "*" not in line
            is_claim = last and last.kind == "row" and text[last.start : last.end].count(". ")
            if last and is_title and last.kind != "item" and not is_claim:
                last = last._replace(kind="heading")
            if last:
                yield last
            last = None
            continue
        kind = opens.lastgroup or "paragraph" if opens else "paragraph"
        if kind == "paragraph" and last and last.kind in ("paragraph", "item"):
            last = last._replace(end=end)
        else:
            if last:
                yield last
            last = ReportBlock(kind, start + (opens.end() if opens else 0), end, n)
    if last:
        yield last


def _add_context(text: str, blocks: Sequence[ReportBlock]) -> Iterator[ReportBlock]:
    """The blocks with what opens them: the names of a table's columns, the line above a list."""
    above = columns = ""
    for block in blocks:
        words = " ".join(_plain(text[block.start : block.end].strip("| ")).split())
        context = {"row": columns, "item": above}.get(block.kind, "")
        if block.kind == "heading":
            above, columns = "", words
        elif block.kind == "paragraph":
            above = words[-LONGEST_CONTEXT:] if words.endswith((":", "：")) else ""
        yield block._replace(context=context[:LONGEST_CONTEXT])


def _read_block(text: str, block: ReportBlock, cuts: Sequence[Cut]) -> Iterator[CitedSentence]:
    """The sentences of a block. A mark behind a stop belongs to the sentence before it."""
    kept, clean, places = _clean(text, block, cuts)
    spans = [(0, len(clean))] if block.kind == "row" else list(split_sentences(clean))
    spans = [span for span in spans if any(map(str.isalnum, clean[slice(*span)]))]
    starts = [start for start, _ in spans]
    cited: list[list[Address]] = [[] for _ in spans]
    for place, addresses in places if spans else ():
        cited[max(bisect_right(starts, place - 1) - 1, 0)] += addresses
    is_scoped = len(spans) > 1 and cited[-1] and not any(cited[:-1])
    for n, (start, end) in enumerate(spans):
        words = " ".join(unescape(clean[start:end]).split()).strip("| ")
        is_last = is_scoped and n == len(spans) - 1
        scope = (kept[spans[0][0]], kept[end - 1] + 1) if is_last else None
        marks = tuple(cited[n])
        yield CitedSentence(words, kept[start], kept[end - 1] + 1, marks, block.context, scope)


def _clean(
    text: str, block: ReportBlock, cuts: Sequence[Cut]
) -> tuple[list[int], str, list[tuple[int, tuple[Address, ...]]]]:
    """The offsets that are left and their characters, on one line; where which sources are cited.

    A row of marks leaves a blank where it parted two words, and takes its brackets with it.
    """
    offsets: list[int] = []
    at = block.start
    for cut in (*cuts, Cut(block.end, block.end)):
        offsets += range(at, cut.start)
        offsets += [cut.start] if cut.cited else ()
        at = cut.end
    marked = {cut.start: cut.cited for cut in cuts if cut.cited}
    shown = "".join(_MARK if n in marked else " " if text[n] in "\n>" else text[n] for n in offsets)
    kept: list[int] = []
    clean, at = "", 0
    places: list[tuple[int, tuple[Address, ...]]] = []
    for row in _ROW.finditer(shown):
        kept += offsets[at : row.start()]
        clean += shown[at : row.start()]
        inner = range(*row.span())
        places += ((len(clean), marked[offsets[n]]) for n in inner if shown[n] == _MARK)
        at = row.end()
        if clean and shown[at : at + 1] not in _CLOSES:
            kept.append(offsets[at - 1])
            clean += " "
    return kept + offsets[at:], clean + shown[at:], places
