"""EgressFilter: no search query gives away a key, the instructions of a prompt, or a page's text.

A page may order a model to put parts of its prompt into a query. What a query repeats of a prompt
is found word for word, also backwards, in rot13, base64 or hexadecimal. Other spellings and small
pieces are not found: the length of a query and the budget bound them, and a query goes only to the
search services of the user.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from agent.calls.contract import Task
from agent.errors import SearchFailed

#: Letters and digits in a row that a query may not share: with the instructions of a prompt (eight
#: words of English), and with the text of a page (twenty; titles and names are shorter).
MAX_RULE_LETTERS, MAX_TEXT_LETTERS = 40, 110
DENSE = 3  # such a letter as one of Chinese or Japanese counts for so many
MIN_SECRET_LETTERS = 8  # a shorter key could be a word
_DENSE_LETTER = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{16,}")


class EgressFilter:
    """Refuses queries that repeat a secret, or text of the prompts that it has watched."""

    def __init__(self, secrets: Iterable[str], topic: str) -> None:
        """`topic`: as the user asked it; a query may repeat it. A model may have completed it."""
        self._topic = _letters(topic)
        self._secrets = [s for s in map(_letters, secrets) if len(s) >= MIN_SECRET_LETTERS]
        self._rules: dict[str, None] = {}  # as ordered sets
        self._texts: dict[str, None] = {}

    def watch(self, task: Task[Any]) -> None:
        """Note the text of a prompt before it is sent."""
        self._rules[_letters(task.system_prompt())] = None
        for excerpt in task.evidence:
            self._texts.update(dict.fromkeys(map(_letters, excerpt.passages)))
        for one in getattr(task, "earlier", ()):  # the answers of runs that this one follows
            self._texts[_letters(one.answer)] = None
        for exchange in task.exchanges:
            self._texts.update(dict.fromkeys(map(_letters, exchange.results)))

    def check(self, query: str) -> None:
        """Raises SearchFailed (`forbidden`) for a query that must not leave the process."""
        for reading in map(_letters, _readings(query)):
            if any(secret in reading for secret in self._secrets):
                raise _refusal("holds a key")
            if self._repeats(reading, self._rules, MAX_RULE_LETTERS):
                raise _refusal("repeats the instructions of a prompt")
            if self._repeats(reading, self._texts, MAX_TEXT_LETTERS):
                raise _refusal("repeats the text of a page")

    def _repeats(self, query: str, texts: Iterable[str], most: int) -> bool:
        """Whether a query has more than `most` letters in a row of a text, and not of its topic."""
        length = most // DENSE if 2 * len(_DENSE_LETTER.findall(query)) > len(query) else most
        runs = [query[i : i + length] for i in range(len(query) - length + 1)]
        new = [run for run in runs if run not in self._topic]
        return any(run in text for text in tuple(texts) for run in new)


def _refusal(reason: str) -> SearchFailed:
    return SearchFailed(f"A query that {reason} was not sent.", outcome="forbidden")


def _letters(text: str) -> str:
    """The letters and digits of a text alone, so that no blank or sign between them can hide it."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in plain if char.isalnum())


def _readings(query: str) -> Iterator[str]:
    """A query as it is, and decoded in the ways that every model knows."""
    yield query
    yield query[::-1]
    yield codecs.encode(query, "rot13")
    for token in _ENCODED.findall(query):
        yield from (_decode_base64(token[skipped:]) for skipped in range(4))
        yield _decode_hex(token)


def _decode_base64(token: str) -> str:
    whole = token.replace("-", "+").replace("_", "/")[: len(token) // 4 * 4]
    return base64.b64decode(whole).decode("utf-8", "ignore")


def _decode_hex(token: str) -> str:
    try:
        return binascii.unhexlify(token[: len(token) // 2 * 2]).decode("utf-8", "ignore")
    except binascii.Error:
        return ""
