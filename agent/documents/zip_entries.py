"""The one opener of ZIP archives of others: exports, documents that are archives, archives of them.

Nothing is written, names are only looked up, and what is unpacked is a stream with an end.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

#: What a damaged archive raises, besides ArchiveRefused.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError)
#: What one raises that is packed or encrypted in a way that is not known.
UNKNOWN_PACKING = (NotImplementedError, RuntimeError)
_CHUNK = 1_000_000  # bytes


class ArchiveRefused(Exception):
    """An archive that is not read; the message says why."""


class ZipEntries:
    """The entries of a ZIP archive, of which each name is there once, in whatever case.

    `max_bytes`: what all that is read may unpack to. Raises ArchiveRefused, DAMAGE,
    UNKNOWN_PACKING.
    """

    def __init__(self, file: BinaryIO, max_entries: int, max_bytes: int) -> None:
        self._zip = zipfile.ZipFile(file)
        self._left = max_bytes
        entries = self._zip.infolist()
        if len(entries) > max_entries:
            raise ArchiveRefused("it has too many parts")
        self.names = frozenset(entry.filename for entry in entries)
        if len({name.casefold() for name in self.names}) < len(entries):
            raise ArchiveRefused("it has two parts of one name")
        if any(map(_leads_elsewhere, entries)):
            raise ArchiveRefused("it holds a link, or a name that leads out of it")

    def size(self, name: str) -> int:
        """The bytes of an entry, unpacked, as the archive says; 0 for one that is not there."""
        return self._zip.getinfo(name).file_size if name in self.names else 0

    def stream(self, name: str, most: int) -> Iterator[bytes]:
        """An entry, unpacked in pieces; its checksum is checked at the end."""
        entry = self._zip.getinfo(name)
        if entry.flag_bits & 1:
            raise ArchiveRefused("it needs a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError  # others need memory that the archive chooses
        with self._zip.open(entry) as stream:
            while piece := stream.read(_CHUNK):
                most, self._left = most - len(piece), self._left - len(piece)
                if min(most, self._left) < 0:
                    raise ArchiveRefused("it unpacks to more than can be read")
                yield piece

    def read(self, name: str, most: int) -> bytes:
        """An entry, unpacked whole."""
        return b"".join(self.stream(name, most))

    def has_gaps(self) -> bool:
        """Whether the file holds bytes, perhaps another entry, that its directory does not name."""
        end = 0
        for entry in sorted(self._zip.infolist(), key=lambda one: one.header_offset):
            if entry.header_offset != end:
                return True
            end += 30 + len(entry.orig_filename.encode()) + entry.compress_size
        return end != self._zip.start_dir


def _leads_elsewhere(entry: zipfile.ZipInfo) -> bool:
    parts = entry.orig_filename.replace("\\", "/").split("/")
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    return is_link or ".." in parts or parts[0] == "" or parts[0].endswith(":")
