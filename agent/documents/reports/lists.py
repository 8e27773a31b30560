"""The lists of sources in a report, known by their shape, and what is left: its prose.

A list is a run of lines that each begin with a key (`[3]`, `3.`, `3)`, `^3`, several of them) and
have an address, or are titles with an address set apart. No word decides: not that of its heading,
nor its language, nor its place. A run of lines that the text names by their keys is a list where it
could be one; a run that nothing names must be one in every line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, takewhile
from operator import attrgetter
from string import digits
from typing import NamedTuple
from urllib.parse import unquote

from agent.documents.blocks import TextBlock
from agent.state.urls import find_urls, is_web_url

DOI = re.compile(
    r"(?:\bdoi:?\s*|(?<![\w/.]))(10\.\d{4,9}/[^\s\"'<>«»“”()\[\]{},;]*"
    r"(?:\([^\s()]*\)[^\s\"'<>()\[\]{},;]*)*)",
    re.I,
)
HIGH = "⁰¹²³⁴⁵⁶⁷⁸⁹"
LOWERED = str.maketrans(HIGH, digits)
#: How an entry begins: `[1] [4]`, `[^1]:`, `(1)`, `【1】`, `\bibitem{a}`, `1.`, `1)`, `1 |`, `¹`.
_KEYS = re.compile(
    r"\s*(?:[-*•]\s+)?(?P<keys>"
    r"(?:(?:[\[【［]\s*(?:\w{2,10}[: ] ?)?[\^@]?[\w.-]{1,30}\^?\s*[\]】］]\s*)+"
    rf"|\\bibitem(?:\[[^\]\n]{{0,80}}\])?\{{[^{{}}\n]{{1,80}}\}}|[{HIGH}]{{1,3}}(?=\s))[:.]?"
    r"|\(\d{1,3}\)|\^?\d{1,3}(?:[.):．、](?!\d)|\s*\||(?=\s)))\s*"
)
_KEY = re.compile(rf"[\[【［{{]([^\[\]【】［］{{}}]+)[\]】］}}]|\d+|[{HIGH}]+")
_TOLD_NUMBER = re.compile(r"[^\W\d_]{2,10}[\s:]\s*(?=\^?\d)")  # `cite: 3`, `Source 3`
MOST_RANGED = 30  # sources that `[1-9]` may name
_DEFINES = re.compile(r"\\bibitem|\[\^|\]:$")
#: An entry by author and year: `Berg, A. (2015). `, `Institute of Data. (2024, May 3). `.
_AUTHORED = re.compile(
    r"\W{0,3}[^\W_][^()\n]{0,200}(?:[.,]|(?<=,)[^()\n]{1,40}?) \((?:1[5-9]\d\d|20\d\d|n\.d\.)"
    r"[^()\n]{0,30}\)[.,]"
)
_WRAPPED = re.compile(r"\s*[\w~+()@,-]*[/%.=&?#_-][\w/%.=&?#~+()@,-]*\s*")
_APART, _BEHIND = tuple("|:-–—,，、：.。;；\"”»’'"), tuple("|:-–—,，、：([（")
_BRACKETS = " \n([<（“\"'*"
MOST_LINES = 20  # of an entry
OPENING = 60  # characters of a line that stands above a list
TITLE = 250  # characters of an entry before its address


def find_address(text: str) -> str:
    """The first address in a text, or that of its first DOI; "" for neither."""
    if url := next(find_urls(text), ""):
        return url
    doi = DOI.search(text)
    return f"https://doi.org/{unquote(doi[1]).rstrip('.')}" if doi else ""


class ListLine(NamedTuple):
    """A line of a block. `start` and `end` are its offsets there; `body` is behind its keys."""

    block: int
    start: int
    end: int
    keys: tuple[str, ...]
    opens: str  # its keys as they are written
    body: str
    url: str
    before: str  # the address, in the body
    after: str

    @property
    def is_address(self) -> bool:
        """Whether there is nothing but an address."""
        return bool(self.url) and not self.before.strip(_BRACKETS) and len(self.after) < 3

    @property
    def is_apart(self) -> bool:
        """Whether its address stands at an end, or behind a mark that sets it apart."""
        before, after = self.before.rstrip(_BRACKETS), self.after.lstrip(" )]>）*.")
        return (not before or before.endswith(_APART)) and (
            not after or not before or after.startswith(_BEHIND) or len(after) < OPENING
        )

    @property
    def is_title(self) -> bool:
        """Whether it is surely no claim: one title, its address apart and not behind a stop."""
        before = self.before.rstrip(" \n*[<")
        return self.is_apart and not before.endswith((".", "。", "(", "（")) and self.is_short

    @property
    def is_short(self) -> bool:
        """Whether it may be a title: short, and no sentence."""
        return len(self.before) < TITLE and not self.before.rstrip().endswith((".", "。"))


class Entry(NamedTuple):
    """A source of a list."""

    keys: tuple[str, ...]
    url: str
    text: str
    lines: tuple[ListLine, ...]

    @property
    def is_title(self) -> bool:
        """Whether it is surely no claim: a title, its address apart or on a line of its own."""
        first, last = self.lines[0], self.lines[-1]
        if first.url:
            return first.is_title
        return last.is_address and first.is_short

    @property
    def is_authored(self) -> bool:
        """Whether it begins with an author and a year."""
        return bool(_AUTHORED.match(self.text))

    def join(self, line: ListLine) -> Entry:
        """The entry with a further line: its address, the address once more, the rest of one."""
        wraps = self.url and self.text.endswith(self.url[-9:]) and _WRAPPED.fullmatch(line.body)
        text = self.text.rstrip() + line.body.strip() if wraps else f"{self.text}\n{line.body}"
        url = find_address(text) if wraps else self.url or line.url
        return Entry(self.keys + line.keys, url, text, (*self.lines, line))


class SourceList(NamedTuple):
    """A run of entries, from one line of a report to another."""

    entries: list[Entry]

    @property
    def is_whole(self) -> bool:
        """Whether it is a list of sources in every line, whatever names them."""
        titles = sum(one.is_title for one in self.entries)
        rest = (one for one in self.entries if not one.is_title)
        is_short = all(not one.url and one.lines[0].is_short for one in rest)
        return is_short and titles * 3 >= len(self.entries) * 2

    @property
    def is_printed(self) -> bool:
        """Whether it may list sources without an address: each line has a key in brackets."""
        return self._is_marked and any(one.text.strip() for one in self.entries)

    @property
    def _is_marked(self) -> bool:
        return all(one.lines[0].opens[:1] in tuple("[【［") for one in self.entries)

    def is_cited(self, used: Collection[str], *, has_marks: bool) -> bool:
        """Whether it is a list of sources, where the text uses these labels."""
        entries, labels = self.entries, {key for one in self.entries for key in one.keys}
        if not labels:
            return all(one.is_authored for one in entries)
        if any(_DEFINES.search(one.lines[0].opens) for one in entries):
            return True
        cited, addressed = len(labels & set(used)), sum(bool(one.url) for one in entries)
        if self._is_marked and addressed and cited:
            return True
        if has_marks and cited * 3 >= len(labels) * 2 and addressed * 2 >= len(entries):
            return all(one.lines[0].is_short for one in entries)
        inner = (one.lines[0] for one in entries if one.url and not one.lines[0].is_apart)
        within = sum(len(line.before) > OPENING for line in inner)
        return cited * 3 >= len(labels) and addressed * 2 >= max(len(entries), within * 4)


# --- lines ---------------------------------------------------------------------------------------


def read_lines(n: int, block: TextBlock) -> Iterator[ListLine]:
    """The lines of a block; a line goes on after an address with the next key, as PDF has it."""
    if block.kind == "heading":
        return
    for start, end in _split_lines(block):
        text = block.text[start:end]
        found = _KEYS.match(text)
        opens, body = (found["keys"].strip(), text[found.end() :]) if found else ("", text)
        keys = _read_keys(opens)
        is_first = block.kind == "item" and block.number is not None and not start
        if is_first and not (keys and all(map(str.isdecimal, keys))):
            keys, opens, body = (str(block.number),), f"{block.number}.", text
        if any(map(str.isalnum, text)) and (keys or block.kind != "row"):
            places = (start, end - len(body), end)
            yield ListLine(n, start, end, keys, opens, body, *_find_apart(block, *places))


def _read_keys(opens: str) -> tuple[str, ...]:
    found = [(one[1] or one[0]).translate(LOWERED) for one in _KEY.finditer(opens)]
    return tuple(label for names in found[-MOST_RANGED:] for label in read_labels(names) if label)


def read_labels(names: str) -> Iterator[str]:
    """The labels that a marker names; of a range all between its ends."""
    if told := _TOLD_NUMBER.match(names):
        names = names[told.end() :]
    for part in re.split(r"[,;，、]", names):
        first, _, last = (end.strip() for end in part.replace("–", "-").partition("-"))
        is_range = (first + last).isdecimal() and bool(first and last)
        if is_range and 0 < int(last) - int(first) < MOST_RANGED:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield part.strip(" ^@").partition(":")[0].strip()


def _split_lines(block: TextBlock) -> Iterator[tuple[int, int]]:
    start = 0
    for line in block.text.split("\n"):
        end = start + len(line)
        at = start
        if _KEYS.match(line):
            for inner in re.finditer(r"\s(?=[\[【]\^?\d{1,3}[\]】]|\d{1,3}\.\s)", line):
                if find_address(block.text[at : start + inner.start()]):
                    yield at, start + inner.start()
                    at = start + inner.end()
        yield at, end
        start = end + 1


def _find_apart(block: TextBlock, first: int, start: int, end: int) -> tuple[str, str, str]:
    """The first address of a line, and what stands before and behind it in its body."""
    text = block.text
    n = bisect_left(block.links, first, key=attrgetter("start"))
    for link in takewhile(lambda link: link.start < end, islice(block.links, n, None)):
        if is_web_url(link.url):
            return link.url, text[start : link.start], text[max(start, min(link.end, end)) : end]
    url = find_address(text[start:end])
    stated = text.find(url, start, end) if url else -1
    if stated < 0 and (doi := DOI.search(text, start, end)):
        return url, text[start : doi.start()], text[doi.end() : end]
    at, length = (stated, len(url)) if stated >= 0 else (end, 0)
    return url, text[start:at], text[at + length : end]


# --- runs ----------------------------------------------------------------------------------------


def find_runs(blocks: Sequence[TextBlock]) -> Iterator[SourceList]:
    """The runs of lines that may be lists of sources, in order."""
    run: list[Entry] = []
    for n, block in enumerate(blocks):
        if block.kind == "heading":
            yield from _close(run)
            run = []
        for line in read_lines(n, block):
            last = run[-1] if run else None
            is_note = (
                last
                and last.url
                and not (line.keys or line.url)
                and line.block == last.lines[-1].block
            )
            if last and len(last.lines) < MOST_LINES and _continues(last, line):
                run[-1] = last.join(line)
            elif not is_note:
                if run and (bool(line.keys) != bool(run[0].keys) or line.keys[:1] == ("1",)):
                    yield from _close(run)
                    run = []
                run.append(Entry(line.keys, line.url, line.body, (line,)))
    yield from _close(run)


def _continues(entry: Entry, line: ListLine) -> bool:
    """Whether a line belongs to the entry before it."""
    last, is_same = entry.lines[-1], entry.lines[-1].block == line.block
    if not entry.text.strip() and last.opens[:1] == line.opens[:1]:
        return True
    if line.keys or not (entry.keys or is_same):
        return False
    if line.is_address:
        return not entry.url or bool(entry.keys) or line.url == entry.url
    if entry.url:  # the rest of an address, or a day of access
        wraps = last.url and not last.after.strip() and _WRAPPED.fullmatch(line.body)
        return bool(wraps) or (is_same and len(line.body) < OPENING and not line.url)
    return is_same and len(entry.text) + len(line.body) < TITLE


def _close(run: list[Entry]) -> Iterator[SourceList]:
    """The run; of lines without keys, only those at its end that have an address or an author."""
    if run and not run[0].keys:
        n = len(run)
        while n and (run[n - 1].is_title or run[n - 1].is_authored):
            n -= 1
        run = run[n:]
    if run:
        yield SourceList(run)
