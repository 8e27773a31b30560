"""A text as the checker reads it: sentences of words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from agent.checking.numbers import TIMES, date_words, number_key, number_word
from agent.checking.words import Sentence, Word, common_words, little_words, make_word, words_of
from agent.evidence import CJK, split_sentences, stem, strip_accents
from agent.evidence.dates import months
from agent.evidence.numbers import CHINESE_DIGITS, chinese_value, read_number_words, scales
from agent.evidence.words import normalize as bounded_form

_QUOTES = str.maketrans(
    {**dict.fromkeys("’‘ʼ`´", "'"), **dict.fromkeys("‐‑‒–—―−", "-"), "\u00ad": "", "\u200b": ""}
)
_RUN = re.compile(r"[^\w\s]{8,}")
_DOTTED = re.compile(r"\b([A-Z])\.(?=[A-Z]\b)")
_DATE = r"(?<!\d)(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}(?P<by>[./-])\d{1,2}(?P=by)\d{4})(?!\d)"
_UNIT = r"\s?%|s\b|(?:st|nd|rd|th)\b|[kKmMbB]n?\b"
_PIECE = re.compile(
    rf"(?P<date>{_DATE})|(?P<number>\d+(?:[.,٬٫]\d+)*)(?P<unit>{_UNIT})?|(?P<cjk>[{CJK}]+)"
    rf"|(?P<word>[^\W\d{CJK}_]+(?:'[^\W\d_]+|\+\+|#)?)|(?P<mark>[,;:()，；：、\"“”])"
)
_NUMERALS = re.compile(f"[{''.join(CHINESE_DIGITS)}]+")
_COUNTED = "年月日号名个人次岁届场球枚座位米元%"
LONGEST_SENTENCE = 150  # words; a longer one is a list or an attack, and is cut
COUNTERS = "年月日号"  # of a date: behind a number they say nothing
PARTICLES = frozenset("的了在是和与及而被把对于从为以有也就都这那其之者们")
_PERCENT = ("percent", "prozent", "pct")


def normalize(text: str, limit: int) -> str:
    """A text in one width and with one kind of quotes and dashes, at most `limit` characters.

    Long runs of punctuation are cut: looking for the ends of sentences in them takes long.
    """
    whole = bounded_form("NFKC", text[:limit]).translate(_QUOTES)[:limit]
    return _DOTTED.sub(r"\1", _RUN.sub(" ", whole))


@lru_cache(maxsize=512)
def read_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a normal text. Those of no words are left out."""
    german = _is_german(text)
    found = (tuple(_Reader(text[start:end], german)) for start, end in split_sentences(text))
    return tuple(
        sentence[at : at + LONGEST_SENTENCE]
        for sentence in found
        for at in range(0, len(sentence), LONGEST_SENTENCE)
    )


def _is_german(text: str) -> bool:
    """Whether a text looks German, in which a capital letter makes no name."""
    words = {strip_accents(word) for word in re.findall(r"[^\W\d_]+", text[:3000])}
    return len(words & little_words("de")) > len(words & little_words("en"))


class _Reader:
    """The words of one sentence, from its pieces."""

    def __init__(self, text: str, german: bool) -> None:
        self._text = text
        self._german = german
        self._pieces = list(_PIECE.finditer(text))
        self._plain = [strip_accents(piece[0]) for piece in self._pieces]

    def __iter__(self) -> Iterator[Word]:
        at = 0
        while at < len(self._pieces):
            used, words = self._next(at)
            yield from words
            at += used

    def _next(self, at: int) -> tuple[int, list[Word]]:
        """How many pieces the next words take, and the words."""
        piece = self._pieces[at]
        if piece["number"]:
            return self._read_digits(at)
        if piece["date"]:
            return 1, date_words(piece[0])
        if piece["cjk"]:
            dated = at and self._pieces[at - 1]["number"]
            return 1, _read_chinese(piece[0].lstrip(COUNTERS) if dated else piece[0])
        if piece["mark"]:
            return 1, [Word(piece[0], "mark", ())]
        used, value = read_number_words(self._plain[at : at + 8])
        if used:
            return self._read_number_words(at, used, value)
        return 1, [self._read_word(at)]

    def _at(self, at: int) -> str:
        return self._plain[at] if 0 <= at < len(self._plain) else ""

    # --- numbers ---

    def _read_digits(self, at: int) -> tuple[int, list[Word]]:
        """A number of digits with its scale, its unit, or its month sign."""
        piece, used = self._pieces[at], 1
        text, unit = piece["number"], (piece["unit"] or "").strip()
        times = TIMES.get(unit.lower(), 1.0)
        while used < 3 and (scale := scales().get(self._at(at + used))):
            times, used = times * scale, used + 1
        after = self._at(at + used)[:1]
        if after == "月":
            return used, [Word(text, "number", (f"@{int(text[:2])}",) if text.isdigit() else ())]
        if CHINESE_DIGITS.get(after, 0) >= 100:
            times *= CHINESE_DIGITS[after]
        more = 0 if unit == "%" else self._percent(at + used)
        sign = "%" if more or unit == "%" else "s" if unit == "s" else ""
        word = number_word(text, times, sign, self._is_rough(at))
        return used + more, [self._of_range(at, word)]

    def _of_range(self, at: int, word: Word) -> Word:
        """The end of a range of years with its century: 2018-19 is also 2019."""
        start = self._pieces[at].start()
        before = re.search(r"(\d\d)\d\d[-/]$", self._text[max(0, start - 5) : start])
        if before and re.fullmatch(r"\d\d", word.text):
            return word._replace(keys=(*word.keys, number_key(float(before[1] + word.text))))
        return word

    def _percent(self, at: int) -> int:
        """How many pieces say per cent."""
        if self._at(at) in _PERCENT:
            return 1
        return 2 if (self._at(at), self._at(at + 1)) == ("per", "cent") else 0

    def _read_number_words(self, at: int, used: int, value: float) -> tuple[int, list[Word]]:
        """A number written out, with its unit."""
        text = " ".join(piece[0] for piece in self._pieces[at : at + used])
        more = self._percent(at + used)
        keys, also = (
            ((number_key(value) + "%",), (number_key(value),))
            if more
            else ((number_key(value),), ())
        )
        return used + more, [Word(text, "number", keys, also, value, self._is_rough(at))]

    def _is_rough(self, at: int) -> bool:
        return any(self._at(i) in words_of("numbers", "about") for i in (at - 1, at - 2))

    # --- words and names ---

    def _read_word(self, at: int) -> Word:
        text, plain = self._pieces[at][0], self._plain[at]
        if (month := months().get(plain)) and self._is_month(at):
            return Word(text, "number", (f"@{month}",))
        bare = plain.removesuffix("'s")
        little = bare in little_words("en", "de", "ar") or len(plain) < 2
        if not self._german and self._is_name(at, bare):
            return make_word(text, plain, True, self._is_first(at), False)
        return make_word(text, plain, False, False, little)

    def _is_month(self, at: int) -> bool:
        """`May` is a month beside a number; a longer name with a capital always is."""
        text = self._pieces[at][0]
        if text[0].islower():
            return False
        beside = any(
            0 <= i < len(self._pieces) and self._pieces[i]["number"]
            for i in (at - 2, at - 1, at + 1, at + 2)
        )
        return beside or not text[0].isupper() or (len(text) > 5 and at > 0)

    def _is_name(self, at: int, plain: str) -> bool:
        text = self._pieces[at][0]
        if not text[0].isupper() or plain in words_of("names", "plain"):
            return False
        if at or (len(text) > 1 and text.isupper()):
            return True
        known = plain in little_words("en") or stem(plain) in common_words()
        return not known and not plain.endswith(("ing", "ed", "ly", "s"))

    def _is_first(self, at: int) -> bool:
        """Whether a capital may be due to the sentence's beginning alone."""
        follower = self._pieces[at + 1][0] if at + 1 < len(self._pieces) else ""
        return not at and not self._pieces[at][0].isupper() and not follower[:1].isupper()


# --- Chinese --------------------------------------------------------------------------------------


def _read_chinese(run: str) -> list[Word]:
    """A run of Chinese as numbers and, between them, bigrams."""
    words: list[Word] = []
    start = 0
    for match in _NUMERALS.finditer(run):
        after = run[match.end() : match.end() + 1]
        alone = match[0] not in "一百千万亿" and after != "" and after in _COUNTED
        if len(match[0]) > 1 or alone:
            words += _bigrams(run[start : match.start()])
            value = chinese_value(match[0])
            keys = (f"@{value:.12g}",) if after == "月" else (number_key(value),)
            words.append(Word(match[0], "number", keys, value=value))
            start = match.end() + (after != "" and after in COUNTERS)
    return words + _bigrams(run[start:])


def _bigrams(run: str) -> list[Word]:
    count = max(1, len(run) - 1) if run else 0
    pairs = [run[i : i + 2] for i in range(count)]
    return [Word(p, "word", (p,), little=len(p) == 1 or not PARTICLES.isdisjoint(p)) for p in pairs]
