"""Rich Text Format, version 1.9.1: text, tables and hexadecimal characters of any code page."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent.documents.body_text import TEXT, Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.table import format_lines

MAX_GROUPS = 1000  # in groups
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
    **dict.fromkeys(("par", "line", "sect", "page", "row", "nestrow"), "\n"),
    **dict.fromkeys(("cell", "nestcell"), " | "),
    **dict.fromkeys(("emspace", "enspace", "tab"), " "),
    **dict(zip("emdash endash bullet".split(), "—–•", strict=True)),
    **dict(zip("lquote rquote ldblquote rdblquote".split(), "‘’“”", strict=True)),
}
#: Words that say how what follows is written.
_STYLE = frozenset("u uc ansicpg f fcharset v plain".split())
_ROW_ENDS = frozenset(("row", "sect", "page"))
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
    is_margin: bool = False
    is_font_table: bool = False
    after_unicode: int = 1  # characters behind `\u` that say the same to older programs
    encoding: str = "cp1252"


class _Reader:
    """Reads the tokens one after the other."""

    def __init__(self) -> None:
        self.title: list[str] = []
        self.pieces: list[str] = []
        self.margins: list[str] = []  # heads and feet
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
                self._put(match["text"] or _SYMBOLS.get(match["symbol"] or "", ""))
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
            self._group.is_margin = True
        elif word in _DESTINATIONS:
            self._group.is_skipped = True
            self._group.is_font_table = word == "fonttbl"
        elif word == "title" and self._group.is_skipped:
            self._group.is_title = True
        elif word in ("footnote", "annotation", "shptxt", "shpinst", "fldrslt", "nesttableprops"):
            self._group.is_skipped = word == "nesttableprops"
            self._put(" ")
        elif word in _STYLE:
            self._set_style(word, number)
        elif word == "par" and self._is_in_row:
            self._put(" ")
        else:
            self._is_in_row = word == "trowd" or (self._is_in_row and word not in _ROW_ENDS)
            self._put(_WORDS.get(word, ""))

    def _set_style(self, word: str, given: str | None) -> None:
        """Obey a word of `_STYLE`."""
        group, number = self._group, int(given or 0)
        match word:
            case "u":
                self._put(chr(number % 0x10000))
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
                group.is_hidden, group.encoding = False, self._page

    def _put_byte(self, code: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._bytes.append(code)

    def _flush(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._group.encoding, "replace")
            self._bytes.clear()
            self._put(text)

    def _put(self, text: str) -> None:
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        text = text[skipped:]
        if self._group.is_title:
            self.title.append(text)
        elif not (self._group.is_skipped or self._group.is_hidden):
            (self.margins if self._group.is_margin else self.pieces).append(text)


def _known_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def read_rich_text(source: Body) -> BodyText:
    """The text, one line a paragraph or table row."""
    reader = _Reader()
    reader.read(source.data.decode("latin-1"))
    text = PlacedText(source, "".join(reader.title))
    lines = _lines("".join(reader.pieces))
    text.add("\n".join(lines if source.is_report else format_lines(lines)))
    text.add("\n".join(dict.fromkeys(_lines("".join(reader.margins)))), "header or footer")
    text.lose("pictures", reader.pictures, "only text is read")
    text.lose("embedded documents", reader.objects, "save them as files of their own")
    if reader.outer:
        text.lose(TEXT, 1, "its end is missing")
    return text.finish()


def _lines(text: str) -> Iterator[str]:
    """The lines; halves of a letter that was written as two numbers are joined."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for line in whole.split("\n"):
        yield line.strip().removesuffix("|").rstrip()
