"""The parts of a document that is a ZIP archive of XML: Office Open XML, OpenDocument, EPUB.

What is in an archive is hostile: nothing is written anywhere, names are only looked up, a part is
unpacked up to a limit, and XML is parsed without entities, DTDs and the network.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Any
from urllib.parse import unquote

from agent.documents.body_text import UnreadablePage
from agent.documents.formats.xml import Element, find_first
from agent.documents.own_date import read_day

MAX_PARTS = 20_000  # of an archive
MAX_PART = 40_000_000  # bytes of a part that is parsed whole: its tree takes ten times that
MAX_STREAM = 400_000_000  # bytes of a part that is read in a stream
MAX_UNPACKED = 400_000_000  # bytes of all parts together
_MAIN_PARTS = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml")
#: How XML is parsed.
_SAFELY: Any = {
    **dict.fromkeys(("resolve_entities", "load_dtd"), False),
    **dict.fromkeys(("no_network", "remove_comments", "remove_pis"), True),
}
BOMB = "it unpacks to more than can be read"


class Archive:
    """A ZIP archive in memory. Raises UnreadablePage for whatever is wrong with it."""

    def __init__(self, data: bytes) -> None:
        with _report_damage():
            self._zip = zipfile.ZipFile(BytesIO(data))
        if len(self._zip.infolist()) > MAX_PARTS:
            raise UnreadablePage("it has too many parts", "invalid")
        self.names = frozenset(self._zip.namelist())
        self._left = MAX_UNPACKED

    def read(self, name: str, most: int = MAX_PART) -> bytes:
        """A part, unpacked; b"" for one that is not there."""
        if name not in self.names:
            return b""
        with _report_damage(), self._open(name) as stream:
            data = stream.read(most + 1)
        self._left -= len(data)
        if len(data) > most or self._left < 0:
            raise UnreadablePage(BOMB, "invalid")
        return data

    def size(self, name: str) -> int:
        """The bytes of a part, unpacked, as the archive says; 0 for one that is not there."""
        return self._zip.getinfo(name).file_size if name in self.names else 0

    def read_xml(self, name: str) -> Element | None:
        """The root element of a part; None for one that is not there."""
        data = self.read(name)
        return parse_xml(data) if data else None

    def iterate_xml(self, name: str, tags: tuple[str, ...]) -> Iterator[Element]:
        """The elements with these local names as soon as each is complete; then it is emptied."""
        from lxml import etree

        if name not in self.names:
            return
        with _report_damage(), self._open(name) as stream:
            named = [f"{{*}}{tag}" for tag in tags]
            bounded = _BoundedStream(stream)
            for _, element in etree.iterparse(bounded, events=("end",), tag=named, **_SAFELY):
                yield element
                element.clear()
                parent = element.getparent()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Of a part of Office Open XML: identifier -> kind of the relation, and the part it names.

        The kind is the last segment of its type: `slide`, `worksheet`, `hyperlink`.
        """
        folder, name = posixpath.split(part)
        root = self.read_xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, tuple[str, str]] = {}
        for element in root if root is not None else ():
            kind = (element.get("Type") or "").rpartition("/")[2]
            target = element.get("Target") or ""
            if element.get("TargetMode") != "External":
                target = resolve_part(folder, target)
            found[element.get("Id") or ""] = (kind, target)
        return found

    def _open(self, name: str) -> IO[bytes]:
        info = self._zip.getinfo(name)
        if info.flag_bits & 1:
            raise UnreadablePage("it needs a password", "unsupported")
        return self._zip.open(info)


class _BoundedStream:
    """A stream for the parser of XML, which ends in an error where a part is too large."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MAX_STREAM

    def read(self, size: int) -> bytes:
        """Up to so many bytes. Raises UnreadablePage."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise UnreadablePage(BOMB, "invalid")
        return data


@contextmanager
def _report_damage() -> Iterator[None]:
    """Raises UnreadablePage for what the libraries say of a damaged archive or part."""
    from lxml import etree

    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError) as error:
        if isinstance(error, UnreadablePage):
            raise
        raise UnreadablePage("it is damaged: a part of it cannot be unpacked", "invalid") from None
    except (NotImplementedError, RuntimeError):  # a way of packing or encrypting that is not known
        raise UnreadablePage("it is packed in a way that is not known", "unsupported") from None
    except etree.LxmlError:
        raise UnreadablePage("it is damaged: a part of it is no XML", "invalid") from None


def parse_xml(data: bytes) -> Element:
    """The root element of an XML document. Entities stay unresolved. Raises UnreadablePage."""
    from lxml import etree

    with _report_damage():
        return etree.fromstring(data, etree.XMLParser(huge_tree=False, **_SAFELY))


def resolve_part(folder: str, target: str) -> str:
    """The name of a part that another one in a folder names, as it stands in the archive."""
    target = unquote(target.partition("#")[0])
    joined = target if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath(joined).lstrip("/")


def core_properties(archive: Archive) -> tuple[str, str]:
    """Title and date of a document of Office Open XML."""
    part = dict(archive.relations("").values()).get("core-properties", "")
    return read_properties(archive.read_xml(part), "title", "modified", "created")


def read_properties(root: Element | None, title: str, *dates: str) -> tuple[str, str]:
    """The texts of elements with these local names, "" for none; of the dates the first day."""
    found = (find_first(root, name) for name in (title, *dates))
    texts = ["" if element is None else element.text or "" for element in found]
    return texts[0], read_day(*texts[1:])


def main_part(archive: Archive) -> str:
    """The name of the part with the content of a document of Office Open XML; "" for none."""
    usual = next((name for name in _MAIN_PARTS if name in archive.names), "")
    return dict(archive.relations("").values()).get("officeDocument", usual)
