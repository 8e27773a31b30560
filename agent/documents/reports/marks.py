"""What names a source in Markdown, by its shape: links, addresses, numbers in brackets, raised or
behind a stop, names of notes, and a product's own marks that lead nowhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from posixpath import splitext
from typing import NamedTuple

from agent.documents.format_registry import SUFFIXES
from agent.documents.reports.source_lists import (
    DOI,
    LOCAL,
    Address,
    References,
    find_address,
    read_labels,
)
from agent.state import MarkForm, is_web_url

Spans = Iterable[tuple[int, int, int]]  # start, end, and the number of the line

FEWEST_BARE = 3  # numbers in brackets that are marks although nothing is listed
_KINDS = ("url", "brackets", "raised", "bare", "raw", "digits")
_N = r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*"
_URL = r"https?://(?:[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、|{}]|(?<=\w)'(?=\w))+"
_SHOWN = r"(?:[^\[\]\n]|\\[\[\]]|\[[^\[\]\n]{0,100}\]){0,300}"
_TARGET = r"<[^<>\n]*>|(?:[^\s()<>]|\((?:[^\s()]|\([^\s()]*\))*\))*"
_MARK = re.compile(
    rf"(?P<image>!?)\[(?P<shown>{_SHOWN})\]\((?P<url>{_TARGET})(?:\s+\"(?P<title>[^\"\n]*)\")?\)"
    r"|(?:\[\\\[[^\[\]\n]{1,30}\\\]\])?\\?[\[【［](?P<brackets>[^\[\]【】［］\n]{1,200}?)\\?[\]】］]"
    rf"|<sup>\s*\[?(?P<raised>{_N})\]?\s*</sup>|<?(?P<bare>{_URL}|{DOI}|{LOCAL})>?"
    "|(?P<raw>\ue200cite[^\ue200\ue201]{0,2000}\ue201|:contentReference\\[[^\\]\n]{0,40}\\]"
    "(?:\\{[^}\n]{0,40}\\})?|\\bcite(?:turn\\d+[a-z]+\\d+)+)"
    r"|(?:(?<=\b[12]\d{3}[.,])|(?<![\s\d][.,]))(?<=[.,;:!?。)\]”\"’»*%])"
    r"(?P<digits>\d{1,3}(?:,\s?\d{1,3})*)(?![\w.%]|(?-i: [a-z]))",
    re.I,
)
#: Markup of Markdown and HTML that is no text.
_MARKUP = re.compile(
    r"(?<!\\)(?:\*+(?=\S)|(?<=\S)\*+|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)|`+)|\\(?=[^\w\s]|_)|</?[a-z][^<>\n]{0,200}>"
    r"|\ue200entity\ue202\[\"[^\"]*\",\s?\"|\"[^\"\ue201]*\]\ue201|\[cite_start\]",
    re.I,
)
_ENDS, _CLOSING = ".!?。！？…", ')]）】”’»*"_'
#: What a link shows that only names its source.
_NAME_ONLY = re.compile(
    r"\W*(?:\^?[\w-]{0,30}\^?|\d{1,4}|https?://\S*|(?:[\w-]+\.)+[a-z]{2,12}(?:/\S*)?)\W*", re.I
)
_RAW_NAME = re.compile(r"turn\d+[a-z]+\d+|oaicite:\d+")
AROUND = 40  # characters before and behind a mark that are looked at


class Mark(NamedTuple):
    """What may be a mark, and the labels that it names."""

    match: re.Match[str]
    kind: str
    labels: list[str]


class Cut(NamedTuple):
    """A region of a text that is cut out of its sentence, and what it cites."""

    start: int
    end: int
    cited: tuple[Address, ...] = ()
    form: MarkForm = ""


def _find_marks(text: str, start: int, end: int) -> Iterator[Mark]:
    for match in _MARK.finditer(text, start, end):
        kind = next(one for one in _KINDS if match[one] is not None)
        names = match[kind] if kind in ("brackets", "raised", "digits") else ""
        yield Mark(match, kind, [x for x in read_labels(re.split("[†‡]", names)[0]) if x])


class MarkFinder:
    """The marks of a report: which shapes are marks there, and what each leads to."""

    def __init__(self, text: str, spans: Spans, references: References) -> None:
        self._text = text
        self._references = references
        counts: Counter[str] = Counter()
        bare: Counter[str] = Counter()
        for start, end, line in spans:
            for _, kind, labels in _find_marks(text, start, end):
                if labels and references.find_all(labels, line):
                    counts[kind] += 1
                elif kind == "brackets":
                    bare.update(x for x in labels if x.isdecimal() and int(x) < 1000)
        self._has_digits = counts["digits"] > counts["brackets"] + counts["raised"]
        self._is_bare = bool(references) or (bare["1"] > 0 and bare.total() >= FEWEST_BARE)

    def find_cuts(self, start: int, end: int, line: int) -> Iterator[Cut]:
        """All that cites between two offsets, and the markup there; no two overlap."""
        at = start
        for mark in _find_marks(self._text, start, end):
            for cut in self._cut(mark, line):
                yield from self._cut_markup(at, cut.start)
                yield cut
                at = cut.end
        yield from self._cut_markup(at, end)

    def _cut_markup(self, start: int, end: int) -> Iterator[Cut]:
        return (Cut(*one.span()) for one in _MARKUP.finditer(self._text, start, end))

    def _cut(self, mark: Mark, line: int) -> Iterator[Cut]:
        match, kind, labels = mark
        if kind == "url":
            yield from self._cut_link(match, line)
        elif kind == "bare":
            if url := find_address(match[0]):
                whole = match[0].endswith(">")
                shown = match[0].rstrip(".,;:!?*_") if whole or url not in match[0] else url
                end = match.start() + match[0].find(shown) + len(shown)
                yield Cut(match.start(), end, (Address.of(url),), "links")
        elif kind == "raw":
            names = _RAW_NAME.findall(match[0]) or [match[0]]
            yield Cut(*match.span(), tuple(Address(f"#{x}", "", x) for x in names), "raw")
        elif cited := self._find_labelled(mark, line):
            forms: dict[str, MarkForm] = {"raised": "raised", "digits": "digits"}
            is_number = all(map(str.isdecimal, labels))
            form = forms.get(kind, "brackets" if is_number else "notes")
            yield Cut(*match.span(), tuple(cited), form)

    def _cut_link(self, match: re.Match[str], line: int) -> Iterator[Cut]:
        """A link: all of it where it only names its source, else what is not its words."""
        url, shown = match["url"].strip("<>").replace("\\", ""), match["shown"]
        if match["image"]:
            yield Cut(*match.span())
            return
        label = shown.replace("\\", "").strip("[]^ ")
        listed = self._references.find_all(read_labels(label) if label else [], line)
        url = f"corpus:{url.removeprefix('./')}" if is_file_name(url) else url
        is_source = is_web_url(url) or url.startswith("corpus:")
        cited = tuple([Address.of(url, match["title"] or "")] if is_source else listed)
        is_note = not is_source or shown.strip("\\").startswith(("[", "^"))
        form: MarkForm = "notes" if is_note else "links"
        if cited and (_is_name(shown) or self._stands_apart(match)):
            yield Cut(*match.span(), cited, form)
        else:
            yield Cut(match.start(), match.start("shown"))
            yield Cut(match.end("shown"), match.end(), cited, form)

    def _stands_apart(self, match: re.Match[str]) -> bool:
        """Whether a link is in brackets, or alone behind the end of a sentence."""
        before = self._text[max(0, match.start() - AROUND) : match.start()].rstrip(" *_")
        after = self._text[match.end() : match.end() + AROUND].lstrip(" *_")
        if before.endswith(("(", "（", "【")) or (before.endswith((",", ";")) and "(" in before):
            return after[:1] in tuple(")],;】）")
        is_end = not after.strip(_ENDS + _CLOSING) or after[0] in f"{_ENDS}\n[【"
        return before.endswith(tuple(_ENDS)) and (is_end or after[:1].isupper())

    def _find_labelled(self, mark: Mark, line: int) -> list[Address]:
        """What labels lead to; of a number in brackets that no list has, no address."""
        match, kind, labels = mark
        if not labels or (kind == "digits" and not self._has_digits):
            return []
        if cited := self._references.find_all(labels, line):
            return cited
        is_number = all(one.isdecimal() and 0 < int(one) < 1000 for one in labels)
        is_sure = "†" in match[0] or "cite:" in match[0] or (is_number and self._is_bare)
        if kind != "brackets" or not is_sure:
            return []
        found = ((self._references.find(one, line), one) for one in labels)
        return [known or Address(f"#{one}", "", f"[{one}]") for known, one in found]


def is_file_name(url: str) -> bool:
    """Whether a link leads to a file next to the report, of a kind that is read."""
    path = url.partition("#")[0]
    return ":" not in path and not path.startswith("/") and splitext(path)[1].lower() in SUFFIXES


def _is_name(shown: str) -> bool:
    """Whether words only name a source: `site.org`, `3`, nothing."""
    words = shown.replace("\\", "").strip()
    is_word = words.isalpha() and not words.isascii()
    return not words or (bool(_NAME_ONLY.fullmatch(words)) and not is_word)


def used_labels(text: str, spans: Spans) -> set[str]:
    """The labels that may be marks of a text, whatever lists there are."""
    marks = (mark for start, end, _ in spans for mark in _find_marks(text, start, end))
    return {label.casefold() for mark in marks for label in mark.labels}
