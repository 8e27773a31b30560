"""Text as evidence: cut at sentence borders, ranked for a question, shown to a model, and quoted.

Every span is a half-open range of character offsets into a page's stored text.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.outside import Excerpt
from agent.research import Quote, Source

Span = tuple[int, int]

#: Characters of Chinese, Japanese and Korean, which are written without spaces between words.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
HEADER = 30  # tokens of the block around a source, about
LEAST = 20  # tokens; with fewer left no passage is looked at
COPIED = 60  # characters from which the same words are a copy, not a coincidence
PASSAGE = 500  # characters: some three sentences, enough to stand alone and few enough to rank


# --- cutting ---------------------------------------------------------------------------------

_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Rev|Hon|No|Nos|Vol|vs|cf|ca|approx|Inc|Ltd|"
    r"Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|al|etc|e\.g|i\.e|z\.B|bzw|Nr|Abs|Bd|"
    r"bspw|geb|gegr|gest|vgl|Fa|Hrsg|Mio|Mrd|Okt|Dez|Str)"
    r"|\b[A-Z]|\b\w\.\w|\b[du]|\b(?:u\. ?a|d\. ?h)|(?<!\w)[\u0621-\u064a])\.$"
)
#: A German ordinal: after an article, or before a month.
_ORDINAL = re.compile(r"(\b(?:im|vom|zum|zur|der|das|den|dem|des|seit|bis) )?\b\d{1,2}\.$", re.I)
_MONTH = re.compile(
    r" ?(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
#: Begins only where a run of stops begins, so that a long one is looked at once.
_BORDER = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’»“‘«)\]]*+(?=\s)|[。！？｡]++[”’」』）]*+|\n++"
)


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Span, ...]:
    """The sentences of a text, in order, without the blanks around them. A line break ends one."""
    spans: list[Span] = []
    start = 0
    for border in _BORDER.finditer(text):
        if border[0][0] in ".?!" and _joins(text, start, border):
            continue
        spans.append((start, border.end()))
        start = border.end()
    spans.append((start, len(text)))
    return tuple(span for span in (_trim(text, *s) for s in spans) if span[0] < span[1])


def _joins(text: str, start: int, border: re.Match[str]) -> bool:
    """Whether a stop belongs to an abbreviation, an ordinal or a title, not to a sentence's end."""
    before = text[max(start, border.start() - 12) : border.start() + 1]
    after = text[border.end() : border.end() + 8].lstrip(" ")[:1]
    if (ordinal := _ORDINAL.search(before)) and (ordinal[1] or _MONTH.match(text, border.end())):
        return True
    return bool(_ABBREVIATION.search(before)) or after.islower() or after in tuple("|,;:–—/")


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def passages(text: str, size: int = PASSAGE) -> tuple[Span, ...]:
    """A text in pieces of whole sentences of about `size` characters.

    A single sentence that is longer is cut hard, so no piece is longer than twice `size`.
    """
    pieces: list[Span] = []
    for start, end in sentences(text):
        if pieces and end - pieces[-1][0] <= size:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.extend((at, min(at + 2 * size, end)) for at in range(start, end, 2 * size))
    return tuple(pieces)


# --- counting and ranking ----------------------------------------------------------------------

_TOKEN = re.compile(r"[A-Za-z]+|\d|\s{2,}|[^\sA-Za-z\d]")


def tokens(text: str) -> int:
    """About how many tokens a model sees: within a third above the truth for most scripts.

    Calibrated against the Gemma vocabulary: a word of up to eight letters is one token, longer
    ones gain one for each further eight, a digit is one, a character beyond ASCII three quarters.
    """
    total = 0.0
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece[0].isascii():
            total += 1 + (len(piece) - 1) // 8 if piece[0].isalpha() else 1
        else:
            total += 0.75
    return math.ceil(total)


STOP_WORDS = frozenset(
    "a about an and are as at be been being but by can could did do does doing for from had has "
    "have he her his how i if in into is it its me more most my no not of on or our s she should "
    "so some such t than that the their them then there these they this those to was we were what "
    "when where which while who whom whose why will with would you your".split()
)
_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")


def words(text: str) -> list[str]:
    """The content words of a text, folded; runs of Chinese, Japanese or Korean as bigrams."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold().translate(_SAME)):
        word = match[0]
        if _CJK.match(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in STOP_WORDS:
            found.append(_stem(word))
    return found


_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))


def _stem(word: str) -> str:
    """A word without its commonest English endings: `goals` is `goal`, `scored` is `scores`."""
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return (word[: -len(ending)] + rest).rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


def rank(texts: Sequence[str], question: str) -> list[float]:
    """How well each text fits a question: BM25 (k1 1.2, b 0.75) over the given texts.

    Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    bags = [Counter(words(text)) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = (sum(lengths) / len(lengths) if lengths else 0) or 1
    scores = [0.0] * len(texts)
    for word in dict.fromkeys(words(question)):  # in one order: sums differ in their last bits
        holding = sum(1 for bag in bags if word in bag)
        rarity = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
        for i, bag in enumerate(bags):
            if count := bag[word]:
                length = 0.25 + 0.75 * lengths[i] / mean
                scores[i] += rarity * count * 2.2 / (count + 1.2 * length)
    return scores


# --- showing -----------------------------------------------------------------------------------


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


# --- copies ------------------------------------------------------------------------------------

SHINGLE = 5  # words: two writers seldom hit on the same five in a row
#: The share of the smaller text's shingles from which it repeats the other one: a copy keeps most
#: of them under another heading or with a few words changed. Set by hand: `evals.conflicts`.
REPEATED = 0.5
_CHUNK = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def copies(sources: Sequence[Source]) -> dict[int, int]:
    """For each source's number, that of the first source whose text it repeats; else its own.

    Near-copies too: a text under another heading, shortened, or with some words changed. Each
    text is compared by its shingles (`SHINGLE` words in a row, case and signs aside) with those
    before it; the smaller one's share that both hold counts (containment; Broder, On the
    resemblance and containment of documents, 1997). Fifty pages of 100 kB take two seconds.
    """
    held: dict[int, set[int]] = {}  # the shingles of the texts that repeat no other
    first: dict[int, int] = {}
    for source in sources:
        own = _shingles(source.page.text)
        same = (n for n, other in held.items() if _shared(own, other))
        first[source.n] = n = next(same, source.n)
        if n == source.n:
            held[n] = own
    return first


def _shared(own: set[int], other: set[int]) -> bool:
    return len(own & other) >= REPEATED * min(len(own), len(other))


def _shingles(text: str) -> set[int]:
    words = _CHUNK.findall(text.casefold())
    if len(words) < SHINGLE:
        return {hash(tuple(words))}
    return set(map(hash, zip(*(words[i:] for i in range(SHINGLE)), strict=False)))


# --- quoting -----------------------------------------------------------------------------------

_SAME = str.maketrans(
    {
        **dict.fromkeys('‘’‚‛′`´“”„‟″«»「」『』"', "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        # nothing to be seen: zero-width characters, marks of direction
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
        **dict.fromkeys(
            "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""
        ),
        # Arabic is written with or without its vowels, and stretched to fill a line
        **dict.fromkeys(map(chr, (0x640, 0x670, *range(0x64B, 0x660))), ""),
    }
)


@lru_cache(maxsize=256)
def fold(text: str) -> tuple[str, tuple[int, ...]]:
    """A text with case, width, blanks, quotes and dashes made alike, and where each stood."""
    folded: list[str] = []
    origin: list[int] = []
    for i, char in enumerate(text):
        piece = unicodedata.normalize("NFKC", char).casefold().translate(_SAME)
        if piece.isspace():
            if not folded or folded[-1] == " ":
                continue
            piece = " "
        folded.extend(piece)
        origin.extend([i] * len(piece))
    return "".join(folded), tuple(origin)


def anchor(quote: str, source: Source) -> Quote | None:
    """Where a quote stands in a source; None if it does not.

    `exact` if it stands there as given (or as `show` escaped it), `normalized` if it differs only
    in case, blanks, width, quotes or dashes. The text of the result is always the page's own.
    A quote never begins or ends inside a word or a number.
    """
    text = source.page.text
    for given in dict.fromkeys((quote.strip(), html.unescape(quote).strip())):
        if given and (start := _at_words(text, given)) is not None:
            return _quote(source, start, start + len(given), "exact")
    folded, origin = fold(text)
    wanted = fold(html.unescape(quote))[0].strip(" '.…")
    start = _at_words(folded, wanted) if any(c.isalnum() for c in wanted) else None
    if start is None:
        return None
    end = origin[start + len(wanted) - 1] + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return _quote(source, origin[start], end, "normalized")


def nearest(quote: str, source: Source) -> str:
    """The passage of a source that is most like words which it does not hold; "" if none is."""
    spans = passages(source.page.text, PASSAGE // 2)
    texts = [source.page.text[a:b] for a, b in spans]
    scores = rank(texts, quote)
    best = max(range(len(texts)), key=scores.__getitem__, default=-1)
    return texts[best] if best >= 0 and scores[best] else ""


def closest(claim: str, sources: Sequence[Source], most: int = 10) -> list[Quote]:
    """The sentences of sources that share most with a claim, best first."""
    near = _best(claim, [(s, span) for s in sources for span in passages(s.page.text)], most)
    found = _best(
        claim,
        [(s, (a + x, a + y)) for s, (a, b) in near for x, y in sentences(s.page.text[a:b])],
        most,
    )
    quotes = (_quote(source, start, end, "exact") for source, (start, end) in found)
    return [quote for quote in quotes if quote]


def _best(claim: str, places: list[tuple[Source, Span]], most: int) -> list[tuple[Source, Span]]:
    """Those of some places of sources that fit a claim at all, best first."""
    scores = rank([source.page.text[a:b] for source, (a, b) in places], claim)
    order = sorted(range(len(places)), key=lambda i: -scores[i])
    return [places[i] for i in order[:most] if scores[i]]


def lead(text: str, start: int) -> str:
    """What stands before a place in its sentence."""
    begin, _ = _sentence(text, start)
    return text[begin:start]


def antecedent(text: str, start: int) -> str:
    """The sentence before the one at a place, if that one opens with a pronoun; else nothing."""
    begin, end = _sentence(text, start)
    return near(text, start, before=1) if _PRONOUN.match(text[begin:end]) else ""


def near(text: str, start: int, before: int = 2, after: int = 0) -> str:
    """The sentence at a place with so many before and after it."""
    spans = sentences(text)
    at = next((i for i, span in enumerate(spans) if span[0] <= start < span[1]), None)
    if at is None:
        return ""
    shown = spans[max(0, at - before) : at + after + 1]
    return text[shown[0][0] : shown[-1][1]]


def _sentence(text: str, at: int) -> Span:
    """The sentence that holds a place."""
    return next((span for span in sentences(text) if span[0] <= at < span[1]), (at, at))


_PRONOUN = re.compile(
    r"(?:he|she|it|they|his|her|its|their|this|these|er|sie|es|sein|seine|ihr|ihre)\b|[他她它其这该]",
    re.I,
)


def _quote(source: Source, start: int, end: int, match: str) -> Quote | None:
    text = source.page.text[start:end]
    if not any(char.isalnum() for char in text):
        return None
    return Quote.model_validate(
        {"source": source.n, "text": text, "start": start, "end": end, "match": match}
    )


def _at_words(text: str, piece: str) -> int | None:
    """Where a piece stands in a text between borders of words."""
    start = text.find(piece)
    while start >= 0:
        if _border(text, start) and _border(text, start + len(piece)):
            return start
        start = text.find(piece, start + 1)
    return None


def _border(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return True
    left, right = text[at - 1], text[at]
    if re.match(f"[{CJK}]", left) or re.match(f"[{CJK}]", right):
        return True
    return not (left.isalnum() and right.isalnum())
