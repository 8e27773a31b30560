"""From a model's draft to claims with citations: every `[n]` left has a quote on its page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from agent.evidence.draft_markdown import Piece, add_to_last_cell, read_pieces
from agent.evidence.markers import MARKER, cited_numbers, join_markers, normalize_markers
from agent.evidence.quoting import anchor_quote, find_verbatim, locate_quote, nearest_quote
from agent.evidence.words import count_words
from agent.state import Answered, Cited, Claim, Draft, Quote, Source

MOST_EXPLAINED = 5  # dropped citations, or sentences, that get a warning each
LONGEST_DRAFT = 300_000  # characters: as many as models write at most
LEAST_MOVED = 4  # words of a quote that tell from which page they are
MOST_CLAIMS = 200  # of an answer
LIST_WORDS = 200  # of an answer with a list or a table, unless its limit is higher
LIST_ITEMS = 12  # the same

#: Markers after the full stop of their sentence.
_LATE = re.compile(
    r"(?<![.!?؟۔।。！？])([.!?؟۔।。！？]+[)\"'”’»」』]*)[ \t]*((?:\[\d{1,9}\][ \t]*)+)"
)
#: A Markdown link. Its words stay, its address goes: only a citation gives an address.
_LINKED = re.compile(r"!?\[((?:[^\[\]\n]|\[\^?\d{1,4}\]){0,300})\]\([^()\s]{0,2000}\)")
#: A marker with the blanks that it leaves before a stop.
_CITED = re.compile(rf" *{MARKER.pattern}(?: +(?=[.,;:!?؟۔।。，；：！？]))?")
_END = re.compile(r"(?<![.!?؟۔।。！？])[.!?؟۔।。！？]+[)\"'”’»」』]*$|$")


def compose_answer(
    draft: Draft, sources: Sequence[Source], max_words: int | None = None
) -> tuple[Answered, tuple[str, ...]]:
    """A draft as an answer that keeps only markers with a quote on the page of their source.

    A marker without one has what its source says of its sentence. Returns the answer, its claims
    not yet judged, and a warning for each citation whose quote is not on its page and for each
    sentence beyond `max_words`.
    """
    citing = _citing_sentences(draft.answer[:LONGEST_DRAFT])
    quoted = {cited.source for cited in draft.citations}
    citations = [*draft.citations, *(Cited(source=n) for n in citing if n not in quoted)]
    found = [(c, locate_citation(c, sources, citing.get(c.source, ""))) for c in citations]
    quotes = order_quotes(quote for _, located in found for quote in located)
    places = [(cited.source, quote.source) for cited, located in found for quote in located]
    text = _cite_where_found(_place_markers(draft.answer[:LONGEST_DRAFT]), places)
    claims, over = _cut_claims(_make_claims(text, quotes), max_words)
    lost = [cited for cited, located in found if not located and cited in draft.citations]
    warnings = (*explain_lost_citations(lost, sources), *_explain_omitted(over))
    return make_answered(claims, quotes), warnings


def _cite_where_found(text: str, places: Iterable[tuple[int, int]]) -> str:
    """A text whose markers name the pages that have their quotes, as `(cited, found)`."""
    markers: dict[int, dict[int, None]] = {}
    for cited, found in places:
        markers.setdefault(cited, {})[found] = None
    return MARKER.sub(lambda m: join_markers(markers.get(int(m[1]), (m[1],))), text)


def has_citation(draft: Draft, sources: Sequence[Source]) -> bool:
    """Whether a sentence of a draft has a citation whose quote is on its page."""
    if not draft.answer.strip():
        return False
    cited = cited_numbers(normalize_markers(draft.answer))
    used = (one for one in draft.citations if not cited or one.source in cited)
    return any(locate_citation(one, sources) for one in used)


def _cut_claims(claims: Sequence[Claim], max_words: int | None) -> tuple[list[Claim], list[Claim]]:
    listed = [claim for claim in claims if claim.form != "sentence"]
    most_words = max(max_words, LIST_WORDS) if max_words and listed else max_words
    most_items = LIST_ITEMS if max_words and max_words <= LIST_WORDS else MOST_CLAIMS
    kept: list[Claim] = []
    words = items = 0
    for at, claim in enumerate(claims):
        words += count_words(claim.text)
        items += claim.form != "sentence"
        is_over = (most_words and words > most_words) or items > most_items
        if at >= MOST_CLAIMS or (kept and is_over):
            return kept, list(claims[at:])
        kept.append(claim)
    return kept, []


def _explain_omitted(over: Sequence[Claim]) -> Iterator[str]:
    for claim in over[:MOST_EXPLAINED]:
        yield f"Left out to keep the answer short: {claim.text}"
    if (rest := len(over) - MOST_EXPLAINED) > 0:
        yield f"{rest} more sentences were left out for the same reason."


def make_answered(claims: Sequence[Claim], quotes: Iterable[Quote]) -> Answered:
    """The event of an answer with these claims, and those of the quotes that they cite."""
    cited = {n for claim in claims for n in claim.citations}
    return Answered(
        text=join_claims(claims),
        quotes=order_quotes(quote for quote in quotes if quote.source in cited),
        claims=tuple(claims),
    )


def limit_citations(answer: Answered, most: int | None) -> Answered:
    """The answer with at most so many citations of each sentence, the first ones; None: all."""
    claims = [one.model_copy(update={"citations": one.citations[:most]}) for one in answer.claims]
    return make_answered(claims, answer.quotes) if most else answer


def order_quotes(quotes: Iterable[Quote]) -> tuple[Quote, ...]:
    """Quotes sorted by source and position, without duplicates."""
    return tuple(sorted(set(quotes), key=lambda q: (q.source, q.start, q.end, q.match)))


def locate_citation(cited: Cited, sources: Sequence[Source], claim: str = "") -> tuple[Quote, ...]:
    """The quotes of a citation, located on its page; () if they are not there.

    One of several words that is on another page word for word was taken from that one. One that is
    nowhere becomes the sentence nearest to it; one that was left out, that nearest to the `claim`.
    """
    source = next((source for source in sources if source.n == cited.source), None)
    if source and (quote := anchor_quote(cited.quote, source)):
        return (quote,)
    if count_words(cited.quote) >= LEAST_MOVED:
        elsewhere = filter(None, (find_verbatim(cited.quote, other) for other in sources))
        if quote := next(elsewhere, None):
            return (quote,)
    if source is None:
        return ()
    near = nearest_quote(cited.quote or claim, source) if claim else None
    return locate_quote(cited.quote, source) or ((near,) if near else ())


def _citing_sentences(text: str) -> dict[int, str]:
    texts: dict[int, str] = {}
    for piece in read_pieces(_place_markers(text)):
        bare = MARKER.sub("", piece.text)
        for n in cited_numbers(piece.text):
            texts[n] = f"{texts.get(n, '')} {bare}".strip()
    return texts


def explain_lost_citations(citations: Sequence[Cited], sources: Sequence[Source]) -> Iterator[str]:
    """A warning for each dropped citation."""
    for cited in citations[:MOST_EXPLAINED]:
        source = next((source for source in sources if source.n == cited.source), None)
        if source is None:
            yield f"A citation was dropped: there is no source {cited.source}."
            continue
        yield f'A citation was dropped: [{source.n}] does not say "{_shorten(cited.quote)}".'
    if (rest := len(citations) - MOST_EXPLAINED) > 0:
        yield f"{rest} more citations were dropped for the same reason."


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


def _place_markers(text: str) -> str:
    linked = _LINKED.sub(lambda m: f"[{m[1]}]" if m[1].isdecimal() else m[1], text)
    text = normalize_markers(linked)
    return _LATE.sub(lambda m: f" {m[2].replace(' ', '')}{m[1]} ", text)


def _make_claims(text: str, quotes: Sequence[Quote]) -> list[Claim]:
    """The claims of a draft, each once. Items without markers have those of the intro.

    In a draft without any marker the last sentence, and each item and row, has those of all quotes.
    """
    pieces = [p for p in read_pieces(text) if any(map(str.isalnum, MARKER.sub("", p.text)))]
    if not MARKER.search(text):
        markers = join_markers(dict.fromkeys(quote.source for quote in quotes))
        pieces = [
            p._replace(text=p.text + markers) if p.form != "sentence" or p is pieces[-1] else p
            for p in pieces
        ]
    return list(dict.fromkeys(_make_claim(piece, quotes) for piece in pieces))


def _make_claim(piece: Piece, quotes: Sequence[Quote]) -> Claim:
    quoted = {quote.source for quote in quotes}
    text, intro = (_CITED.sub("", part) for part in (piece.text, piece.intro))
    markers = MARKER.findall(piece.text) or MARKER.findall(piece.intro)
    cited = dict.fromkeys(int(n) for n in markers if int(n) in quoted)
    text = " ".join(text.split())
    return Claim(text=text, citations=tuple(cited), form=piece.form, intro=intro)


def join_claims(claims: Iterable[Claim]) -> str:
    """The text of an answer as Markdown: sentences in a row, items in lists, rows in tables."""
    blocks = groupby(claims, key=lambda claim: (claim.form, claim.intro))
    return "\n\n".join(_join_block(form, intro, list(some)) for (form, intro), some in blocks)


def _join_block(form: str, intro: str, claims: Sequence[Claim]) -> str:
    """Claims of one form; no blank follows a Chinese or Japanese full stop."""
    texts = list(map(render_claim, claims))
    if form == "sentence":
        return re.sub("([。！？][)”’」』]*) ", r"\1", " ".join(texts))
    lines = intro.split("\n") if intro else []
    above = [line for line in lines if not line.startswith("|")]
    head = [line for line in lines if line.startswith("|")]
    gap = [""] if above and head else []
    return "\n".join([*above, *gap, *head, *(f"- {t}" if form == "item" else t for t in texts)])


def render_claim(claim: Claim) -> str:
    """A claim with its markers before the full stop, or in the last cell of a row."""
    markers = join_markers(claim.citations)
    if not markers:
        return claim.text
    if claim.form == "row":
        return add_to_last_cell(claim.text, markers)
    body = _END.sub("", claim.text, count=1)
    end = claim.text[len(body) :]
    space = "" if end[:1] in "。！？" and end else " "
    return f"{body}{space}{markers}{end}"
