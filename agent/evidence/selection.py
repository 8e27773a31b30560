"""The passages of the sources that a prompt shows: the best ones within a token budget."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from agent.evidence.bm25 import join_spans, rank_texts, ranked_length
from agent.evidence.passages import PassageSpan, cut_passages, ranked_passages
from agent.evidence.proper_names import is_named, plain_name
from agent.evidence.quantities import find_years
from agent.evidence.sentences import split_sentences
from agent.evidence.tokens import estimate_tokens
from agent.evidence.words import content_words, fold
from agent.state import Excerpt, Quote, Source

HEADER = 30  # tokens of the block around a source, about
LEAST = 20  # tokens; with fewer left, no further passage is considered
DEEP = 3  # passages of a page that a query names, before the second best of any other page
COPIED = 60  # characters; a shorter passage may repeat another one by coincidence


class Memory(NamedTuple):
    """What an earlier prompt showed: of the sources that it `read`, only the `notes` mattered.

    `queries`: those that were made since.
    """

    notes: tuple[Quote, ...] = ()
    read: frozenset[int] = frozenset()  # numbers of sources
    queries: tuple[str, ...] = ()


NOTHING = Memory()


def select_passages(
    sources: Sequence[Source],
    queries: str | Sequence[str],
    budget: int,
    length: int | None = None,
    least_share: float = 0.0,
    memory: Memory = NOTHING,
) -> tuple[Excerpt, ...]:
    """The passages that rank highest for one or more queries, grouped by source.

    They take at most `budget` tokens. Of each source about `length` characters are ranked, by
    default `ranked_length`. Passages with less than `least_share` of the best score are left out.

    - The first query counts most. Of the others, the one that a passage fits best counts.
    - The best passage of each source comes before the second best of any source, but one that a
      query names has its best three.
    - What an earlier prompt showed is shown as its notes; further passages of its sources count
      only for the queries since then.
    - A passage brings the heading of its section. One that shares no word with the queries, or that
      another source has already shown, is left out.
    """
    unique = (queries,) if isinstance(queries, str) else tuple(dict.fromkeys(queries))
    words = " ".join(unique)
    most = ranked_length(sources) if length is None else length
    pieces = [(s, piece) for s in sources for piece in ranked_passages(s.page.text, words, most)]
    scores = _score_for_each(pieces, unique, memory)
    fitting = _Fitting(budget)
    least = least_share * max(scores, default=0.0)
    for source, note in ((s, q) for q in memory.notes for s in sources if s.n == q.source):
        fitting.offer(source, PassageSpan(note.start, note.end), 1.0)
    for i in _order_by_rank(pieces, scores, unique, memory.read):
        if scores[i] >= least:
            fitting.offer(*pieces[i], scores[i])
    return _excerpts(sources, fitting.chosen, fitting.same)


def select_quoted(
    sources: Sequence[Source], quotes: Iterable[Quote], budget: int
) -> tuple[Excerpt, ...]:
    """The passages of quotes, grouped by source; of the first ones, as many as fit."""
    fitting = _Fitting(budget)
    pieces = dict.fromkeys(
        (source, piece)
        for quote in quotes
        for source in sources
        if source.n == quote.source
        for piece in cut_passages(source.page.text)
        if piece.start < quote.end and quote.start < piece.end
    )
    for source, piece in pieces:
        fitting.offer(source, piece, 1.0)
    return _excerpts(sources, fitting.chosen, fitting.same)


def _order_by_rank(
    pieces: Sequence[_Piece], scores: Sequence[float], queries: Sequence[str], read: Collection[int]
) -> list[int]:
    """The indices of passages: the first ones of each page, then all others, each by their scores.

    First ones: the best one, DEEP ones of a page that a query names, none of one that was `read`.
    """
    order = sorted(range(len(pieces)), key=lambda i: (-scores[i], pieces[i][0].n, pieces[i][1]))
    sources = {source.n: source for source, _ in pieces}
    named = {n for n, one in sources.items() if any(is_named(one.page.title, q) for q in queries)}
    taken: Counter[int] = Counter()
    first: list[int] = []
    others: list[int] = []
    for i in order:
        n = pieces[i][0].n
        taken[n] += 1
        most = 0 if n in read else DEEP if n in named else 1
        (first if taken[n] <= most else others).append(i)
    return [*first, *others]


class _Fitting:
    """Takes passages as they are offered, best first, while they fit a budget of tokens."""

    def __init__(self, budget: int) -> None:
        self.chosen: list[tuple[Source, PassageSpan]] = []
        self.same: dict[int, int] = {}  # a source that repeats another one, and which
        self._left = budget
        self._shown: set[int] = set()  # numbers of sources
        self._shown_by: dict[str, int] = {}  # the source that shows each sentence

    def offer(self, source: Source, piece: PassageSpan, score: float) -> None:
        """Take a passage if it fits, fits the question, and repeats no other one."""
        is_shown = source.n in self._shown
        if self._left < LEAST or (is_shown and not score):
            return
        text = source.page.text
        cost = sum(estimate_tokens(text[a:b]) for a, b in piece.shown_spans())
        cost += 0 if is_shown else HEADER
        if is_shown and cost > self._left:
            return
        shown = text[piece.start : piece.end]
        own = [fold(shown[a:b]) for a, b in split_sentences(shown)]
        is_copy = all(self._shown_by.get(one, source.n) != source.n for one in own)
        if is_copy and len(shown) >= COPIED:
            if source.n not in self._shown | self.same.keys() and self._left >= HEADER:
                self._left -= HEADER
                self.same[source.n] = self._shown_by[own[0]]
        elif cost <= self._left:
            self._left -= cost
            self.chosen.append((source, piece))
            self._shown.add(source.n)
            for sentence in own:
                self._shown_by.setdefault(sentence, source.n)


_Piece = tuple[Source, PassageSpan]


#: What moves a passage's score apart from its words, as shares of the best score. Set by hand while
#: looking at which passages of long pages were shown, not swept. After a change: `python -m evals`.
TOPICAL = 0.4  # its heading is about nothing but what is asked
LEAD = 0.2  # it is where a page says what it is about
ELSEWHERE = 0.25  # of its score: it only points elsewhere
OTHER_YEAR = 0.4  # of its score: its page is about other years
LEADING = 2000  # characters
#: What the mean score of all queries counts, compared with the best one. Tuned on long pages.
ALL_QUERIES = 1.0
#: What a query after the first counts. The first is the topic; the others lead to passages about
#: other things of its names, too. After a change: `python -m evals --only reading`.
FURTHER = 0.4
_AGAINST = frozenset({"v", "vs", "versus", "against"})
_APPENDIX = re.compile(
    r"(?:references|external links|notes|see also|further reading|bibliography|sources|footnotes)$",
    re.I,
)


def _score_for_each(
    pieces: Sequence[_Piece], queries: Sequence[str], memory: Memory
) -> list[float]:
    """The score of each passage for the query that it fits best, and a share of the mean of all.

    Scores are shares of a query's best one, so that short and long queries count alike. Queries
    after the first are times FURTHER, unless made since an earlier prompt; for the sources of that
    prompt, only these count.
    """
    shares = []
    for n, query in enumerate(queries):
        own = _score_passages(pieces, query)
        top = max(own, default=0.0) or 1.0
        is_new = query in memory.queries
        weight = 1.0 if n == 0 or is_new else FURTHER
        weights = (is_new if s.n in memory.read else weight for s, _ in pieces)
        shares.append([w * x / top for w, x in zip(weights, own, strict=True)])
    return [max(own) + ALL_QUERIES * sum(own) / len(own) for own in zip(*shares, strict=True)]


def _score_passages(pieces: Sequence[_Piece], query: str) -> list[float]:
    shown = [" ".join(s.page.text[a:b] for a, b in piece.shown_spans()) for s, piece in pieces]
    names = [f"{s.page.title} {text}" for (s, _), text in zip(pieces, shown, strict=True)]
    scores = rank_texts(names, query)
    top = max(scores, default=0.0)
    query_words, years = set(content_words(query)), set(find_years(query))
    fit = []
    for score, (source, piece) in zip(scores, pieces, strict=True):
        heading = source.page.text[slice(*piece.heading)].strip("# ")
        words = set(content_words(plain_name(heading))) - _AGAINST
        own = words - set(content_words(source.page.title)) or words
        dated = set(find_years(source.page.title))
        score *= ELSEWHERE if _APPENDIX.match(heading) else 1.0
        score *= OTHER_YEAR if years and dated and not dated & years else 1.0
        near = TOPICAL * bool(own and own <= query_words) + LEAD * (piece.start < LEADING)
        fit.append(score + near * top if score else 0.0)
    return fit


def _excerpts(
    sources: Sequence[Source], pieces: Sequence[_Piece], same: dict[int, int]
) -> tuple[Excerpt, ...]:
    excerpts = []
    for source in sources:
        own = (piece.shown_spans() for one, piece in pieces if one.n == source.n)
        spans = sorted(set(chain(*own)))
        if spans or source.n in same:
            # neighbours are one, so that a quote may run across their border
            texts = [source.page.text[a:b] for a, b in join_spans(spans, gap=2)]
            excerpts.append(Excerpt.of(source, texts, None if spans else same[source.n]))
    return tuple(excerpts)


def render_sources(excerpts: Iterable[Excerpt]) -> str:
    """The sources as every prompt shows them, escaped so that no page can close its block."""
    return "\n".join(map(_render_block, excerpts))


def _render_block(excerpt: Excerpt) -> str:
    fields = {"title": excerpt.title, "site": _name_site(excerpt.url), "date": excerpt.date}
    fields["same_text_as"] = str(excerpt.same or "")
    lines = {name: html.escape(" ".join(value.split())[:300]) for name, value in fields.items()}
    shown = "".join(f' {name}="{x}"' for name, x in lines.items() if x or name == "title")
    text = html.escape(" […] ".join(excerpt.passages), quote=False)
    return f'<source id="{excerpt.source}"{shown}>{text}</source>'


def _name_site(url: str) -> str:
    """The place of a source in few tokens: its host, or the name of its file without the path.

    "" for one of many rows of a file.
    """
    path, row, _ = url.partition("?")
    if url.startswith(("http://", "https://")):
        return path.split("/")[2].partition(":")[0]
    return "" if row else path.rpartition("/")[2]
