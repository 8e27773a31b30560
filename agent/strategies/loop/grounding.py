"""Grounding: an answer that came without quotes gets them from the sources, by code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.checking.bench import Place, checked
from agent.evidence import passages, rank, sentences, words
from agent.evidence.citing import MARKERS, Cited, Draft, cited_in, compose
from agent.state import Answered, Source

LOOKED_AT = 6  # passages that fit a claim best, which are then checked
#: No page says these words; what they rest on are the passages that fit the question best.
_POLAR = frozenset("yes no true false both neither 是 否 不是 有 没有 对 不对".split())


class _Piece(NamedTuple):
    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.page.text[self.start : self.end]

    @property
    def place(self) -> Place:
        page = self.source.page
        return Place(page.text, page.title, self.start, self.end)


def grounded(
    draft: Draft, sources: Sequence[Source], topic: str, max_words: int
) -> tuple[Answered, tuple[str, ...]]:
    """`compose`, and where no quote of the draft is on its page, the passages that support it.

    With no such passage either, the answer has no quotes: it is none.
    """
    answered, warnings = compose(draft, sources, max_words)
    if answered.quotes or not draft.answer.strip():
        return answered, warnings
    return compose(_supported(draft.answer, sources, topic), sources, max_words)


def _supported(answer: str, sources: Sequence[Source], topic: str) -> Draft:
    texts, citations = [], []
    for start, end in sentences(answer):
        own = cited_in(answer[start:end])
        text = " ".join(MARKERS.sub("", answer[start:end]).split())
        found = list(_support(text, [s for s in sources if s.n in own] or sources, topic))
        citations += [Cited(source=piece.source.n, quote=piece.text) for piece in found]
        texts.append(text + "".join(f" [{piece.source.n}]" for piece in found))
    return Draft(answer=" ".join(texts) if citations else "", citations=citations)


def _support(claim: str, sources: Sequence[Source], topic: str) -> Iterator[_Piece]:
    """The passage that says a claim in answer to the question: a sentence, else a longer one."""
    polar = claim.casefold().strip(" .!。！") in _POLAR
    for cut in (sentences, passages):
        pieces = [_Piece(s, a, b) for s in sources for a, b in cut(s.page.text)]
        best = _best(pieces, f"{topic} {claim}")
        for piece in best[:LOOKED_AT]:
            if polar or _says(piece, claim, topic):
                yield piece
                return


def _best(pieces: Sequence[_Piece], wanted: str) -> list[_Piece]:
    scores = rank([f"{piece.source.page.title} {piece.text}" for piece in pieces], wanted)
    order = sorted(range(len(pieces)), key=lambda i: -scores[i])
    return [pieces[i] for i in order if scores[i]]


def _says(piece: _Piece, claim: str, topic: str) -> bool:
    """Whether a passage supports a claim, and speaks of what is asked."""
    title = piece.source.page.title
    asked = set(words(topic)) - set(words(claim))
    near = not asked or asked & set(words(f"{title} {piece.text}"))
    return bool(near) and checked(claim, (piece.place,)).verdict == "supported"
