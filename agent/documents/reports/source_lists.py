"""The lists of sources in a report in Markdown, recognized by their shape, and what marks refer to.

A list is a run of lines that begin with a key (`[3]`, `3.`, `[^a]:`) and have an address, on the
line or below it; its heading, language and place do not matter. Keys without brackets make a list
where marks name them. A run that no mark names is one where every line is a title and an address.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from agent.state import canonical_url, find_urls

DOI = r"(?:\bdoi:?\s*|(?<![\w/.]))10\.\d{4,9}/[^\s\"'<>«»“”()\[\]{},;]+"
LOCAL = r"\bcorpus:[^\s\\<>\"()\[\]|]+"  # a document of the user's, as answers name it
_ADDRESS = re.compile(rf"https?://[^\s<>]+|{DOI}|{LOCAL}", re.I)
_KEYS = re.compile(
    r"[\s>]{0,40}(?:[-*+•]\s{1,9})?\|?\s{0,9}(?P<keys>"
    r"(?:\\?[\[【［](?:\w+: ?)?\^?[\w.-]{1,30}\^?\\?[\]】］]:?\s*)+"
    r"|\^?\d{1,3}[.)、．]?(?=\s))\s*"
)
_KEY = re.compile(r"\[\W*(?:[a-z]+: ?)?\^?([\w.-]+)|(\d+)")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_BRACKETS = " <[(*-|\\"
_APART = tuple("|:-–—,，、：")
MOST_RANGED = 30  # sources that `[1-9]` may name
TITLE = 250  # characters before it


class Address(NamedTuple):
    """What a mark leads to: an address, or "" where the report gives none."""

    key: str  # the same for every spelling
    url: str
    title: str = ""

    @classmethod
    def of(cls, url: str, title: str = "") -> Address:
        """The source at an address; words of the page that it points at are no part of it."""
        url = url.partition("#:~:")[0]
        return cls(canonical_url(url), url, title)


def find_address(text: str) -> str:
    """The first address in a text, or that of its first DOI; "" for neither."""
    found = _ADDRESS.search(text.replace("\\_", "_").replace("\\&", "&"))
    if not found:
        return ""
    if found[0].lower().startswith("http"):
        return next(find_urls(found[0].split("](")[0]), "").rstrip("*_\\")
    local = found[0].lower().startswith("corpus:")
    doi = found[0][found[0].find("10.") :].rstrip(".")
    return found[0].strip() if local else f"https://doi.org/{unquote(doi)}"


def read_labels(names: str) -> list[str]:
    """The labels that a mark names; of a range all between its ends."""
    labels: list[str] = []
    for part in re.split(r"[,;，、]", re.sub(r"^[^\W\d_]+[:\s]\s*(?=\^?\d)", "", names)):
        first, _, last = (x.strip(" ^@") for x in part.replace("–", "-").partition("-"))
        is_range = (first + last).isdecimal() and 0 < int(last or 0) - int(first) < MOST_RANGED
        one = part.strip(" ^@").split(":")[0].strip()
        labels += map(str, range(int(first), int(last) + 1)) if is_range else [one]
    return labels


class Entry:
    """A source of a list, and the lines that it takes."""

    def __init__(self, n: int, line: str) -> None:
        found = _KEYS.match(line)
        self.opens = found["keys"] if found else ""
        self.keys = [
            (one[1] or one[2]).casefold() for one in _KEY.finditer(self.opens.replace("【", "["))
        ]
        self.text = line[found.end() if found else 0 :]
        self.url = find_address(self.text)
        self.lines = [n]
        self.is_below = False  # its address has a line of its own

    @property
    def is_bracketed(self) -> bool:
        """Whether its key cannot be the number of an item."""
        return self.opens.lstrip("\\")[:1] in ("[", "【", "［")

    @property
    def is_title(self) -> bool:
        """Whether it is a title with its address behind it, set apart."""
        return self._ends_with_address(_APART)

    @property
    def is_entry(self) -> bool:
        """Whether it is a title or a sentence with its address behind it."""
        return self._ends_with_address((*_APART, ".", "。"))

    def _ends_with_address(self, joints: tuple[str, ...]) -> bool:
        found = _ADDRESS.search(self.text)
        if not found or self.text[found.end() :].strip(" )]>*.|\\\n"):
            return False
        before = self.text[: found.start()].rstrip(" \n*<").removesuffix("[").rstrip(" *")
        before = before[:-1] if before.endswith("](") else before
        is_link = before.startswith("[") and before.endswith("]")
        is_apart = is_link or not before or before.endswith(joints) or self.is_below
        return is_apart and len(before) < TITLE

    def take(self, n: int, line: str, *, is_broken: bool) -> bool:
        """Take a line that belongs to the entry; whether it does. `is_broken`: by a hard break."""
        url, is_next = find_address(line), n == self.lines[-1] + 1
        is_address = bool(url) and bool(_ADDRESS.match(line.strip(_BRACKETS)))
        is_rest = is_next and len(self.text) + len(line) < TITLE and not self.url
        is_quote = line.startswith("  ") and line.strip().startswith(">") and bool(self.url)
        is_broken = is_broken and is_next and not _BULLET.match(line)
        is_due = is_address and (not self.url or bool(self.keys)) and bool(self.opens or is_next)
        if not (is_due or is_rest or is_quote or (is_broken and self.is_bracketed)):
            return False
        self.text += f"\n{line}"
        self.is_below = self.is_below or (is_address and not self.url)
        self.url = self.url or url
        self.lines.append(n)
        return True


class References:
    """The sources that a report lists: what `[3]` means at its line."""

    def __init__(self, lines: Sequence[str], used: Collection[str]) -> None:
        self.taken: set[int] = set()
        self._labels: dict[str, list[tuple[int, Address]]] = {}
        for run in _find_runs(lines):
            for entry in run if _is_list(run, used) else ():
                self._add(entry)

    def __bool__(self) -> bool:
        return bool(self._labels)

    def _add(self, entry: Entry) -> None:
        words = " ".join(x for x in re.sub(r"[*\\]", "", entry.text).split() if "://" not in x)
        title = words.replace(entry.url, "").strip(" :-–—([|")[:300]
        name = entry.keys[0] if entry.keys else title
        address = Address.of(entry.url, title) if entry.url else Address(f"#{name}", "", title)
        self.taken.update(entry.lines)
        for key in entry.keys:
            self._labels.setdefault(key, []).append((entry.lines[0], address))

    def find(self, label: str, line: int) -> Address | None:
        """The source with this label in the next list behind a line, or else the last before."""
        entries = self._labels.get(label.casefold(), [])
        n = min(bisect_left(entries, line, key=lambda one: one[0]), len(entries) - 1)
        return entries[n][1] if entries else None

    def find_all(self, labels: Sequence[str], line: int) -> list[Address]:
        """The sources of labels; none where one of them has none."""
        found = [self.find(label, line) for label in labels]
        return [one for one in found if one] if all(found) else []


def _find_runs(lines: Sequence[str]) -> Iterator[list[Entry]]:
    """The runs of entries, in order: a heading, prose, or another kind of key ends one."""
    run: list[Entry] = []
    for n, line in enumerate(lines):
        is_broken = n > 0 and lines[n - 1].endswith(("\\", "  "))
        starts = bool(_KEYS.match(line)) and not line.lstrip().startswith("#")
        below = lines[n + 1] if n + 1 < len(lines) else ""
        starts = starts or bool(_BULLET.match(line) and _ADDRESS.match(below.strip(_BRACKETS)))
        if not line.strip() or (run and not starts and run[-1].take(n, line, is_broken=is_broken)):
            continue
        entry = Entry(n, line)
        if not starts and (not entry.url or line.startswith("|")):
            yield run
            run = []
            continue
        kind = (bool(entry.keys), entry.is_bracketed)
        if run and kind != (bool(run[0].keys), run[0].is_bracketed):
            yield run
            run = []
        run.append(entry)
    yield run


def _is_list(run: Sequence[Entry], used: Collection[str]) -> bool:
    """Whether a run lists sources, where marks of the text use these labels."""
    keys = {key for one in run for key in one.keys}
    if run and run[0].is_bracketed:
        return any(one.url for one in run) or all(one.text.strip() for one in run)
    if keys & set(used) and sum(one.is_entry for one in run) * 2 >= len(run):
        return len(keys & set(used)) * 3 >= len(keys)
    is_run = len(run) > 1 or any(one.is_below for one in run)
    return is_run and all(one.is_title for one in run)
