"""Rich Text Format, version 1.9.1: text, tables and hexadecimal characters of any code page."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent.documents.body_text import NO_END, TEXT, Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.table import TableCell, format_table, join_cells
from agent.documents.formats.xml import to_int
from agent.documents.formulas import STRUCK, lower_text, raise_text

MAX_GROUPS = 1000  # in groups
NEAR = 30  # twentieths of a point by which the edges of one column may differ
_CELL, _ROW = "\x01", "\x02"  # what ends a cell, and a row, whose form follows
_NO_MARKS = str.maketrans("", "", _CELL + _ROW)
#: A control word with its number, a control symbol, a hexadecimal character, a brace, or text.
_TOKEN = re.compile(
    r"\\(?:(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?[ ]?|'(?P<hex>[0-9a-fA-F]{2})"
    r"|(?P<symbol>[^a-zA-Z']))|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|."
)
#: Groups that hold no text of the document.
_DESTINATIONS = frozenset(
    "fonttbl colortbl stylesheet info pict object objdata themedata datastore generator listtable "
    "listoverridetable revtbl rsidtbl xmlnstbl mmathPr latentstyles fldinst nonshppict filetbl "
    "colorschememapping pgptbl bkmkstart bkmkend ftnsep ftnsepc aftnsep aftnsepc sn sv".split()
)
_MARGINS = frozenset("header headerl headerr headerf footer footerl footerr footerf".split())
_WORDS = {
    **dict.fromkeys(("par", "line", "sect", "page", "nestrow"), "\n"),
    **{"cell": _CELL, "nestcell": " | "},
    **dict.fromkeys(("emspace", "enspace", "tab"), " "),
    **dict(zip("emdash endash bullet".split(), "—–•", strict=True)),
    **dict(zip("lquote rquote ldblquote rdblquote".split(), "‘’“”", strict=True)),
}
_IN_ROW = {"par": " ", "line": " ", "nestrow": "; "}
#: Words that say how what follows is written.
_STYLE = frozenset(
    "u uc ansicpg f fcharset v plain super sub up dn nosupersub strike striked".split()
)
_SCRIPTS = {"super": raise_text, "up": raise_text, "sub": lower_text, "dn": lower_text}
#: What a cell is of one that goes over several columns or rows; of a row, that it is a head.
_OF_ROW = {"clmrg": "<", "clvmrg": "^", "trhdr": "h"}
_ROW_ENDS = frozenset(("sect", "page"))
_SYMBOLS = {"~": " ", "_": "-", "\n": "\n", "\r": "\n", "\\": "\\", "{": "{", "}": "}"}
#: Code pages of character sets of fonts: 1.9.1, `\fcharset`.
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "cp1361", 134: "gbk",
    136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256",
    186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


@dataclass
class _Group:
    """What counts inside a group."""

    is_skipped: bool = False
    is_hidden: bool = False
    is_title: bool = False
    place: str = ""  # beside the text
    is_font_table: bool = False
    after_unicode: int = 1  # characters behind `\u` that say the same to older programs
    encoding: str = "cp1252"
    script: str = ""  # the word that raises, lowers or strikes what follows


MARGIN, COMMENT = "header or footer", "comment"


class _Reader:
    """Reads the tokens one after the other."""

    def __init__(self, *, is_report: bool = False) -> None:
        self.title: list[str] = []
        self.pieces: dict[str, list[str]] = {"": [], MARGIN: [], COMMENT: []}
        self._is_report = is_report  # where raised numbers are marks
        self._row: list[str] = []  # the form of the row: what it is, and the edges of its cells
        self.pictures = self.objects = 0  # that are not read
        self._bytes = bytearray()  # hexadecimal characters in a row: one letter may take two
        self._group = _Group()
        self.outer: list[_Group] = []  # groups that are open
        self._to_skip = 0
        self._fonts: dict[int, str] = {}
        self._font = 0  # the one that is being defined
        self._is_in_row = False  # of a table, where a cell may have several paragraphs
        self._page = "cp1252"

    def read(self, text: str) -> None:
        """Read a whole document."""
        position = 0
        while match := _TOKEN.match(text, position):
            position = match.end()
            if match["hex"]:
                self._put_byte(int(match["hex"], 16))
                continue
            self._flush()
            if match["word"] == "bin":
                position += max(0, int(match["number"] or 0))
            elif match["word"]:
                self._obey(match["word"], match["number"])
            elif match["brace"]:
                self._enter() if match["brace"] == "{" else self._leave()
            elif match["symbol"] == "*":  # elsewhere it marks no group
                begins = text[max(0, match.start() - 2) : match.start()].rstrip()[-1:] == "{"
                self._group.is_skipped |= begins
            else:
                self._say(match["text"] or _SYMBOLS.get(match["symbol"] or "", ""))
        self._flush()

    def _enter(self) -> None:
        if len(self.outer) >= MAX_GROUPS:
            raise UnreadablePage("it is damaged: its groups are too deep", "invalid")
        self.outer.append(self._group)
        self._group = replace(self._group)
        self._to_skip = 0

    def _leave(self) -> None:
        self._group = self.outer.pop() if self.outer else _Group()
        self._to_skip = 0

    def _obey(self, word: str, number: str | None) -> None:
        self.pictures += word == "shppict" or (word == "pict" and not self._group.is_skipped)
        self.objects += word == "objdata"
        if word in _MARGINS:
            self._group.place = MARGIN
        elif word in _DESTINATIONS:
            self._group.is_skipped = True
            self._group.is_font_table = word == "fonttbl"
        elif word == "title" and self._group.is_skipped:
            self._group.is_title = True
        elif word in ("footnote", "shptxt", "shpinst", "fldrslt", "nesttableprops"):
            self._group.is_skipped = word == "nesttableprops"
            self._put(" ")
        elif word in _STYLE:
            self._set_style(word, number)
        elif word in ("atnauthor", "annotation"):
            self._group.is_skipped, self._group.place, self._group.script = False, COMMENT, ""
            self._put("\n" if word == "atnauthor" else ": ")
        elif word in ("trowd", "cellx", *_OF_ROW):
            self._shape_row(word, number)
        elif word == "row":
            self._put(f"{_ROW}{' '.join(self._row)}\n")
            self._is_in_row = False
        else:
            self._is_in_row |= word == "intbl"
            self._is_in_row &= word not in _ROW_ENDS
            self._put((self._is_in_row and _IN_ROW.get(word)) or _WORDS.get(word, ""))

    def _shape_row(self, word: str, number: str | None) -> None:
        """Note of which form the cells of a row are."""
        self._is_in_row = True
        if word == "trowd":
            self._row = [""]
        elif word == "cellx":
            self._row[-1] += number or ""
            self._row.append("")
        elif self._row:
            self._row[-1] += _OF_ROW[word]

    def _set_style(self, word: str, given: str | None) -> None:
        """Obey a word of `_STYLE`."""
        group, number = self._group, int(given or 0)
        match word:
            case "u":
                self._say(chr(number % 0x10000))
                self._to_skip = group.after_unicode
            case "uc":
                group.after_unicode = min(int(given or 1), 10)
            case "ansicpg":
                self._page = group.encoding = _known_encoding(f"cp{given or 1252}")
            case "f":
                self._font = number
                if not group.is_font_table:
                    group.encoding = self._fonts.get(number, self._page)
            case "fcharset" if number > 1:  # 0 and 1 are the code page of the document
                self._fonts[self._font] = _known_encoding(_CHARSETS.get(number, self._page))
            case "v":
                group.is_hidden = given != "0"
            case "plain":
                group.is_hidden, group.encoding, group.script = False, self._page, ""
            case _:
                group.script = "" if given == "0" or self._is_report else word

    def _put_byte(self, code: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._bytes.append(code)

    def _flush(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._group.encoding, "replace")
            self._bytes.clear()
            self._say(text)

    def _say(self, text: str) -> None:
        """Put words, raised or lowered as they are shown."""
        text = text.translate(_NO_MARKS)
        write = _SCRIPTS.get(self._group.script)
        self._put(write(text) if write else text, is_struck=self._group.script.startswith("strike"))

    def _put(self, text: str, *, is_struck: bool = False) -> None:
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        text = text[skipped:]
        if self._group.is_title:
            self.title.append(text)
        elif not (self._group.is_skipped or self._group.is_hidden):
            pieces = self.pieces[self._group.place]
            if is_struck and text.strip():
                is_going_on = pieces[-1:] == [STRUCK]
                pieces[len(pieces) - is_going_on :] = [*[STRUCK] * (not is_going_on), text, STRUCK]
            else:
                pieces.append(text)


def _known_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def read_rich_text(source: Body) -> BodyText:
    """The text, one line a paragraph or table row."""
    reader = _Reader(is_report=source.is_report)
    reader.read(source.data.decode("latin-1"))
    text = PlacedText(source, "".join(reader.title))
    for place, pieces in reader.pieces.items():
        lines = _read_tables(_lines("".join(pieces)), is_report=source.is_report)
        text.add("\n".join(dict.fromkeys(lines) if place == MARGIN else lines), place)
    text.lose("pictures", reader.pictures, "only text is read")
    text.lose("embedded documents", reader.objects, "save them as files of their own")
    if reader.outer:
        text.lose(TEXT, 1, NO_END)
    return text.finish()


def _lines(text: str) -> Iterator[str]:
    """The lines; halves of a letter that was written as two numbers are joined."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for line in whole.split("\n"):
        yield line.lstrip(": ").strip() if line.startswith(": ") else line.strip()


def _read_tables(lines: Iterable[str], *, is_report: bool) -> Iterator[str]:
    """The lines of a text, with the rows of each table read as one."""
    for is_table, group in groupby(lines, lambda line: _ROW in line):
        if not is_table:
            yield from group
            continue
        rows = [line.split(_ROW)[:2] for line in group]
        texts = [cells.removesuffix(_CELL).split(_CELL) for cells, _ in rows]
        if is_report:
            yield from map(join_cells, texts)
        else:
            yield from format_table(_place_cells(texts, [form.split(" ") for _, form in rows]))[0]


def _place_cells(
    texts: Sequence[Sequence[str]], forms: Sequence[Sequence[str]]
) -> Iterator[list[TableCell]]:
    """The cells of the rows of a table, each over the columns between its edges."""
    edges: list[int] = []
    for edge in sorted({_edge_of(one) for form in forms for one in form}):
        edges += [edge] if not edges or edge - edges[-1] > NEAR else []
    for row, form in zip(texts, forms, strict=True):
        cells: list[TableCell] = []
        start = bisect_right(edges, 0)
        for n, text in enumerate(row):
            told = form[n] if n < len(form) else ""
            end = bisect_right(edges, _edge_of(told)) if told else start + 1
            if "<" in told and cells:
                cells[-1] = cells[-1]._replace(columns=cells[-1].columns + end - start)
            else:
                is_head = form[0].startswith("h")
                cells.append(TableCell(text.strip(), end - start, 0 if "^" in told else 1, is_head))
            start = end
        yield cells


def _edge_of(cell: str) -> int:
    return to_int(cell.lstrip("h<^"), 0)
