"""Whether each citation mark of real reports of other products finds its sentence and its address.

Each set has a reference of its own, which reads only that set's form: where its marks stand, what
address each has, and which lines are its list. It shares no code with the reader. *attached*: the
last sentence that begins before a mark's row of marks cites the mark's address, and ends at most
six characters before it. *lines of lists*: those in which a claim begins are taken for claims. *cut
wrongly*: sentences that have an address in their words, or a row of marks and then the words of
another sentence. *lost*: sentences without a source although a mark of theirs has one. *told*: of
marks without an address. Halves are by index; rules were written with `tune` in view. `report` is
not untouched: six faults were found in it and mended (marks behind the end of code, an apostrophe
in an address, rows of a table taken for a list, marks parted by commas, one behind "etc.", digits
behind "(L3).").
"""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.reports.reader import read_report
from agent.state import CitedReport, ReportSentence, canonical_url
from evals.harness import HALVES, Bench, Evaluation, Table, count, main, share, size

NEAR = 6  # characters between the end of a sentence and its marks
_URL = re.compile(r"https?://[^\s<>\"|\]]+")
_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*[,–-]\s*\d{1,3})*)\]")
_GLUED = re.compile(r"(?<=[^\W\d][.,])(\d{1,3})(?=[\s*|]|$)|(?<=[)\"”%*]\.)(\d{1,3})(?=[\s*|]|$)")
_RAW = re.compile("\ue200cite[^\ue201]*\ue201")
_LINK = re.compile(r"(?<!\])\[([^\[\]]{2,300})\]\((https?://[^\s)]*(?:\([^\s)]*\)[^\s)]*)*)\)")

Span = tuple[int, int]


class Mark(NamedTuple):
    """A mark of a report, with its addresses; `anchor` is where its row of marks begins."""

    start: int
    end: int
    urls: tuple[str, ...]
    anchor: int = 0


class Reference(NamedTuple):
    """What a plain reading of one form finds."""

    marks: list[Mark]
    listed: list[Span]  # the lines of its list


class Outcome(NamedTuple):
    """What became of one mark, of one line of a list, or of one sentence."""

    set: str
    half: str
    attached: bool | None = None
    line: bool | None = None
    cut: bool | None = None
    lost: bool | None = None
    told: bool | None = None
    where: str = ""

    @property
    def right(self) -> bool | None:
        return self.attached


# --- a plain reading of each form ----------------------------------------------------------------


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _trim(url: str) -> str:
    url = url.rstrip(".,;:!?*")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,;:!?*")
    return url


def _list_of(text: str, entry: str) -> tuple[dict[str, str], list[Span]]:
    """The addresses of a list by number, and its lines; a line that is an address belongs to it."""
    found: dict[str, str] = {}
    spans: list[Span] = []
    above: list[Span] = []  # a line of keys without an address
    open_keys: list[str] = []
    for at, line in _lines(text):
        keys, url = re.match(entry, line), _URL.search(line.replace("\\", ""))
        span = (at, at + len(line))
        if keys:
            open_keys, above = re.findall(r"\d+", keys[0]), []
        if open_keys and url and (keys or line.strip().startswith("http")):
            spans += [*above, span]
            above = []
            for key in open_keys:
                found.setdefault(key, _trim(url[0].split("](")[0]))
        elif keys:
            above = [span]
        elif line.strip():
            open_keys = []
    return found, spans


def _numbered(entry: str, mark: re.Pattern[str]) -> Callable[[str], Reference]:
    def read(text: str) -> Reference:
        found, spans = _list_of(text, entry)
        starts = [start for start, _ in spans]
        marks = []
        for one in mark.finditer(text):
            n = bisect_right(starts, one.start()) - 1
            inside = n >= 0 and one.start() < spans[n][1]
            urls = [found[key] for key in _labels(one) if key in found]
            if not inside and urls and text[one.end() : one.end() + 1] != "(":
                marks.append(Mark(*one.span(), tuple(urls)))
        return Reference(marks, spans if marks else [])

    return read


def _labels(mark: re.Match[str]) -> Iterator[str]:
    for part in re.split(r"\s*,\s*", next(filter(None, mark.groups()))):
        first, _, last = part.replace("–", "-").partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


def _read_addresses(text: str) -> Reference:
    marks = (Mark(one.start(), one.end(), (_trim(one[0]),)) for one in _URL.finditer(text))
    return Reference(list(marks), [])


def _read_live(text: str) -> Reference:
    """Numbers with a list, and titles that are links."""
    marks, listed = _numbered(r"\s*(?:-\s+)?(?:\[\d+\]|\d+[.)])\s", _NUMBERS)(text)
    inside = re.compile(r"^\s*(?:-\s+)?(?:\[\d+\]|\d+[.)])\s.*https?://\S+\s*$", re.M)
    lines = [one.span() for one in inside.finditer(text)]
    links = (Mark(*one.span(), (one[2],)) for one in _LINK.finditer(text))
    marks += [one for one in links if not any(a <= one.start < b for a, b in lines)]
    return Reference(sorted(marks), listed)


def _read_dls(text: str) -> Reference:
    """A reading list: titles with an address, on their line or the next one."""
    own = re.compile(r"^\s*(?:-|\d+\.)\s[^\n]*?(?:—\s|\n\s+)https?://\S+[ \t]*$", re.M)
    return Reference([], [one.span() for one in own.finditer(text)])


def _read_raw(text: str) -> Reference:
    return Reference([Mark(*one.span(), ()) for one in _RAW.finditer(text)], [])


FORMS: dict[str, Callable[[str], Reference]] = {
    "claude37": _numbered(r"\[\d+\]\s+(?=\S)", _NUMBERS),
    "openai": _numbered(r"(?:\[\d+\]\s*)+(?=\S|$)", _NUMBERS),
    "gemini_ref": _numbered(r"\d+\. ", _GLUED),
    "claude-web": _read_addresses,
    "opus-web": _read_addresses,
    "gpt5-web": _read_addresses,
    "ref-tickr": _read_addresses,
    "dls": _read_dls,
    "chatgptmd": _read_raw,
    "live": _read_live,
}


# --- what the reader made of it ------------------------------------------------------------------


def _anchor(marks: Sequence[Mark], text: str) -> list[Mark]:
    """The marks with the place where the row of marks begins that each is in."""
    found: list[Mark] = []
    for mark in marks:
        between = text[found[-1].end : mark.start] if found else "x"
        starts_anew = bool(between.strip(" ,;()[]*\n.")) or "\n\n" in between
        found.append(mark._replace(anchor=mark.start if starts_anew else found[-1].anchor))
    return found


class _Judge:
    """Compares a report as it was read with the plain reading of its form."""

    def __init__(self, report: CitedReport, reference: Reference) -> None:
        self._report = report
        self._urls = {one.n: canonical_url(one.url) for one in report.sources}
        self._starts = [one.start for one in report.sentences]
        self.marks = _anchor(reference.marks, report.text)
        self._listed = reference.listed

    def owner(self, mark: Mark) -> ReportSentence | None:
        """The sentence that a mark belongs to: the last that begins before its row of marks."""
        n = bisect_right(self._starts, mark.anchor - (mark.anchor > 0)) - 1
        one = self._report.sentences[n] if n >= 0 else None
        return one if one and mark.anchor - one.end <= self._reach(one.end, mark.anchor) else None

    def _reach(self, end: int, anchor: int) -> int:
        """How far a sentence may end before its marks: markup between them does not count."""
        between = self._report.text[end:anchor]
        return NEAR + sum(between.count(char) for char in "*\\([<_ \n")

    def is_attached(self, mark: Mark) -> bool:
        one = self.owner(mark)
        cited = {self._urls[n] for n in one.sources} if one else set()
        return {canonical_url(url) for url in mark.urls} <= cited

    def is_cut_wrongly(self, one: ReportSentence) -> bool:
        if _URL.search(one.text) or _RAW.search(one.text):
            return True
        inner = [m for m in self.marks if one.start < m.start and m.end < one.end]
        text = self._report.text
        return any(m.urls and _ends(text[: m.anchor]) and _begins(text, m.end) for m in inner)

    def lost(self) -> set[tuple[int, int]]:
        """The sentences without a source that have a mark with an address."""
        owners = (self.owner(mark) for mark in self.marks if mark.urls)
        return {(one.start, one.end) for one in owners if one and not one.sources}

    def claimed(self) -> Iterator[bool]:
        """Of each line of the list, whether a sentence begins in it."""
        for start, end in self._listed:
            n = bisect_right(self._starts, end) - 1
            yield n >= 0 and self._report.sentences[n].start >= start


def _ends(before: str) -> bool:
    return before[-8:].rstrip(" *)").endswith((".", "!", "?", "。"))


def _begins(text: str, at: int) -> bool:
    after = text[at : at + 3]
    return after[:1] == " " and after[1:2].isupper()


def load(data: Path) -> Iterator[dict[str, Any]]:
    """The reports with their halves, by their index among those of a set."""
    seen: dict[str, int] = {}
    with gzip.open(data / "reports/reports.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            n = seen[row["set"]] = seen.get(row["set"], -1) + 1
            yield row | {"half": HALVES[n % 2]}


def judge(row: dict[str, Any], _: Bench) -> Iterator[Outcome]:
    """The outcomes of one report."""
    report = read_report(row["text"].encode(), "report.md")
    found = _Judge(report, FORMS[row["set"]](report.text))
    blank = Outcome(row["set"], row["half"])
    unaddressed = sum(not mark.urls for mark in found.marks)
    for n, mark in enumerate(found.marks):
        where = f"{row['set']} {row['i']}: {report.text[max(0, mark.start - 60) : mark.end + 40]!r}"
        if mark.urls:
            yield blank._replace(attached=found.is_attached(mark), where=where)
        else:
            yield blank._replace(told=n < unaddressed and report.unaddressed >= unaddressed)
    for is_claim in found.claimed():
        yield blank._replace(line=is_claim)
    lost = found.lost()
    for one in report.sentences:
        cut = found.is_cut_wrongly(one)
        where = f"{row['set']} {row['i']}: CUT {one.text[:200]!r}"
        yield blank._replace(cut=cut, lost=(one.start, one.end) in lost, where=where)


def tell_missed(outcome: Outcome) -> str:
    """A line for what is wrong."""
    return outcome.where if outcome.attached is False or outcome.cut else ""


EVALUATION = Evaluation(
    "Reports of other products, as they come out of them",
    load,
    judge,
    (
        Table(
            {"set": "set", "half": "half"},
            {
                "marks": lambda own: size([one for one in own if one.attached is not None]),
                "**attached**": share("attached"),
                "lines of lists": lambda own: size([one for one in own if one.line is not None]),
                "taken for claims": count("line"),
                "sentences": lambda own: size([one for one in own if one.cut is not None]),
                "cut wrongly": count("cut"),
                "lost": count("lost"),
                "without address": lambda own: size([o for o in own if o.told is not None]),
                "told": share("told"),
            },
        ),
    ),
    needs="reports",
    missed=tell_missed,
)

if __name__ == "__main__":
    main("marks")
