"""Grounding: quotes from the sources for an answer that came without valid ones, by ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.checking.bench import QuotePlace, check_by_rules
from agent.evidence import content_words, rank_texts, split_passages, split_sentences
from agent.evidence.citing import Cited, Draft, compose_answer
from agent.evidence.markers import cited_numbers, strip_markers
from agent.evidence.quoting import ranked_pieces
from agent.evidence.words import count_words
from agent.state import Answered, Source

MAX_CHECKED = 6  # passages, best first, that are checked for whether they support a claim
#: Answers that no page contains. The passage that fits topic and answer best is their quote.
_POLAR_ANSWERS = frozenset("yes no true false both neither 是 否 不是 有 没有 对 不对".split())


class _Passage(NamedTuple):
    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.page.text[self.start : self.end]

    @property
    def text_with_title(self) -> str:
        return f"{self.source.page.title} {self.text}"

    @property
    def place(self) -> QuotePlace:
        page = self.source.page
        return QuotePlace(page.text, page.title, self.start, self.end)


def ground_answer(
    draft: Draft, sources: Sequence[Source], topic: str, max_words: int
) -> tuple[Answered, tuple[str, ...]]:
    """The answer of a draft, with warnings, as `compose_answer` returns them.

    If no quote of the draft is in its source, passages that support the draft are its quotes. If
    there is no such passage either, the answer has no quotes, and the caller discards it.
    """
    answer, warnings = compose_answer(draft, sources, max_words)
    if answer.quotes or not draft.answer.strip():
        return answer, warnings
    cited = _cite_passages(draft.answer, sources, topic, max_words)
    return compose_answer(cited, sources, max_words)


def _cite_passages(answer: str, sources: Sequence[Source], topic: str, max_words: int) -> Draft:
    """A draft whose sentences cite the passages that support them; empty if none does.

    A sentence with markers is supported by the sources that it cites alone. No passage is searched
    for beyond `max_words` words, nor twice for one sentence: a reply may be of any length.
    """
    texts: list[str] = []
    citations: list[Cited] = []
    words_left, tried = max_words, set[str]()
    for start, end in split_sentences(answer):
        cited = cited_numbers(answer[start:end])
        text = " ".join(strip_markers(answer[start:end]).split())
        allowed = [source for source in sources if source.n in cited] or sources
        is_new = words_left > 0 and text not in tried
        tried.add(text)
        words_left -= count_words(text) if is_new else 0
        if is_new and (passage := _find_support(text, allowed, topic)):
            citations.append(Cited(source=passage.source.n, quote=passage.text))
            text += f" [{passage.source.n}]"
        texts.append(text)
    return Draft(answer=" ".join(texts) if citations else "", citations=citations)


def _find_support(claim: str, sources: Sequence[Source], topic: str) -> _Passage | None:
    """The best passage that supports a claim: a sentence, else a longer one."""
    is_polar = claim.casefold().strip(" .!。！") in _POLAR_ANSWERS
    for split in (split_sentences, split_passages):
        query = f"{topic} {claim}"
        passages = [_Passage(s, *span) for s, span in ranked_pieces(sources, query, split)]
        for passage in _rank_passages(passages, query)[:MAX_CHECKED]:
            if is_polar or _supports(passage, claim, topic):
                return passage
    return None


def _rank_passages(passages: Sequence[_Passage], query: str) -> list[_Passage]:
    """The passages that fit a query at all, best first."""
    scores = rank_texts([passage.text_with_title for passage in passages], query)
    order = sorted(range(len(passages)), key=lambda i: -scores[i])
    return [passages[i] for i in order if scores[i]]


def _supports(passage: _Passage, claim: str, topic: str) -> bool:
    """Whether a passage supports a claim, and has a word of the topic that the claim has not."""
    topic_words = set(content_words(topic)) - set(content_words(claim))
    if topic_words and not topic_words & set(content_words(passage.text_with_title)):
        return False
    return check_by_rules(claim, (passage.place,)).verdict == "supported"
