"""What a prompt shows of the sources: the passages that fit best, within a budget of tokens."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agent.evidence.text import PASSAGE, Span, fold, rank, sentences, tokens, words
from agent.outside import Excerpt
from agent.state import Source

HEADER = 30  # tokens of the block around a source, about
LEAST = 20  # tokens; with fewer left no passage is looked at
COPIED = 60  # characters from which the same words are a copy, not a coincidence


def select(sources: Sequence[Source], question: str, budget: int) -> tuple[Excerpt, ...]:
    """The passages that fit a question best, within a budget of tokens, grouped by source.

    A source's best passage comes before any source's second best, so that none is crowded out;
    beyond it, a passage that shares no word with the question is not worth its tokens. A passage
    out of the middle of a section brings the section's heading. What another source has already
    said, sentence by sentence, is not shown again: several sites with one text are one witness.
    """
    pieces = [(s, piece) for s in sources for piece in _pieces(s.page.text)]
    scores = _fitness(pieces, question)
    best: dict[int, float] = {}
    for (source, _), score in zip(pieces, scores, strict=True):
        best[source.n] = max(score, best.get(source.n, 0.0))
    order = sorted(
        range(len(pieces)),
        key=lambda i: (scores[i] < best[pieces[i][0].n], -scores[i], pieces[i][0].n, pieces[i][1]),
    )
    chosen: list[int] = []
    said: dict[str, int] = {}  # sentences that are shown, and the source that says each
    same: dict[int, int] = {}
    for i in order:
        source, piece = pieces[i]
        shown = any(pieces[j][0].n == source.n for j in chosen)
        if budget < LEAST or (shown and not scores[i]):
            continue
        own = _folded_sentences(source.page.text[piece.start : piece.end])
        long = piece.end - piece.start >= COPIED
        if long and all(said.get(sentence, source.n) != source.n for sentence in own):
            if not shown and source.n not in same and budget >= HEADER:
                budget -= HEADER
                same[source.n] = said[own[0]]
            continue
        text = source.page.text
        cost = sum(tokens(text[a:b]) for a, b in _spans(piece)) + (0 if shown else HEADER)
        if cost <= budget:
            budget -= cost
            chosen.append(i)
            said |= {sentence: source.n for sentence in own if sentence not in said}
    return _excerpts(sources, [pieces[i] for i in sorted(chosen)], same)


def _folded_sentences(text: str) -> list[str]:
    return [fold(text[start:end])[0] for start, end in sentences(text)]


class _Piece(NamedTuple):
    """A passage, and where the heading of its section stands (empty where there is none)."""

    start: int
    end: int
    heading: Span = (0, 0)


def _spans(piece: _Piece) -> list[Span]:
    """What is shown of a passage: its heading too, where that stands before it."""
    return [piece.heading, piece[:2]] if 0 < piece.heading[1] <= piece.start else [piece[:2]]


#: What speaks for and against a passage beside its words, as shares of the best score. Set by
#: hand while looking at which passages of long pages were shown; not swept. Run `python -m evals`
#: after changing them.
TOPICAL = 0.4  # its heading is about nothing but what is asked
LEAD = 0.2  # it stands where a page says what it is about
ELSEWHERE = 0.25  # of its score: it only points elsewhere
OTHER_YEAR = 0.4  # of its score: its page is about other years
LEADING = 2000  # characters
_AGAINST = frozenset({"v", "vs", "versus", "against"})
_APPENDIX = re.compile(
    r"(?:references|external links|notes|see also|further reading|bibliography|sources|footnotes)$",
    re.I,
)
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")


def _fitness(pieces: Sequence[tuple[Source, _Piece]], question: str) -> list[float]:
    """How well each passage fits: its words and those above it, and where on its page it stands."""
    shown = [" ".join(s.page.text[a:b] for a, b in _spans(piece)) for s, piece in pieces]
    names = [f"{s.page.title} {text}" for (s, _), text in zip(pieces, shown, strict=True)]
    scores = rank(names, question)
    top = max(scores, default=0.0)
    asked, years = set(words(question)), set(_YEAR.findall(question))
    fit = []
    for score, (source, piece) in zip(scores, pieces, strict=True):
        heading = source.page.text[slice(*piece.heading)].strip("# ")
        own = set(words(heading)) - set(words(source.page.title)) - _AGAINST
        dated = set(_YEAR.findall(source.page.title))
        score *= ELSEWHERE if _APPENDIX.match(heading) else 1.0
        score *= OTHER_YEAR if years and dated and not dated & years else 1.0
        near = TOPICAL * bool(own and own <= asked) + LEAD * (piece.start < LEADING)
        fit.append(score + near * top if score else 0.0)
    return fit


def _pieces(text: str) -> list[_Piece]:
    """The passages of a text; a section and a table begin one, unless the last is still small."""
    pieces: list[_Piece] = []
    heading = (0, 0)
    spans = sentences(text)
    for at, (start, end) in enumerate(spans):
        opens = _opens(text, spans, at)
        if opens == "section":
            heading = (start, end)
        small = pieces and start - pieces[-1].start < PASSAGE // 4
        if pieces and end - pieces[-1].start <= PASSAGE and (small or not opens):
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            cuts = range(start, end, 2 * PASSAGE)
            pieces.extend(_Piece(a, min(a + 2 * PASSAGE, end), heading) for a in cuts)
    return pieces


def _opens(text: str, spans: Sequence[Span], at: int) -> str:
    """What a line opens: a "section", as its heading; a "table", as its first row; else nothing.

    A short line between two rows of one table (as `Penalties` in a match report) opens nothing.
    """
    before, line, after = (
        text[slice(*spans[i])] if 0 <= i < len(spans) else "" for i in (at - 1, at, at + 1)
    )
    if is_row(line):
        prose = not is_row(before) and not is_heading(before)
        return "table" if before and prose else ""
    alone = text[spans[at][1] : spans[at][1] + 1] == "\n"
    if not (alone and is_heading(line)) or (after and is_heading(after)):
        return ""
    above = text[slice(*spans[at - 2])] if at > 1 else ""
    within = _RESULT.search(after) and (is_row(before) or is_row(above))
    return "" if within else "section"


_RESULT = re.compile(r" \| \d{1,2}[-–]\d{1,2} ?[^|]{0,12} \| ")
_MARKED = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?$")
_ITEM = re.compile(r"(?:[-*+•‣–>]|\d{1,3}[.)])\s")


def is_row(line: str) -> bool:
    """Whether a line is a row of a table: cells with bars between them."""
    return " | " in line or line.startswith("| ")


def is_heading(line: str) -> bool:
    """Whether a line by itself looks like a heading: marked as one, or short and no sentence."""
    if "\n" in line:
        return False
    if _MARKED.match(line):
        return True
    short = 0 < len(line) < 60 and line[-1].isalnum() and ":" not in line
    return short and not is_row(line) and not _ITEM.match(line)


def _excerpts(
    sources: Sequence[Source], pieces: list[tuple[Source, _Piece]], same: dict[int, int]
) -> tuple[Excerpt, ...]:
    excerpts = []
    for source in sources:
        spans = sorted({span for s, piece in pieces if s.n == source.n for span in _spans(piece)})
        if spans or source.n in same:
            texts = tuple(source.page.text[a:b] for a, b in _joined(spans))
            told = {"source": source.n, "title": source.page.title, "url": source.page.url}
            first = None if spans else same[source.n]
            excerpts.append(Excerpt.model_validate(told | {"passages": texts, "same": first}))
    return tuple(excerpts)


def _joined(spans: list[Span]) -> list[Span]:
    """Neighbouring spans as one, so that a quote may run across their border."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and start - joined[-1][1] <= 2:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def show(excerpts: Iterable[Excerpt]) -> str:
    """Evidence as every prompt shows it, escaped so that no page can close its own block."""
    return "\n".join(map(_block, excerpts))


def _block(excerpt: Excerpt) -> str:
    title, url = _attribute(excerpt.title), _attribute(excerpt.url)
    same = f' same_text_as="{excerpt.same}"' if excerpt.same else ""
    text = html.escape(" […] ".join(excerpt.passages), quote=False)
    return f'<source id="{excerpt.source}" title="{title}" url="{url}"{same}>{text}</source>'


def _attribute(text: str) -> str:
    return html.escape(" ".join(text.split())[:300], quote=True)
