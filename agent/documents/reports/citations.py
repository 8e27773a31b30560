"""The sentences of a report, and the sources that each cites.

A sentence cites what the marks in it lead to (`marks.py`), by the lists of the report (`lists.py`).
A mark behind the full stop belongs to the sentence before it, one that stands for itself to the
block before. What only names a source is cut out of the sentence; words that are linked stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from agent.documents.blocks import CitedSpan, Link, TextBlock
from agent.documents.body_text import BodyText
from agent.documents.reports.marks import Cut, Style, find_cuts, is_name, used_labels
from agent.documents.reports.references import CitedAddress, Note, References
from agent.evidence import count_words, split_sentences
from agent.state import CitedReport, ReportSentence, ReportSource
from agent.state.reports import MAX_CITED, MAX_REPORT_CHARS, MAX_SENTENCES, MarkForm
from agent.state.sanitizing import sanitize_line

FEWEST_WORDS = 3  # of a sentence that cites nothing and is listed
LONGEST_CONTEXT = 300  # characters
#: What gives the addresses, where marks have none.
ADVICE: dict[MarkForm, str] = {
    "raw": "The marks are a product's own and lead nowhere outside it: export the report there as "
    "Markdown, Word or PDF, or save its page as HTML, instead of copying its text.",
    "": "Give the report with its list of sources: what the marks name has no address in it.",
}


class _Sentence(NamedTuple):
    """A sentence before its sources have numbers, with all that its marks cite."""

    text: str
    start: int
    end: int
    cited: tuple[CitedAddress, ...]
    context: str = ""
    scope: tuple[int, int] | None = None


class _Prose(NamedTuple):
    """A block of prose: its place in the report, what opens its list or table, what it is about."""

    block: TextBlock
    place: int
    context: str = ""
    about: tuple[CitedAddress, ...] = ()


def cite_sentences(parsed: BodyText, name: str = "") -> CitedReport:
    """The report with its sentences in order and their sources, numbered by first use."""
    blocks, spans = _place_spans(parsed)
    references = References(parsed.listed)
    left = references.take_lists(blocks, used_labels(blocks))
    prose = list(_add_context(left))
    style = Style.of([one.block for one in prose], references)
    forms: Counter[MarkForm] = Counter()
    unaddressed = 0
    read: list[_Sentence] = []
    for one in prose:
        cuts = find_cuts(one.block, one.place, references, style)
        forms.update(cut.form for cut in cuts for _ in cut.cited)
        unaddressed += sum(not address.url for cut in cuts for address in cut.cited)
        own = _read_block(one, cuts)
        if not own and read:  # marks alone
            cited = (*read[-1].cited, *(address for cut in cuts for address in cut.cited))
            read[-1] = read[-1]._replace(cited=cited)
        read += own
    told = [one for one in _add_spans(read, spans) if _is_claim(one)]
    forms["spans"] += len(spans)
    return _number(told, parsed, name).model_copy(
        update={
            "marked_by": next((form for form, n in forms.most_common() if form and n), ""),
            "marks": forms.total(),
            "unaddressed": unaddressed,
            "advice": ADVICE["raw" if forms["raw"] else ""] if unaddressed else "",
        }
    )


def _is_claim(one: _Sentence) -> bool:
    """Whether a sentence says something: it cites, or has words and only opens nothing."""
    is_opening = one.text.endswith((":", "："))
    return bool(one.cited) or (count_words(one.text) >= FEWEST_WORDS and not is_opening)


def _number(sentences: Sequence[_Sentence], parsed: BodyText, name: str) -> CitedReport:
    numbers: dict[str, ReportSource] = {}
    made: list[ReportSentence] = []
    for text, start, end, addresses, context, scope in sentences[:MAX_SENTENCES]:
        for key, url, title in addresses:
            if key not in numbers and len(numbers) < MAX_CITED:
                n, title = len(numbers) + 1, sanitize_line(title, 300)
                numbers[key] = ReportSource(n=n, url=url[:5000], title=title)
        cited = dict.fromkeys(numbers[one.key].n for one in addresses if one.key in numbers)
        told = {"context": context, "scope": scope}
        made.append(ReportSentence(text=text, start=start, end=end, sources=tuple(cited), **told))
    cut = f"Only the first {MAX_SENTENCES} of {len(sentences)} sentences are read."
    return CitedReport(
        name=name,
        form=parsed.form,
        title=sanitize_line(parsed.title or name, 300),
        text=parsed.text[:MAX_REPORT_CHARS],
        sentences=tuple(made),
        sources=tuple(numbers.values()),
        warnings=(cut,) if len(sentences) > MAX_SENTENCES else (),
    )


# --- the prose -----------------------------------------------------------------------------------


def _add_context(left: Iterable[tuple[int, TextBlock | Note]]) -> Iterator[_Prose]:
    """The prose with what opens it: the names of a table's columns, the line above a list.

    A block that only says a heading again is of a table of contents.
    """
    left = list(left)
    headings = {
        _plain(block)
        for _, block in left
        if isinstance(block, TextBlock) and block.kind == "heading"
    }
    above = columns = ""
    for place, found in left:
        block, about = (found.block, (found.about,)) if isinstance(found, Note) else (found, ())
        if block.kind == "heading":
            above, columns = "", block.text
        elif _plain(block) not in headings:
            context = {"row": columns, "item": above}.get(block.kind, "")
            yield _Prose(block, place, " ".join(context.split())[:LONGEST_CONTEXT], about)
            if block.kind == "paragraph":
                last = block.text.rstrip()[-LONGEST_CONTEXT:]
                above = last.splitlines()[-1] if last.endswith((":", "：")) else ""


def _plain(block: TextBlock) -> str:
    """The letters of a line, without its number and that of a page."""
    return "".join(filter(str.isalpha, block.text[:LONGEST_CONTEXT])).casefold()


def _read_block(prose: _Prose, cuts: Sequence[Cut]) -> list[_Sentence]:
    """The sentences of a block. A marker behind a stop belongs to the sentence before it."""
    block = prose.block
    kept, clean = _clean(block.text, cuts)
    plain = _mark_ends(clean, kept, cuts)
    spans = [(0, len(clean))] if block.kind == "row" else list(split_sentences(plain))
    spans = [span for span in spans if any(map(str.isalnum, clean[slice(*span)]))]
    starts = [start for start, _ in spans]
    cited: list[list[CitedAddress]] = [[] for _ in spans]
    for cut in cuts if spans else ():
        # of what is kept, its last character; of what is cut, the last one before it
        at = bisect_right(kept, cut.end - 1 if cut.kept else cut.start - 1) - 1
        cited[max(bisect_right(starts, at) - 1, 0)] += cut.cited
    found = []
    for (start, end), addresses in zip(spans, cited, strict=True):
        text = " ".join(clean[start:end].split())
        first, last = _to_report(block, kept[start]), _to_report(block, kept[end - 1]) + 1
        marks = tuple(addresses) or prose.about
        found.append(_Sentence(text, first, max(first, last), marks, prose.context))
    if len(found) > 1 and found[-1].cited and not any(one.cited for one in found[:-1]):
        found[-1] = found[-1]._replace(scope=(found[0].start, found[-1].end))
    return found


def _mark_ends(clean: str, kept: Sequence[int], cuts: Sequence[Cut]) -> str:
    """The text for the splitting of sentences: a stop within linked words ends none; one before a
    mark does, whatever it abbreviates, if a capital follows.
    """
    chars = list(clean)
    for cut in cuts:
        first, last = bisect_left(kept, cut.start), bisect_left(kept, cut.end - 1)
        for n in range(first, last) if cut.kept else ():
            chars[n] = "-" if chars[n] in ".!?。！？" else chars[n]
        is_inside = not cut.kept and 1 < first < len(kept) - 1
        if is_inside and chars[first - 1] in ".!?" and chars[first + 1].isupper():
            chars[first] = "\n" if chars[first] == " " else chars[first]
    return "".join(chars)


def _to_report(block: TextBlock, at: int) -> int:
    """The offset in the report's text of an offset in a block."""
    n = bisect_right(block.origin, at, key=lambda piece: piece[0]) - 1
    piece, origin = block.origin[n] if n >= 0 else (0, 0)
    return origin + at - piece


def _clean(text: str, cuts: Sequence[Cut]) -> tuple[list[int], str]:
    """The offsets that are left, and their characters, on one line.

    No blank is left before what closes behind a cut; one is where a cut parted two sentences.
    """
    kept: list[int] = []
    blanks: set[int] = set()
    at = 0
    for cut in cuts:
        if cut.kept:
            continue
        if at == 0 or text[at : cut.start].strip(" ,;&"):  # not what parts marks
            kept += range(at, max(at, cut.start))
        at = max(at, cut.end)
        closes = at >= len(text) or text[at] in ".,;:!?)。，；：！？ \n"
        while closes and kept and text[kept[-1]] in " \n":
            kept.pop()
        if kept and text[kept[-1]] in ".!?" and text[at : at + 1].isalpha() and cut.end > cut.start:
            kept.append(cut.start)
            blanks.add(cut.start)
    kept += range(at, len(text))
    return kept, "".join(" " if i in blanks or text[i] == "\n" else text[i] for i in kept)


# --- what services say of their own answers ------------------------------------------------------


def _place_spans(parsed: BodyText) -> tuple[list[TextBlock], list[CitedSpan]]:
    """The blocks, with links where a span of a service only names its source; the other spans."""
    blocks, rest = list(parsed.blocks), []
    starts = [block.origin[0][1] if block.origin else 0 for block in blocks]
    for span in parsed.spans:
        shown = parsed.text[span.start : span.end]
        n = max(bisect_right(starts, span.start) - 1, 0)
        is_mark = (is_name(shown) and not shown.isalnum()) or shown[:1] + shown[-1:] in (
            "[]",
            "【】",
        )
        if blocks and is_mark and (at := _in_block(blocks[n], span)):
            link = Link(*at, span.url, span.title, is_note=True)
            blocks[n] = blocks[n]._replace(links=(*blocks[n].links, link))
        else:
            rest.append(span)
    return blocks, rest


def _in_block(block: TextBlock, span: CitedSpan) -> tuple[int, int] | None:
    """The offsets of a span in a block, where no link is known."""
    n = bisect_right([to for _, to in block.origin], span.start) - 1
    if n < 0:
        return None
    at, to = block.origin[n]
    start = min(at + span.start - to, len(block.text))
    end = min(start + span.end - span.start, len(block.text))
    return None if any(x.start < end and start < x.end for x in block.links) else (start, end)


def _add_spans(sentences: list[_Sentence], spans: Sequence[CitedSpan]) -> list[_Sentence]:
    """The sentences with what spans of the text cite: those in it, else the one before it."""
    starts, ends = [one.start for one in sentences], [one.end for one in sentences]
    cited = [{one.key: one for one in sentence.cited} for sentence in sentences]
    for span in spans:
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
        address = CitedAddress.of(span.url, span.title)
        for n in range(first, last) or range(max(last - 1, 0), last):
            cited[n][address.key] = address
    told = zip(sentences, cited, strict=True)
    return [one._replace(cited=tuple(addresses.values())) for one, addresses in told]
