"""What names a source in a text, by its shape: links, addresses, numbers in brackets, set high or
behind a stop, authors and years, and a product's own marks that lead nowhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from posixpath import splitext
from typing import NamedTuple

from agent.documents.registry import SUFFIXES
from agent.documents.reports.sources import (
    DOI,
    HIGH,
    LOCAL,
    Address,
    References,
    find_address,
    read_labels,
)
from agent.state.reports import MarkForm
from agent.state.urls import is_web_url

FEWEST_BARE = 3  # numbers in brackets that are marks although nothing is listed
_LABELLED = ("brackets", "reference", "raised", "high", "round", "digits")
_N = r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*"
_URL = r"https?://(?:[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、|{}]|(?<=\w)'(?=\w))+"
_SHOWN = r"(?:[^\[\]\n]|\\[\[\]]|\[[^\[\]\n]{0,100}\]){0,300}"
_TARGET = r"<[^<>\n]*>|(?:[^\s()<>]|\((?:[^\s()]|\([^\s()]*\))*\))*"
_MARK = re.compile(
    rf"(?P<image>!?)\[(?P<shown>{_SHOWN})\]\((?P<url>{_TARGET})(?:\s+\"(?P<title>[^\"\n]*)\")?\)"
    rf"|<a\s[^<>]*?href\s*=\s*[\"']?(?P<href>[^\"'\s<>]+)[^<>]*>(?P<linked>[^<>]*)</a>"
    r"|\[\\\[[^\[\]\n]{1,30}\\\]\]\[(?P<reference>[^\[\]\n]{1,30})\]"
    rf"|\\?[\[【［](?P<brackets>[^\[\]【】［］\n]{{1,200}}?)\\?[\]】］]"
    rf"|<sup>\s*\[?(?P<raised>{_N})\]?\s*</sup>|(?P<high>[⁰¹²³⁴-⁹]+(?:[,˒’⁻–-][⁰¹²³⁴-⁹]+)*)"
    rf"|\((?P<round>{_N})\)(?!\w)|\((?P<authors>[^()\n]{{3,250}}?(?:1[5-9]|20)\d\d[a-z]?)\)"
    rf"|\s?\((?P<year>(?:1[5-9]|20)\d\d)[a-z]?\)"
    rf"|<?(?P<bare>{_URL}|{DOI}|{LOCAL})>?"
    "|(?P<raw>\ue200cite[^\ue200\ue201]{0,2000}\ue201|:contentReference\\[[^\\]\n]{0,40}\\]"
    "(?:\\{[^}\n]{0,40}\\})?|\\bcite(?:turn\\d+[a-z]+\\d+)+)"
    rf"|(?<=[.,;:!?。)\]”\"’»*%])(?P<digits>\d{{1,3}}(?:,\s?\d{{1,3}})*)(?![\w.%])",
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
_WORD = re.compile(r"[^\W_]+$")
_BY_AUTHOR = re.compile(r"(?P<author>.{2,120}?),?\s(?P<year>(?:1[5-9]|20)\d\d)[a-z]?")
_GLUE = re.compile(r"[\s,;.&|–-]*(?:and|und|also)?[\s,;.&|–-]*")
_PAIRS = ("()", "[]", "<>", "（）", "【】")
FEWEST_TITLES = 3  # links of a report whose links are titles of sources behind its sentences
AROUND = 40  # characters before and behind a mark that are looked at


class Cut(NamedTuple):
    """A region of a text that is cut out of its sentence, and what it cites."""

    start: int
    end: int
    cited: tuple[Address, ...] = ()
    form: MarkForm = ""


class Mark(NamedTuple):
    """What may be a mark, with the labels that it names."""

    match: re.Match[str]
    kind: str
    labels: list[str]


def find_marks(text: str, start: int, end: int) -> Iterator[Mark]:
    """All that may cite between two offsets of a text."""
    for match in _MARK.finditer(text, start, end):
        kind = match.lastgroup or "url"
        kind = "url" if kind in ("shown", "title", "image") else kind
        kind = "href" if kind == "linked" else kind
        names = match[kind] if kind in _LABELLED else ""
        if kind == "high":
            names = "" if _is_power(text, match.start()) else names.translate(HIGH)
        if kind == "digits" and not _follows_word(text, *match.span()):
            continue
        kind = "brackets" if kind == "reference" else kind
        names = names.replace("‡", "†").partition("†")[0]
        yield Mark(match, kind, [one for one in read_labels(names) if one])


def _is_power(text: str, at: int) -> bool:
    """Whether what is set high belongs to a unit or a number: `m²`, `10⁶`."""
    word = _WORD.search(text[max(0, at - AROUND) : at])
    return word is not None and len(word[0]) <= 2 and (word[0].islower() or word[0].isdecimal())


def _follows_word(text: str, start: int, end: int) -> bool:
    """Whether digits stand behind the stop of a word or a year, as those of no number do."""
    before = text[max(0, start - AROUND) : start]
    word = before.rstrip(_ENDS + _CLOSING + ",;:%")
    is_number = word[-1:].isdecimal() and not re.search(r"(?<!\d)[12]\d{3}$", word)
    is_number = is_number and before[len(word)] in ".,"
    return word[-1:].isalnum() and not is_number and not re.match(r" [a-z]", text[end : end + 2])


class MarkFinder:
    """The marks of a report: which shapes are marks there, and what each leads to."""

    def __init__(self, text: str, spans: Sequence[tuple[int, int, int]], refs: References) -> None:
        self._text = text
        self._references = refs
        counts: Counter[str] = Counter()
        bare: Counter[str] = Counter()
        self._has_titles = True
        ends = links = 0
        for start, end, line in spans:
            for mark in find_marks(text, start, end):
                if mark.kind == "url" and not mark.match["image"]:
                    links += 1
                    is_low = (
                        mark.match["shown"][:1].islower()
                        or not text[start : mark.match.start()].strip()
                    )
                    ends += not is_low and self._stands_apart(mark.match)
                if mark.labels and refs.find_all(mark.labels, line):
                    counts[mark.kind] += 1
                elif mark.kind == "brackets":
                    bare.update(x for x in mark.labels if x.isdecimal() and int(x) < 1000)
        plain = counts["brackets"] + counts["raised"] + counts["high"]
        self._has_titles = ends >= FEWEST_TITLES and ends * 5 >= links * 4
        self._is_used = {"digits": counts["digits"] > plain}
        self._is_used["round"] = counts["round"] > plain + counts["digits"]
        self._is_bare = bool(refs) or (bare["1"] > 0 and bare.total() >= FEWEST_BARE)

    def find_cuts(self, start: int, end: int, line: int) -> list[Cut]:
        """All that cites between two offsets, and the markup there; no two overlap."""
        cuts: list[Cut] = []
        at = start
        for mark in find_marks(self._text, start, end):
            if found := list(self._cut(mark, line)):
                cuts += self._cut_markup(at, found[0].start)
                for one, after in zip(found, [*found[1:], None], strict=True):
                    cuts.append(one)
                    if after:
                        cuts += self._cut_markup(one.end, after.start)
                at = found[-1].end
        return list(self._enclose([*cuts, *self._cut_markup(at, end)]))

    def _enclose(self, cuts: Sequence[Cut]) -> Iterator[Cut]:
        """The cuts; marks that have brackets of their own around them are cut with these."""
        row: list[Cut] = []
        for cut in (*cuts, None):
            if row and not (cut and _GLUE.fullmatch(self._text[row[-1].end : cut.start][:AROUND])):
                start, end = row[0].start, row[-1].end
                around = self._text[start - 1 : start] + self._text[end : end + 1]
                if around in _PAIRS and any(one.cited for one in row):
                    row[0] = row[0]._replace(start=start - 1)
                    row[-1] = row[-1]._replace(end=end + 1)
                yield from row
                row = []
            if cut:
                row.append(cut)

    def _cut_markup(self, start: int, end: int) -> Iterator[Cut]:
        return (Cut(*one.span()) for one in _MARKUP.finditer(self._text, start, end))

    def _cut(self, mark: Mark, line: int) -> Iterator[Cut]:
        match, kind = mark.match, mark.kind
        if kind in ("url", "href"):
            yield from self._cut_link(mark, line)
        elif kind == "bare":
            if url := find_address(match[0]):
                end = match.start("bare") + len(match["bare"].rstrip(".,;:!?*_"))
                shown = match[0].find(url)
                end = match.start() + shown + len(url) if shown >= 0 else end
                end = match.end() if match[0].endswith(">") else end
                yield Cut(match.start(), end, (Address.of(url),), "links")
        elif kind == "raw":
            names = _RAW_NAME.findall(match[0]) or [match[0]]
            yield Cut(*match.span(), tuple(Address(f"#{x}", "", x) for x in names), "raw")
        elif kind in ("authors", "year"):
            if cited := list(self._find_authors(mark)):
                yield Cut(*match.span(), tuple(cited), "authors")
        elif cited := self._find_labelled(mark, line):
            form: dict[str, MarkForm] = {"high": "raised", "raised": "raised", "digits": "digits"}
            is_number = all(map(str.isdecimal, mark.labels))
            yield Cut(
                *match.span(), tuple(cited), form.get(kind, "brackets" if is_number else "notes")
            )

    def _cut_link(self, mark: Mark, line: int) -> Iterator[Cut]:
        """A link: all of it where it only names its source, else what is not its words."""
        match, words = mark.match, "linked" if mark.kind == "href" else "shown"
        url, shown = match[mark.kind].strip("<>").replace("\\", ""), match[words]
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
            yield Cut(match.start(), match.start(words))
            yield Cut(match.end(words), match.end(), cited, form)

    def _stands_apart(self, match: re.Match[str]) -> bool:
        """Whether a link stands in brackets, or for itself behind the end of a sentence."""
        before = self._text[max(0, match.start() - AROUND) : match.start()].rstrip(" *_")
        after = self._text[match.end() : match.end() + AROUND].lstrip(" *_")
        if before.endswith(("(", "（", "【")) or (before.endswith((",", ";")) and "(" in before):
            return after[:1] in tuple(")],;】）")
        is_end = not after.strip(_ENDS + _CLOSING) or after[0] in f"{_ENDS}\n[【"
        if before.endswith(tuple(_ENDS)):
            return is_end or after[:1].isupper()
        return self._has_titles and is_end

    def _find_labelled(self, mark: Mark, line: int) -> list[Address]:
        """What labels lead to; of a number in brackets that no list has, no address."""
        if not mark.labels or not self._is_used.get(mark.kind, True):
            return []
        if cited := self._references.find_all(mark.labels, line):
            return cited
        if mark.kind == "high":  # `¹²` is 12, or 1 and 2
            return self._references.find_all(list("".join(mark.labels)), line)
        is_number = all(one.isdecimal() and 0 < int(one) < 1000 for one in mark.labels)
        is_sure = "†" in mark.match[0] or "cite:" in mark.match[0] or (is_number and self._is_bare)
        if mark.kind != "brackets" or not is_sure:
            return []
        found = ((self._references.find(one, line), one) for one in mark.labels)
        return [known or Address(f"#{one}", "", f"[{one}]") for known, one in found]

    def _find_authors(self, mark: Mark) -> Iterator[Address]:
        """The sources of `(Smith, 2020; Jones, 2021)`, or of the words before `(2020)`."""
        found = self._references.find_by_author
        if told := mark.match["authors"]:
            named = filter(None, (_BY_AUTHOR.fullmatch(one.strip()) for one in told.split(";")))
            yield from filter(None, (found(one["author"], one["year"]) for one in named))
        else:
            at = mark.match.start()
            words = self._text[max(0, at - 2 * AROUND) : at].split()[-5:]
            heads = (" ".join(words[n:]) for n in range(len(words)) if not words[n].islower())
            yield from list(filter(None, (found(head, mark.match["year"]) for head in heads)))[:1]


def is_file_name(url: str) -> bool:
    """Whether a link leads to a file beside the report, of a kind that is read."""
    path = url.partition("#")[0]
    return ":" not in path and not path.startswith("/") and splitext(path)[1].lower() in SUFFIXES


def _is_name(shown: str) -> bool:
    """Whether words only name a source: `site.org`, `3`, nothing."""
    told = shown.replace("\\", "")
    is_word = told.strip().isalpha() and not told.strip().isascii()
    return not told.strip() or (bool(_NAME_ONLY.fullmatch(told)) and not is_word)


def used_labels(text: str, spans: Iterable[tuple[int, int, int]]) -> set[str]:
    """The labels that may be marks of a text, whatever lists there are."""
    marks = (mark for start, end, _ in spans for mark in find_marks(text, start, end))
    return {label.casefold() for mark in marks for label in mark.labels}
