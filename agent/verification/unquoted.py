"""Names and hosts of a claim that are nowhere in what is quoted: no judge lifts that.

A name counts only where it can be recognised: claim and quotes are of one language and one script,
and that language writes no other nouns with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.evidence import strip_accents
from agent.evidence.language import language_of, main_script
from agent.evidence.proper_names import find_sure_names
from agent.evidence.quoting import touched_sentences
from agent.evidence.words import PLAIN_WORD, plain_words
from agent.state.characters import strip_controls
from agent.verification.judge_view import QuotePlace

STEM = 3  # letters at the end of a word that may differ: `German`, `Germany`
SHORTEST_STEM = 4
SHORTEST_WORD = 3  # letters of a word of a name that is looked for
#: A domain name; its last label has letters alone (RFC 1123, section 2.1, and RFC 3696, section 2).
_LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
_HOST = re.compile(
    rf"(?<![\w.-])(?:{_LABEL}\.)+(?:[^\W\d_]{{2,24}}|xn--[a-z0-9-]+)(?![\w-]|\.\w)", re.I
)
_STOPS = str.maketrans("\u3002\uff0e\uff61", "...")  # that name a host too (RFC 3490, section 3.1)


def find_unquoted(
    claim: str, places: Sequence[QuotePlace], pages: Sequence[str] = ()
) -> tuple[str, ...]:
    """The hosts of a claim that no quoted sentence has, and the names that are nowhere shown.

    A name may also be anywhere on `pages`.
    """
    hosts = {host.casefold() for place in places for host in _quoted_hosts(place)}
    lost = [host for host in _find_hosts(claim) if host.casefold() not in hosts]
    return (*lost, *_unquoted_names(claim, places, pages))


def _find_hosts(text: str) -> list[str]:
    return _HOST.findall(strip_controls(text).translate(_STOPS))


def _quoted_hosts(place: QuotePlace) -> Iterator[str]:
    for start, end in touched_sentences(place.text, place.start, place.end):
        yield from _find_hosts(place.text[start:end])


def _unquoted_names(
    claim: str, places: Sequence[QuotePlace], pages: Sequence[str]
) -> Iterator[str]:
    language = language_of(claim)
    is_sure = bool(places) and not language.has_noun_capitals
    names = find_sure_names(claim, language.tag) if is_sure else []
    if not names:
        return
    quotes, shown = (" ".join(p.quote for p in places), [*(p.context for p in places), *pages])
    if main_script(quotes) != main_script(claim) or language_of(quotes) != language:
        return
    shown_words = frozenset[str]().union(*map(plain_words, shown))
    for name in names:
        words = map(strip_accents, PLAIN_WORD.findall(name))
        lost = [word for word in words if len(word) >= SHORTEST_WORD and word not in shown_words]
        stems = (word[: max(SHORTEST_STEM, len(word) - STEM)] for word in lost)
        if any(not any(other.startswith(stem) for other in shown_words) for stem in stems):
            yield name
