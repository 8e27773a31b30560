"""A text as the checker reads it: sentences of words, with their numbers, dates and names."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from agent.evidence import CJK, sentences

Kind = Literal["word", "name", "number", "mark"]


class Word(NamedTuple):
    """A word, a Chinese bigram, a number or a comma.

    `keys` are the spellings by which it is found, best first; `also` is what it stands for besides
    when it is evidence (1994 for the 1990s). `text` is what the reader sees.
    """

    text: str
    kind: Kind
    keys: tuple[str, ...]
    also: tuple[str, ...] = ()
    value: float | None = None
    rough: bool = False  # a number after "about" or "more than"
    little: bool = False  # says little: a stop word


Sentence = tuple[Word, ...]

# --- the lists ----------------------------------------------------------------------------------


@cache
def lists() -> dict[str, Any]:
    """The word lists, as they stand in their file."""
    return tomllib.loads(files("agent").joinpath("checking_words.toml").read_text("utf-8"))


@cache
def listed(table: str, *names: str) -> frozenset[str]:
    """The words of a table's lists."""
    found = (lists()[table][name].split() for name in names)
    return frozenset(word for words in found for word in words)


@cache
def _alike(table: str) -> dict[str, tuple[str, ...]]:
    """Each word of a table of synonyms with the numbers of the lines that it stands in."""
    lines: dict[str, tuple[str, ...]] = {}
    for texts in [lists()[table]["same" if table == "names" else "en"]]:
        for n, line in enumerate(texts.split("|")):
            for word in line.split():
                key = word if table == "names" else stem(word)
                lines[key] = (*lines.get(key, ()), f"={table}{n}")
    return lines


@cache
def _numerals(name: str) -> dict[str, float]:
    words = lists()["numbers"][name].split()
    return {word: float(value) for word, value in zip(words[::2], words[1::2], strict=True)}


@cache
def _months() -> dict[str, int]:
    lines = lists()["numbers"]["months"].split("|")
    return {fold(word): n for n, line in enumerate(lines, 1) for word in line.split()}


# --- spelling -------------------------------------------------------------------------------------

_QUOTES = str.maketrans(
    {**dict.fromkeys("’‘ʼ`´", "'"), **dict.fromkeys("‐‑‒–—―−", "-"), "\u00ad": "", "\u200b": ""}
)
_MARKS = re.compile(r"[\u0300-\u036f\u064b-\u0652\u0640]")
_ARABIC = str.maketrans("أإآىة", "اااي" + "ه")


@lru_cache(maxsize=20_000)
def fold(word: str) -> str:
    """A word without case, accents and vowel signs."""
    plain = unicodedata.normalize("NFKD", word.translate(_ARABIC)).casefold()
    return _MARKS.sub("", plain).translate(_ARABIC)


_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""))
_ENDINGS += (("s", ""), ("ly", ""), ("en", ""), ("er", ""), ("em", ""))
_FAMILY = re.compile(
    r"(?:i[sz]ations?|i[sz](?:e[sd]?|ing|ers?)|ations?|ators?|ati(?:ve|ng)|ates?d?|[st]?ions?|ments?"
    r"|ness(?:es)?|ab(?:le|ly|ility)|i?ally|als?|i(?:cs?|st[s]?|sms?|ty|ties|ve|ves)|ances?|ences?"
    r"|anc(?:y|ies)|enc(?:y|ies)|ants?|ents?|ers?|ors?|ings?|ful(?:ly|ness)?|less|ous(?:ly)?"
    r"|y|ed|es|s|ly|en|e)$"
)
_PREFIX = re.compile("^(?:وال|بال|كال|فال|لل|ال|و(?=....))")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A folded word without its commonest endings: `goals` is `goal`, `الفريق` is `فريق`."""
    if "\u0600" <= word[:1] <= "\u06ff":
        bare = _PREFIX.sub("", word)
        return bare if len(bare) > 2 else word
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    word = word.rstrip("e") if len(word) > 4 else word
    doubled = len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sle"
    return word[:-1] if doubled else word


@lru_cache(maxsize=20_000)
def family(word: str) -> str:
    """What words of one family share: `nation` and `national`, `establish` and `establishment`."""
    root = _FAMILY.sub("", word)
    return "~" + (root if len(root) >= 5 else stem(word))


@lru_cache(maxsize=20_000)
def _spellings(word: str, name: bool) -> tuple[str, ...]:
    """The keys of a folded word, from the most exact to the loosest."""
    bare = word.removesuffix("'s").strip("'")
    keys = [stem(bare), family(bare)]
    keys += _alike("names").get(bare, ()) if name else ()
    keys += _alike("same").get(keys[0], ())
    return tuple(dict.fromkeys(keys))


# --- numbers --------------------------------------------------------------------------------------

_CHINESE = {c: float(i) for i, c in enumerate("零一二三四五六七八九")}
_CHINESE |= {"〇": 0, "两": 2, "十": 10, "百": 100, "千": 1000, "万": 1e4, "亿": 1e8}


def key(value: float) -> str:
    """The one spelling of a number."""
    return f"#{value:.12g}"


def number(text: str, times: float = 1, unit: str = "", rough: bool = False) -> Word:
    """A number as written; `1.000` may be a thousand or one."""
    plain = unicodedata.normalize("NFKC", text).replace("٬", ",").replace("٫", ".")
    values = [value * times for value in _readings(plain)]
    keys = tuple(key(value) + unit for value in values)
    also = tuple(key(value) for value in values) if unit else ()
    if not unit and len(plain) == 4 and 1000 <= values[0] <= 2100:
        also = (key(values[0] // 10 * 10) + "s",)
    return Word(text, "number", keys, also, values[0], rough)


def _readings(text: str) -> list[float]:
    bare = re.sub("[.,]", "", text)
    *whole, last = re.split("[.,]", text)
    if not whole:
        return [float(bare)]
    decimal = float("".join(whole) + "." + last)
    if len(whole) > 1 and len(last) == 3:
        return [float(bare)]
    if len(last) != 3:
        return [decimal]
    return [float(bare)] if "," in text else [decimal, float(bare)]


def _chinese(run: str) -> float:
    """The value of Chinese numerals: 一百二十 is 120, 二〇二二 is 2022."""
    if all(_CHINESE[c] < 10 for c in run):
        return float("".join(str(int(_CHINESE[c])) for c in run[:15]))
    total = part = digit = 0.0
    for value in (_CHINESE[c] for c in run):
        if value < 10:
            digit = value
        elif value < 1e4:
            part += (digit or 1) * value
            digit = 0
        else:
            total = (total + part + digit or 1) * value
            part = digit = 0
    return total + part + digit


# --- reading --------------------------------------------------------------------------------------

_DATE = r"(?<!\d)(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}(?P<by>[./-])\d{1,2}(?P=by)\d{4})(?!\d)"
_PIECE = re.compile(
    rf"(?P<date>{_DATE})|(?P<number>\d+(?:[.,٬٫]\d+)*)(?P<unit>\s?%|s\b|(?:st|nd|rd|th)\b|[kKmMbB]n?\b)?"
    rf"|(?P<cjk>[{CJK}]+)|(?P<word>[^\W\d{CJK}_]+(?:'[^\W\d_]+)?)|(?P<mark>[,;:()，；：、\"“”])"
)
_RUN = re.compile(r"[^\w\s]{8,}")
_DOTTED = re.compile(r"\b([A-Z])\.(?=[A-Z]\b)")
_TIMES = {"k": 1e3, "m": 1e6, "b": 1e9, "mn": 1e6, "bn": 1e9}


def normal(text: str, limit: int) -> str:
    """A text in one width and with one kind of quotes and dashes, at most `limit` characters.

    Long runs of punctuation are cut: looking for the ends of sentences in them takes long.
    """
    whole = unicodedata.normalize("NFKC", text[:limit]).translate(_QUOTES)[:limit]
    return _DOTTED.sub(r"\1", _RUN.sub(" ", whole))


@lru_cache(maxsize=512)
def read(text: str) -> tuple[Sentence, ...]:
    """The sentences of a normal text. Those of no words are left out."""
    german = is_german(text)
    found = (tuple(_sentence(text[a:b], german)) for a, b in sentences(text))
    return tuple(sentence for sentence in found if sentence)


def is_german(text: str) -> bool:
    """Whether a text looks German, in which a capital letter makes no name."""
    words = {fold(word) for word in re.findall(r"[^\W\d_]+", text[:3000])}
    return len(words & listed("stop", "de")) > len(words & listed("stop", "en"))


def _sentence(text: str, german: bool) -> Iterator[Word]:
    pieces = list(_PIECE.finditer(text))
    at = 0
    while at < len(pieces):
        used, words = _next(pieces, at, german)
        yield from words
        at += used


def _next(
    pieces: list[re.Match[str]], at: int, german: bool
) -> tuple[int, Iterable[Word]]:
    """How many pieces the next words take, and the words."""
    piece = pieces[at]
    if piece["date"]:
        return 1, _date(piece[0])
    if piece["number"]:
        return _digits(pieces, at)
    if piece["cjk"]:
        return 1, _characters(piece[0])
    if piece["mark"]:
        return 1, [Word(piece[0], "mark", ())]
    used, value = _written(pieces, at)
    if used:
        return used, [_counted(pieces, at, used, value)]
    return 1, [_word(pieces, at, german)]


def _date(text: str) -> list[Word]:
    """Year, month and day; where either may be the month, both spellings."""
    parts = re.split("[./-]", text)
    year = next(part for part in parts if len(part) == 4)
    small = [int(part) for part in parts if part is not year]
    months = small if len(parts[0]) < 4 and max(small) < 13 else None
    months = months or ([small[0]] if small[0] < 13 and len(parts[0]) == 4 else [])
    months = months or [n for n in small if n < 13][:1]
    days = [n for n in small if months and len(months) > 1 or n not in months] or small[1:]
    month = Word(text, "number", tuple(f"@{n}" for n in months))
    day = Word(text, "number", tuple(key(n) for n in days), value=float(days[0]))
    return [number(year), *([month] if months else []), day]


def _digits(pieces: list[re.Match[str]], at: int) -> tuple[int, list[Word]]:
    piece, unit, used, times = pieces[at], (pieces[at]["unit"] or "").strip(), 1, 1.0
    after = _plain(pieces, at + 1)
    if unit.lower() in _TIMES:
        times = _TIMES[unit.lower()]
    while (scale := _numerals("scales").get(after)) and used < 3:
        times, used = times * scale, used + 1
        after = _plain(pieces, at + used)
    if after in ("percent", "prozent", "pct") or (after == "per" and _plain(pieces, at + used + 1) == "cent"):
        unit, used = "%", used + 1 + (after == "per")
    elif after[:1] in _CHINESE and _CHINESE[after[0]] >= 100:
        times *= _CHINESE[after[0]]
    if after[:1] == "月":
        return used, [Word(piece[0], "number", (f"@{float(piece['number']):.12g}",))]
    suffix = unit if unit in ("%", "s") else ""
    return used, [number(piece["number"], times, suffix, _is_rough(pieces, at))]


def _plain(pieces: list[re.Match[str]], at: int) -> str:
    return fold(pieces[at][0]) if 0 <= at < len(pieces) else ""


def _is_rough(pieces: list[re.Match[str]], at: int) -> bool:
    return any(_plain(pieces, i) in listed("numbers", "about") for i in (at - 1, at - 2))


def _written(pieces: list[re.Match[str]], at: int) -> tuple[int, float]:
    """The value of a number written out, and how many words it has; none for `one` alone."""
    total = part = 0.0
    used = seen = 0
    while used < 8:
        word = _plain(pieces, at + used)
        value, scale = _numerals("words").get(word), _numerals("scales").get(word)
        value = 1.0 if word == "one" or (word == "a" and not used) else value
        if scale:
            part = (part or 1) * scale
            total, part = (total + part, 0.0) if scale >= 1000 else (total, part)
        elif value is not None and _adds(part, value, used):
            part += value
        elif not (word == "and" and seen and part >= 100 and _numerals("words").get(_plain(pieces, at + used + 1))):
            break
        used += 1
        seen += bool(scale) or (value is not None and word not in ("a", "one"))
    return (used, total + part) if seen else (0, 0.0)


def _adds(part: float, value: float, used: int) -> bool:
    """Whether a numeral goes on the one before it: `twenty` `one`, `hundred` `five`."""
    return not used or part == 0 or (part % 100 == 0 and value < 100) or (part % 100 >= 20 and part % 10 == 0 and value < 10)


def _counted(pieces: list[re.Match[str]], at: int, used: int, value: float) -> Word:
    percent = _plain(pieces, at + used) in ("percent", "prozent", "per")
    text = " ".join(piece[0] for piece in pieces[at : at + used])
    also = (key(value),) if percent else ()
    return Word(text, "number", (key(value) + "%" * percent,), also, value, _is_rough(pieces, at))


def _word(pieces: list[re.Match[str]], at: int, german: bool) -> Word:
    text = pieces[at][0]
    plain = fold(text)
    if (month := _months().get(plain)) and _is_month(pieces, at):
        return Word(text, "number", (f"@{month}",))
    little = plain.removesuffix("'s") in listed("stop", "en", "de", "ar") or len(plain) < 2
    name = not german and _is_name(pieces, at, plain)
    return Word(text, "name" if name else "word", _spellings(plain, name), little=little and not name)


def _is_month(pieces: list[re.Match[str]], at: int) -> bool:
    """`May` and `Mar` are months beside a number; a full name with a capital always is."""
    text = pieces[at][0]
    beside = any(0 <= i < len(pieces) and pieces[i]["number"] for i in (at - 1, at + 1, at + 2, at - 2))
    if text[0].islower():
        return False
    return beside or (len(text) > 4 and at > 0 and text != "March") or not text[0].isupper()


def _is_name(pieces: list[re.Match[str]], at: int, plain: str) -> bool:
    text = pieces[at][0]
    if not text[0].isupper() or plain in listed("names", "plain"):
        return False
    if at or (len(text) > 1 and text.isupper()):
        return True
    known = plain in listed("stop", "en") or stem(plain) in _common()
    return not known and not plain.endswith(("ing", "ed", "ly", "s"))


@cache
def _common() -> frozenset[str]:
    return frozenset(stem(word) for word in listed("common", "en"))


def is_common(word: Word) -> bool:
    """Whether a word is so common that finding it says half as much."""
    return word.kind == "word" and word.keys[0] in _common()


_NUMERALS = re.compile("[零〇一二三四五六七八九十百千万亿两]+")
_COUNTED = "年月日号名个人次岁届场球枚座位米元%"


def _characters(run: str) -> Iterator[Word]:
    """A run of Chinese as numbers and, between them, bigrams."""
    start = 0
    for match in _NUMERALS.finditer(run):
        after = run[match.end() : match.end() + 1]
        if len(match[0]) > 1 or (after and after in _COUNTED and match[0] not in "一百千万亿"):
            yield from _bigrams(run[start : match.start()])
            value = _chinese(match[0])
            prefix = "@" if after == "月" else "#"
            yield Word(match[0], "number", (f"{prefix}{value:.12g}",), value=value)
            start = match.end()
    yield from _bigrams(run[start:])


def _bigrams(run: str) -> Iterator[Word]:
    for i in range(max(1, len(run) - 1) if run else 0):
        yield Word(run[i : i + 2], "word", (run[i : i + 2],), little=len(run) == 1)
