"""The sentence nearest to a claim, and the words in which the two differ. It gives no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from agent.evidence.quoting import touched_sentences
from agent.evidence.words import CJK
from agent.state import Differences
from agent.verification.judge_view import QuotePlace

MOST_WORDS = 200  # of a sentence that are compared
_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


class WordRun(NamedTuple):
    """What a sentence and a claim have at one place, as written; one of them may have nothing."""

    is_same: bool
    page: str
    claim: str


def find_differences(claim: str, places: Sequence[QuotePlace]) -> Differences | None:
    """The quoted sentence nearest to a claim, with the words that only one of the two has."""
    touched = ((p.text, touched_sentences(p.text, p.start, p.end)) for p in places)
    sentences = dict.fromkeys(text[a:b] for text, spans in touched for a, b in spans)
    if not sentences:
        return None
    nearest = max(sentences, key=lambda one: _match(one, claim).ratio())
    runs = [run for run in split_runs(nearest, claim) if not run.is_same]
    return Differences(
        sentence=nearest,
        page=tuple(run.page for run in runs if run.page),
        claim=tuple(run.claim for run in runs if run.claim),
    )


def split_runs(sentence: str, claim: str) -> Iterator[WordRun]:
    """A sentence and a claim side by side, cut where they begin and cease to differ."""
    page, own = 0, 0
    for tag, _, b, _, d in _match(sentence, claim).get_opcodes():
        page_end, own_end = _find_word(sentence, b), _find_word(claim, d)
        yield WordRun(tag == "equal", sentence[page:page_end].strip(), claim[own:own_end].strip())
        page, own = page_end, own_end


def _find_word(text: str, n: int) -> int:
    word = next(islice(_WORD.finditer(text), n, n + 1), None)
    return word.start() if word and n < MOST_WORDS else len(text)


def _match(sentence: str, claim: str) -> SequenceMatcher[str]:
    page, own = (_WORD.findall(text.casefold())[:MOST_WORDS] for text in (sentence, claim))
    return SequenceMatcher(None, page, own, autojunk=False)
