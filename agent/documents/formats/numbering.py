"""The numbers of lists, headings and clauses that a program writes by itself: `3.2`, `(a)`, `IV.`.

Formats: ISO/IEC 29500-1, 17.9; ISO/IEC 26300, 16.30 and 16.34. What is only a bullet has none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from agent.documents.formats.archive import Archive
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int

MAX_LEVELS = 10
MAX_LETTERED = 1000  # from which on a letter or a Roman numeral is written as a number
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
#: The ways of OpenDocument and HTML to write a number; others are written in digits.
WAYS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class _Level(NamedTuple):
    """How the numbers of a level are written: `%1.%2` has those of the first two levels."""

    text: str
    way: str
    start: int


class Numbering:
    """Counts the paragraphs of a document that are numbered, in their order."""

    def __init__(self, archive: Archive, part: str) -> None:
        """`part`: of the text. What numbers its paragraphs stands in others."""
        names = dict(archive.relations(part).values())
        styles = archive.read_xml(names.get("styles", "styles.xml"))
        self._levels: dict[str, dict[int, _Level]] = defaultdict(dict)
        self._same: dict[str, str] = {}  # lists that count on, by what they count
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0] * MAX_LEVELS)
        self._styled: dict[str, tuple[str, int]] = {}  # lists and levels of styles of paragraphs
        self._read_word(archive.read_xml(names.get("numbering", "")))
        self._read_styles(styles)
        for root in (styles, archive.read_xml(part)) if part == "content.xml" else ():
            self._read_open(root)

    def number(self, paragraph: Element) -> str:
        """The number of a paragraph as it is shown; "" for none. Each is asked for once."""
        name, level = self._find_list(paragraph)
        levels = self._levels.get(name, {})
        if level not in levels:
            return ""
        counts = self._counts[self._same.get(name, name)]
        given = to_int(attribute(paragraph.getparent(), "start-value"), 0)  # of OpenDocument
        counts[level] = given or (counts[level] + 1 if counts[level] else levels[level].start)
        counts[level + 1 :] = [0] * (MAX_LEVELS - level - 1)

        def write(match: re.Match[str]) -> str:
            n = to_int(match[1], 1) - 1
            one = levels.get(n)
            return write_number(counts[n] or one.start, one.way) if one else ""

        return re.sub(r"%([1-9])", write, levels[level].text).strip()

    def _find_list(self, paragraph: Element) -> tuple[str, int]:
        """The list of a paragraph and its level in it, from 0."""
        if local_name(paragraph) == "h":
            return "outline", to_int(attribute(paragraph, "outline-level"), 1) - 1
        if local_name(paragraph.getparent()) == "list-item":
            return self._find_open_list(paragraph)
        style = attribute(paragraph.find("./{*}pPr/{*}pStyle"), "val")
        own = paragraph.find("./{*}pPr/{*}numPr")
        name, level = self._styled.get(style, ("", 0))
        if own is not None:
            name = attribute(own.find("./{*}numId"), "val") or name
            level = to_int(attribute(own.find("./{*}ilvl"), "val"), level)
        return name, level

    def _find_open_list(self, paragraph: Element) -> tuple[str, int]:
        if paragraph.getprevious() is not None:
            return "", 0
        lists = [one for one in paragraph.iterancestors() if local_name(one) == "list"]
        name = next(filter(None, (attribute(one, "style-name") for one in lists)), "")
        level = len(lists) - 1
        item, goes_on = paragraph.getparent(), attribute(lists[0], "continue-numbering") == "true"
        if item.getprevious() is None and not goes_on and level < MAX_LEVELS:
            self._counts[name][level] = 0
        return name, level

    def _read_word(self, root: Element | None) -> None:
        kinds = {attribute(one, "abstractNumId"): one for one in find_all(root, "abstractNum")}
        for number in find_all(root, "num"):
            of = attribute(number.find("./{*}abstractNumId"), "val")
            name = attribute(number, "numId")
            restarts = list(find_all(number, "startOverride"))
            if not restarts:
                self._same[name] = f"abstract {of}"
            for level in [*find_all(kinds.get(of), "lvl"), *find_all(number, "lvl")]:
                n = to_int(attribute(level, "ilvl"), 0)
                told = {kind: attribute(find_first(level, kind), "val") for kind in _OF_LEVEL}
                if told["numFmt"] not in ("bullet", "none") and n < MAX_LEVELS:
                    start = to_int(told["start"], 1)
                    self._levels[name][n] = _Level(told["lvlText"], told["numFmt"], start)
                if told["pStyle"]:
                    self._styled.setdefault(told["pStyle"], (name, n))
            for restart in restarts:
                n = to_int(attribute(restart.getparent(), "ilvl"), 0)
                if one := self._levels[name].get(n):
                    start = to_int(attribute(restart, "val"), 1)
                    self._levels[name][n] = one._replace(start=start)

    def _read_styles(self, root: Element | None) -> None:
        """The lists of the styles of a Word document, and of those that they are based on."""
        based: dict[str, str] = {}
        for style in find_all(root, "style"):
            name = attribute(style, "styleId")
            based[name] = attribute(find_first(style, "basedOn"), "val")
            if found := attribute(find_first(style, "numId"), "val"):
                level = attribute(find_first(style, "ilvl"), "val")
                known = self._styled.get(name, ("", 0))[1]
                self._styled[name] = found, to_int(level, known)
        for name in based:
            upper = name
            for _ in range(MAX_LEVELS):
                upper = upper if upper in self._styled else based.get(upper, "")
            if upper in self._styled:
                self._styled.setdefault(name, self._styled[upper])

    def _read_open(self, root: Element | None) -> None:
        for kind in ("list-level-style-number", "outline-level-style"):
            for level in find_all(root, kind):
                style, n = level.getparent(), to_int(attribute(level, "level"), 1) - 1
                way = attribute(level, "num-format")
                name = "outline" if kind.startswith("outline") else attribute(style, "name")
                if way and n < MAX_LEVELS:
                    self._levels[name][n] = _Level(
                        attribute(level, "num-prefix")
                        + ".".join(_shown_levels(level, n))
                        + attribute(level, "num-suffix"),
                        WAYS.get(way, "decimal"),
                        to_int(attribute(level, "start-value"), 1),
                    )


class ShapeNumbers:
    """Counts the lines of shapes that are numbered: ISO/IEC 29500-1, 21.1.2.4.1."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Element, str, int]] = {}  # shape, kind and number, by level

    def number(self, line: Element) -> str:
        """The number of a line as it is shown; "" for none. Each is asked for once."""
        found = _OF_SHAPE.fullmatch(attribute(bullet := line.find("./{*}pPr/{*}buAutoNum"), "type"))
        if find_first(line, "t") is None:  # an empty line is not counted
            return ""
        level, shape = to_int(attribute(line.find("./{*}pPr"), "lvl"), 0), line.getparent()
        above = self._last.get(level)
        self._last = {n: one for n, one in self._last.items() if n < level}
        if not found:
            return ""
        number = to_int(attribute(bullet, "startAt"), 1)
        if above and above[0] is shape and above[1] == found[0]:
            number = above[2] + 1
        self._last[level] = shape, found[0], number
        way = {"Lc": "lower", "Uc": "upper"}.get(found[2], "") + found[1].capitalize()
        way = way.replace("Alpha", "Letter")
        return _SHAPE_FORMS[found[3]].format(write_number(number, way))


_OF_SHAPE = re.compile(r"(arabic|alpha|roman)(Lc|Uc|)(Period|ParenR|ParenBoth|Plain)")
_SHAPE_FORMS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}"}
_OF_LEVEL = ("numFmt", "lvlText", "start", "pStyle")


def _shown_levels(level: Element, last: int) -> Iterator[str]:
    shown = min(to_int(attribute(level, "display-levels"), 1), last + 1)
    yield from (f"%{n + 1}" for n in range(last + 1 - shown, last + 1))


def write_number(number: int, way: str) -> str:
    """A number as letters or Roman numerals where they are asked for, else in digits."""
    if way.endswith("Letter") and 0 < number < MAX_LETTERED:
        told = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif way.endswith("Roman") and 0 < number < MAX_LETTERED:
        told = ""
        for value, letters in _ROMAN:
            told += letters * (number // value)
            number %= value
    else:
        told = f"{number:02}" if way == "decimalZero" else str(number)
    return told.upper() if way.startswith("upper") else told
