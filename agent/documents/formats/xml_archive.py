"""The parts of a document that is a ZIP archive of XML: Office Open XML, OpenDocument, EPUB.

Archives are hostile: nothing is written, names are only looked up, a part is unpacked up to a
limit, and XML is parsed without entities, DTDs and the network.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from agent.documents.body_text import UnreadablePage
from agent.documents.formats.xml import Element
from agent.documents.zip_entries import DAMAGE, UNKNOWN_PACKING, ArchiveRefused, ZipEntries

MAX_PARTS = 20_000  # of an archive
MAX_PART = 40_000_000  # bytes of a part that is parsed whole: its tree takes ten times that
MAX_UNPACKED = 400_000_000  # bytes of all parts together
#: How XML is parsed.
_SAFELY: Any = {
    **dict.fromkeys(("resolve_entities", "load_dtd"), False),
    **dict.fromkeys(("no_network", "remove_comments", "remove_pis"), True),
}


class Archive:
    """A ZIP archive in memory. Raises UnreadablePage for whatever is wrong with it."""

    def __init__(self, data: bytes) -> None:
        with _report_damage():
            self._entries = ZipEntries(BytesIO(data), MAX_PARTS, MAX_UNPACKED)
        self.names = self._entries.names

    def read(self, name: str, most: int = MAX_PART) -> bytes:
        """A part, unpacked; b"" for one that is not there."""
        if name not in self.names:
            return b""
        with _report_damage():
            return self._entries.read(name, most)

    def declared_type(self) -> str:
        """The media type that an archive of OpenDocument or EPUB says of itself; "" for none."""
        declared = self.read("mimetype", 100).decode("ascii", "replace")
        return declared.strip().removesuffix("-template")

    def size(self, name: str) -> int:
        """The bytes of a part, unpacked, as the archive says; 0 for one that is not there."""
        return self._entries.size(name)

    def read_xml(self, name: str) -> Element | None:
        """The root element of a part; None for one that is not there."""
        data = self.read(name)
        return parse_xml(data) if data else None

    def replace(self, parts: Mapping[str, bytes]) -> bytes:
        """The archive as bytes, with other parts in place of some."""
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for one in sorted(self.names):
                archive.writestr(one, parts[one] if one in parts else self.read(one))
        return out.getvalue()


@contextmanager
def _report_damage() -> Iterator[None]:
    """Raises UnreadablePage for what the libraries say of a damaged archive or part."""
    from lxml import etree

    try:
        yield
    except ArchiveRefused as error:
        raise UnreadablePage(str(error), "invalid") from None
    except DAMAGE as error:
        if isinstance(error, UnreadablePage):
            raise
        raise UnreadablePage("it is damaged: a part of it cannot be unpacked", "invalid") from None
    except UNKNOWN_PACKING:
        raise UnreadablePage("its compression method is not supported", "unsupported") from None
    except etree.LxmlError:
        raise UnreadablePage("it is damaged: a part of it is not XML", "invalid") from None


def parse_xml(data: bytes) -> Element:
    """The root element of an XML document. Entities stay unresolved. Raises UnreadablePage."""
    from lxml import etree

    with _report_damage():
        return etree.fromstring(data, etree.XMLParser(huge_tree=False, **_SAFELY))
