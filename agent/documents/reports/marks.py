"""What names a source in a text: links, addresses, numbers in brackets, set high or behind a stop,
keys, authors and years.

Marks are found by their shape and place; whether one cites, the lists of the report decide.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from agent.documents.blocks import RAISED, Link, TextBlock
from agent.documents.reports.lists import DOI, HIGH, LOWERED, find_address, read_labels
from agent.documents.reports.references import CitedAddress, References, Used
from agent.state.reports import MarkForm
from agent.state.urls import is_web_url

FEWEST_BARE = 3  # numbers in brackets, `[1]` among them, that are marks although nothing is listed
FEWEST_TITLES = 3  # links of a report whose links are titles of sources behind its sentences
_BRACKETS = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")
_LATEX = re.compile(
    r"[ ~]*\\[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]\n]{0,80}\]){0,2}\{([^{}\n]{1,300})\}"
)
_NUMBERS = r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*"
_SUPERSCRIPT = re.compile(rf"[{HIGH}]+(?:[,˒’⁻–-][{HIGH}]+)*")
_ROUND = re.compile(rf"\(({_NUMBERS})\)")
_STOPS, _ENDS, _CLOSING = ".,;:!?。，；：！？…", ".!?。！？…", ')]）】"”’»*'
_GLUED = re.compile(
    rf"(?<=[{re.escape(_STOPS + _CLOSING)}])(?:\d{{1,3}}(?:,\s?\d{{1,3}})*)(?![\w.%])"
)
_OPERATORS = ("", *" \n\t$£€¥<>=+-−±~^/\\([（")
_WORD, _YEARLIKE = re.compile(r"[^\W_]+$"), re.compile(r"(?<!\d)[12]\d{3}$")
#: Marks of a product's own, which lead nowhere outside it.
_RAW = re.compile(
    "\ue200(?P<kind>\\w*)(?P<names>[^\ue200\ue201]{0,2000})\ue201|\\[cite_start\\]"
    "|:contentReference\\[(?P<content>oaicite:[^\\]\\n]{0,40})\\](?:\\{[^}\\n]{0,40}\\})?"
    "|\\bcite(?P<turns>(?:turn\\d+[a-z]+\\d+)+)"
)
_ENTITY = re.compile('"[^"]*",\\s?"([^"]*)"')
_IN_ROUND = re.compile(r"\(([^()\n]{4,250})\)")
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d|n\.d\.)[a-z]?"
_BY_AUTHOR = re.compile(rf"(?P<author>.{{2,120}}?),?\s{_YEAR}(?:[,:]\s?.{{0,20}})?")
_YEAR_IN_ROUND = re.compile(rf"\s?\({_YEAR}(?:,[^()\n]{{0,40}})?\)")
_URL = re.compile(
    r"https?://(?:[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、|{}]|(?<=\w)'(?=\w))+", re.I
)
#: What a link shows that only names its source: a number, an address, a host, a word for it.
_NAME_ONLY = re.compile(
    r"\W*(?:\^[\w-]{1,30}|\d{1,4}|oai_citation:.{0,200}"
    r"|(?:source|link|ref|reference|citation|cite|quelle|来源|出典)s?(?: \d+)?"
    r"|https?://\S*|(?:[\w-]+\.)+[a-z]{2,12}(?:/\S*)?)\W*",
    re.I,
)
_BULLET = re.compile(r"[-–—•●▪◦‣*·\uf0b7\uf0a7]\s+")
_GLUE = re.compile(r"[\s,;.&|–-]*(?:and|und|also)?[\s,;.&|–-]*")
AROUND = 40  # characters before and behind a mark that are looked at


class Cut(NamedTuple):
    """A region of a block that cites. It is cut out of the sentence, unless it is `kept`."""

    start: int
    end: int
    cited: tuple[CitedAddress, ...] = ()
    form: MarkForm = ""
    kept: bool = False


class Named(NamedTuple):
    """What could be a mark, with the labels that it names; `is_sure`: it is one."""

    start: int
    end: int
    labels: tuple[str, ...]
    form: MarkForm
    is_sure: bool = False
    is_round: bool = False

    @property
    def is_numbered(self) -> bool:
        """Whether its labels are numbers of sources."""
        return all(one.isdecimal() and 0 < int(one) < 1000 for one in self.labels)


def is_name(shown: str) -> bool:
    """Whether words only name a source: `(site.org)`, `3`, `Source`."""
    return not shown.strip() or bool(_NAME_ONLY.fullmatch(shown))


# --- marks with labels ---------------------------------------------------------------------------


def find_named(text: str) -> Iterator[Named]:
    """All that could be a mark with labels."""
    for one in _BRACKETS.finditer(text):
        names, dagger, _ = one[1].replace("‡", "†").partition("†")
        labels = tuple(read_labels(names))
        is_number = all(map(str.isdecimal, labels))
        is_sure = bool(dagger) or names.startswith("cite:")
        yield Named(*one.span(), labels, "brackets" if is_number else "notes", is_sure)
    for one in _LATEX.finditer(text):
        labels = tuple(map(str.strip, one[1].split(",")))
        yield Named(*one.span(), labels, "notes", is_sure=True)
    for one in _SUPERSCRIPT.finditer(text):
        if not _is_power(text, one.start()):
            labels = tuple(read_labels(re.sub("[˒’⁻]", ",", one[0]).translate(LOWERED)))
            yield Named(*one.span(), labels, "raised")
    for one in _ROUND.finditer(text):
        if _ends_clause(text, *one.span()):
            yield Named(*one.span(), tuple(read_labels(one[1])), "brackets", is_round=True)
    for one in _GLUED.finditer(text):
        if _is_glued(text, *one.span()):
            yield Named(*one.span(), tuple(read_labels(one[0])), "digits")


def _is_power(text: str, at: int) -> bool:
    """Whether what is set high belongs to a unit or a number: `m²`, `10⁶`."""
    word = _WORD.search(text[max(0, at - AROUND) : at])
    if not word:
        return False
    is_unit = len(word[0]) <= 2 and (word[0].islower() or len(word[0]) == 1)
    return is_unit or (word[0].isdecimal() and len(word[0]) < 4)


def _ends_clause(text: str, start: int, end: int) -> bool:
    """Whether brackets stand behind words, and end them: `(1)` that begins an item does not."""
    before, after = text[max(0, start - 2) : start].rstrip()[-1:], text[end : end + 2].lstrip()[:1]
    is_behind = before.isalnum() or before in tuple(_STOPS + _CLOSING + "%")
    return is_behind and (not after or after in _STOPS + ")(" or before in tuple(_ENDS))


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether digits stand behind the stop or quotation mark of a word or year, as no number does:
    "ended in 2020.4 The", but neither "version 2.4" nor "p < .05".
    """
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    word = before.rstrip(_STOPS + _CLOSING)
    closed = before[len(word) :]
    if not 0 < len(closed) < 6 or not set(closed) & set(_STOPS + '"”’»') or word[-1:] in _OPERATORS:
        return False
    if word[-1].isdecimal() and closed[0] in _STOPS and not _YEARLIKE.search(word):
        return False
    goes_on = after.startswith((" ", "\xa0")) and after.lstrip()[:1].islower()
    return not (goes_on and closed.rstrip(_CLOSING).endswith(tuple(_ENDS)))


# --- how a report marks --------------------------------------------------------------------------


class Style(NamedTuple):
    """How a report names its sources, seen in the whole of it."""

    has_digits: bool = False  # behind stops
    has_round: bool = False
    is_bare: bool = False  # numbers in brackets, although nothing is listed
    has_titles: bool = False  # its links are titles of sources, behind its sentences

    @classmethod
    def of(cls, blocks: Sequence[TextBlock], references: References) -> Style:
        """The style of a report. Of what could be numbers the commonest form alone is."""
        labels = references.labels
        counts: Counter[str] = Counter()
        bare: Counter[str] = Counter()
        ends = links = 0
        for block in blocks:
            for one in find_named(block.text):
                if one.labels and all(label.casefold() in labels for label in one.labels):
                    counts["round" if one.is_round else one.form] += 1
                elif one.form == "brackets" and one.is_numbered and not one.is_round:
                    bare.update(one.labels)
            rows = list(_find_rows(block.text, _cited_links(block, 0, references)))
            links += len(rows)
            ends += sum(_is_title(block.text, row) for row in rows)
        plain = counts["brackets"] + counts["raised"]
        return cls(
            has_digits=counts["digits"] > plain,
            has_round=counts["round"] > plain + counts["digits"],
            is_bare=not references and bare["1"] > 0 and bare.total() >= FEWEST_BARE,
            has_titles=ends >= FEWEST_TITLES and ends * 5 >= links * 4,
        )


def _is_title(text: str, row: Sequence[Cut]) -> bool:
    """Whether links stand at the end of a sentence and look like titles."""
    start, after = row[0].start, text[row[-1].end : row[-1].end + AROUND]
    before = text[max(0, start - AROUND) : start].rstrip()
    opens = before.endswith(tuple(_ENDS)) and after.lstrip(" ")[:1].isupper()
    return bool(before) and not text[start : start + 1].islower() and (opens or _is_end(after))


def _is_end(after: str) -> bool:
    """Whether what follows ends a sentence, or is a further mark."""
    rest = after.lstrip(" ")
    return not rest.strip(_STOPS + _CLOSING) or rest[0] in _ENDS + "\n[【"


# --- all that cites in a block -------------------------------------------------------------------


def find_cuts(block: TextBlock, place: int, references: References, style: Style) -> list[Cut]:
    """Everything in a block that cites, in order; no two that are cut out overlap."""
    text = block.text
    links = _cited_links(block, place, references)
    cuts = list(_cut_links(text, links, style))
    if sign := _BULLET.match(text):
        cuts.append(Cut(0, sign.end()))
    taken = bytearray(len(text) + 1)
    for cut in (*links, *cuts):
        taken[cut.start : cut.end] = b"x" * (cut.end - cut.start)
    found = (
        _cut_raw(text),
        _cut_authors(text, references),
        _cut_named(text, place, references, style),
        _cut_addresses(text),
    )
    for cut in (cut for own in found for cut in own):
        if taken.find(b"x", cut.start, cut.end) < 0:
            cuts.append(cut)
            taken[cut.start : cut.end] = b"x" * (cut.end - cut.start)
    return sorted(cuts, key=lambda cut: (cut.start, cut.end))


def _cited_links(block: TextBlock, place: int, references: References) -> list[Cut]:
    """The links that cite: an address outside, or the note or entry that their marker names.

    Words that are linked are kept, unless they only name a source.
    """
    found = []
    for link in sorted(block.links, key=lambda link: link.start):  # notes keep their order
        shown = block.text[link.start : link.end]
        is_web = is_web_url(link.url)
        if is_web or link.is_note:
            cited = [CitedAddress.of(link.url, link.title)]
            label = shown.strip("[]^ ")  # `[1][2]` is a link from 1 to 2, where these are defined
            cited += _find_all([label] if is_name(shown) and label else (), place, references)
        else:
            cited = _find_all(_link_labels(block, link), place, references)
        if cited:
            kept = is_web and not (link.is_note or is_name(shown))
            form: MarkForm = "links" if is_web and not link.is_note else "notes"
            found.append(Cut(link.start, link.end, tuple(cited), form, kept))
    return found


def _link_labels(block: TextBlock, link: Link) -> list[str]:
    """The labels of a link within the report, or of what is set high."""
    shown = block.text[link.start : link.end].strip("[](){} ^")
    if not link.url.startswith("#") or len(shown) > AROUND:
        return []
    n = bisect_left(block.links, link.start, key=attrgetter("start"))
    follows = n and block.links[n - 1].end == link.start
    is_power = link.url == RAISED and not follows and _is_power(block.text, link.start)
    return [] if is_power else list(read_labels(shown))


def _find_all(labels: Iterable[str], place: int, references: References) -> list[CitedAddress]:
    """The sources of labels; none where one of them has none."""
    found = [references.find(label, place) for label in labels]
    return [one for one in found if one] if all(found) else []


def _cut_links(text: str, links: Sequence[Cut], style: Style) -> Iterator[Cut]:
    """The links, those in a row together: in brackets of their own they are cut with these.

    A row that stands for itself behind a stop names what the sentence before is from.
    """
    for row in _find_rows(text, links):
        start, end = row[0].start, row[-1].end
        before, after = text[max(0, start - AROUND) : start].rstrip(), text[end : end + AROUND]
        brackets = before[-1:] + after.lstrip()[:1]
        cited = tuple(address for link in row for address in link.cited)
        if brackets in ("[]", "()", "（）", "【】"):
            first = text.rfind(before[-1], 0, start)
            last = end + len(after) - len(after.lstrip()) + 1
            yield Cut(first, last, cited, row[0].form)
        elif _stands_alone(before, after, style) and all(link.kept for link in row):
            yield Cut(start, end, cited, row[0].form)
        else:
            yield from row


def _find_rows(text: str, links: Sequence[Cut]) -> Iterator[list[Cut]]:
    """The links that have nothing but glue between them."""
    row: list[Cut] = []
    for link in links:
        if row and not _GLUE.fullmatch(text[row[-1].end : link.start][:AROUND]):
            yield row
            row = []
        row.append(link)
    if row:
        yield row


def _stands_alone(before: str, after: str, style: Style) -> bool:
    """Whether links behind a text only name its sources."""
    if before.endswith(tuple(_ENDS)):
        return _is_end(after) or (style.has_titles and after.lstrip(" ")[:1].isupper())
    return style.has_titles and bool(before) and _is_end(after)


def _cut_named(text: str, place: int, references: References, style: Style) -> Iterator[Cut]:
    for one in find_named(text):
        if not _may_cite(one, style):
            continue
        labels = one.labels
        cited = _find_all(labels, place, references)
        if one.form == "raised" and not cited:  # `¹²` is 12, or 1 and 2
            cited = _find_all(labels := tuple("".join(labels)), place, references)
        is_told = one.form == "brackets" and not one.is_round and one.is_numbered
        if not cited and (one.is_sure or (is_told and (references or style.is_bare))):
            found = ((references.find(label, place), label) for label in labels)
            cited = [known or CitedAddress.of(f"#{x}", f"[{x}]") for known, x in found]
        if cited:
            yield Cut(one.start, one.end, tuple(cited), one.form)


def _may_cite(one: Named, style: Style) -> bool:
    if one.form == "digits":
        return style.has_digits
    return bool(one.labels) and (style.has_round or not one.is_round)


def _cut_raw(text: str) -> Iterator[Cut]:
    for one in _RAW.finditer(text):
        entity = _ENTITY.search(text, *one.span("names")) if one["kind"] == "entity" else None
        if entity:  # its name belongs to the sentence
            yield Cut(one.start(), entity.start(1))
            yield Cut(entity.end(1), one.end())
            continue
        told = one["content"] or one["turns"] or (one["names"] if one["kind"] == "cite" else "")
        names = filter(None, re.split("\ue202|(?<=\\d)(?=turn)", told or ""))
        yield Cut(*one.span(), tuple(CitedAddress.of(f"#{x}", f"[{x}]") for x in names), "raw")


def _cut_authors(text: str, references: References) -> Iterator[Cut]:
    """`(Smith, 2020; Jones et al., 2021)`, and `Smith (2020)`, of which the name stays."""
    if not references:
        return
    for brackets in _IN_ROUND.finditer(text):
        named = filter(None, (_BY_AUTHOR.fullmatch(x.strip()) for x in brackets[1].split(";")))
        found = (references.find_by_author(one["author"], one["year"]) for one in named)
        if cited := tuple(filter(None, found)):
            yield Cut(*brackets.span(), cited, "authors")
    for one in _YEAR_IN_ROUND.finditer(text):
        words = text[max(0, one.start() - 2 * AROUND) : one.start()].split()[-5:]
        authors = (" ".join(words[n:]) for n in range(len(words)) if not words[n].islower())
        found = (references.find_by_author(author, one["year"]) for author in authors)
        if address := next(filter(None, found), None):
            yield Cut(*one.span(), (address,), "authors")


def _cut_addresses(text: str) -> Iterator[Cut]:
    """Addresses and DOIs that stand in the text, with brackets of their own around them."""
    for match in (*_URL.finditer(text), *DOI.finditer(text)):
        if url := find_address(match[0]):
            start = match.start()
            stated = url if match.re is _URL else match[0]
            end = start + len(stated.rstrip("."))
            in_brackets = text[start - 1 : start] + text[end : end + 1] in ("()", "<>", "[]")
            cited = (CitedAddress.of(url),)
            yield Cut(start - in_brackets, end + in_brackets, cited, "links")


def used_labels(blocks: Iterable[TextBlock]) -> Used:
    """The labels that texts name."""
    sure: set[str] = set()
    unsure: set[str] = set()
    has_numbers = False
    for block in blocks:
        if block.kind == "heading":
            continue
        sure.update(*(_link_labels(block, link) for link in block.links))
        for one in find_named(block.text):
            before = block.text[max(0, one.start - AROUND) : one.start].rpartition("\n")[2]
            if before.strip(" -*•"):
                is_weak = one.is_round or one.form == "digits"
                (unsure if is_weak else sure).update(one.labels)
                has_numbers |= not is_weak and one.form == "brackets" and one.is_numbered
    return Used(sure, unsure, has_numbers)
