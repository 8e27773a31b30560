"""What a claim says otherwise than the sentence nearest to it, as words. It gives no verdict.

Where a claim is nearly a sentence of its page, the words that differ are shown: those that turn it
(a negation, `all` for `some`, a hedge, a direction, a cause), other names and numbers, and other
words that say something. Of every claim, the names that stand on no page that it cites are shown.
The words that turn a sentence stand in `agent/evidence/languages`; the thresholds were found
on sentences with planted differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agent.evidence import content_words, strip_accents
from agent.evidence.language import Language, language_of, main_script
from agent.evidence.names import find_names, find_sure_names
from agent.evidence.quoting import touched_sentences
from agent.evidence.words import CJK_CHARACTER, PLAIN_WORD, plain_words
from agent.state import Difference
from agent.state.values import DifferenceKind

if TYPE_CHECKING:
    from agent.checking.rules import QuotePlace

MOST_WORDS = 200  # of a sentence
FEWEST_WORDS = 5  # of a claim that is held against a sentence
ALIKE = 0.6  # share of a claim's words that stand in the sentence in their order
MOST_SHOWN = 6  # differences of a claim
CLAUSE = 4  # words at a sentence's end: more are a clause, which a claim may leave out
LONGEST_SHOWN = 8  # words of one
STEM = 3  # letters at the end of a name that may differ: `German`, `Germany`
#: What is a difference where one side has it.
ONE_SIDED: dict[str, DifferenceKind] = {
    **{"negation": "negation", "all": "amount", "some": "amount"},
    **{"hedge": "hedge", "cause": "cause", "link": "cause"},
}


class _Run(NamedTuple):
    """Words of a text that follow each other: folded, and where each stands."""

    text: str
    words: Sequence[tuple[str, int, int]]

    @property
    def keys(self) -> list[str]:
        return [word for word, _, _ in self.words]

    def quote(self, most: int = MOST_WORDS) -> str:
        """As they stand in the text."""
        words = self.words[:most]
        return self.text[words[0][1] : words[-1][2]] if words else ""


def find_differences(claim: str, places: Sequence[QuotePlace]) -> tuple[Difference, ...]:
    """How a claim differs from what it stands on: its nearest sentence, and its pages for names."""
    said, language = _split(claim), language_of(claim)
    share, nearest = _find_nearest(said, places)
    found = [*(_compare(nearest, said, language) if share >= ALIKE else ())]
    if not found and sorted(nearest.keys) == sorted(said.keys):
        found += _exchange(nearest.text, claim, language)
    told = " ".join(one.claim for one in found)
    found += (one for one in _missing_names(claim, places, language) if one.claim not in told)
    return tuple(dict.fromkeys(found))[:MOST_SHOWN]


def _find_nearest(said: _Run, places: Sequence[QuotePlace]) -> tuple[float, _Run]:
    """The quoted sentence that is most like a claim, and how much; 0 for too short a claim."""
    touched = ((p.text, touched_sentences(p.text, p.start, p.end)) for p in places)
    runs = [_split(one) for one in dict.fromkeys(t[a:b] for t, some in touched for a, b in some)]
    shares = [(_share(said, run), run) for run in runs if len(said.words) >= FEWEST_WORDS]
    return max(shares, key=lambda one: one[0], default=(0.0, said))


@lru_cache(maxsize=1024)
def _split(text: str) -> _Run:
    """The words of a text; of a script without blanks, its characters."""
    found: list[tuple[str, int, int]] = []
    for match in PLAIN_WORD.finditer(text[: MOST_WORDS * 20]):
        if CJK_CHARACTER.search(match[0]):
            found += ((char, at, at + 1) for at, char in enumerate(match[0], match.start()))
        else:
            found.append((strip_accents(match[0]), *match.span()))
    return _Run(text, found[:MOST_WORDS])


def _share(said: _Run, page: _Run) -> float:
    """The share of a claim's words that stand in a sentence in their order."""
    matcher = SequenceMatcher(None, page.keys, said.keys, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(said.words)


def _compare(page: _Run, said: _Run, language: Language) -> Iterator[Difference]:
    """The differences of a claim and a sentence that are nearly the same."""
    matcher = SequenceMatcher(None, page.keys, said.keys, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            ours = page._replace(words=page.words[a:b])
            theirs = said._replace(words=said.words[c:d])
            is_within = a > 0 and b < len(page.words) and c > 0 and d < len(said.words)
            for kind in dict.fromkeys(_kinds(ours, theirs, language, is_within)):
                shown = (run.quote(LONGEST_SHOWN) for run in (ours, theirs))
                yield Difference(kind=kind, page=next(shown), claim=next(shown))


def _kinds(page: _Run, said: _Run, language: Language, is_within: bool) -> Iterator[DifferenceKind]:
    """What differs in two runs of words; what begins or ends a sentence may be left out."""
    texts = page.quote(), said.quote()
    ours, theirs = ({k for k, words in language.contrasts if words.search(text)} for text in texts)
    found = [kind for name, kind in ONE_SIDED.items() if (name in ours) != (name in theirs)]
    if not said.words and not is_within:
        found = [kind for kind in found if kind == "hedge" and len(page.words) <= CLAUSE]
    turned = [side & {"up", "down"} for side in (ours, theirs)]
    found += ["direction"] if all(turned) and turned[0].isdisjoint(turned[1]) else []
    if page.words and said.words:
        names = [set(find_names(f"x {text}")) for text in texts]
        found += ["name"] if all(names) and names[0] != names[1] else []
        found += ["number"] if any(map(str.isdigit, "".join(texts))) else []
    words = [set(content_words(text, language.tag)) for text in texts]
    is_other = is_within and words[1] and words[0] != words[1]
    yield from found or (["words"] if is_other else [])


# --- names ----------------------------------------------------------------------------------------


def _exchange(sentence: str, claim: str, language: Language) -> Iterator[Difference]:
    """The names of a claim in another order than a sentence of the same words has them."""
    page, said = (find_names(text, language.tag) for text in (sentence, claim))
    if page != said:
        yield Difference(kind="name", page=" … ".join(page), claim=" … ".join(said))


def _missing_names(
    claim: str, places: Sequence[QuotePlace], language: Language
) -> Iterator[Difference]:
    """The names of a claim of which a word stands on no page that it cites."""
    pages = list(dict.fromkeys(f"{place.title}\n{place.text}" for place in places))
    if not pages or any(main_script(page) != main_script(claim) for page in pages):
        return
    held = frozenset().union(*map(plain_words, pages))
    for name in find_sure_names(claim, language.tag):
        words = [word for word in map(strip_accents, PLAIN_WORD.findall(name)) if len(word) > 2]
        stems = (word[: max(4, len(word) - STEM)] for word in words if word not in held)
        if any(not any(other.startswith(stem) for other in held) for stem in stems):
            yield Difference(kind="name", page="", claim=name)
