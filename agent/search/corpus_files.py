"""The files of a corpus: which there are, by names that can be stored, and when they changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.documents.format_registry import SUFFIXES


class FileScan(NamedTuple):
    """The files of a corpus. Each has a name that can be stored: its path within the folder."""

    root: Path
    stamps: dict[str, str]  # by name: size and times of change
    unknown: tuple[str, ...] = ()  # files that are no documents, by their suffix or their kind
    faults: tuple[tuple[str, str], ...] = ()  # folders that cannot be listed, with the reason
    odd_names: dict[str, str] = {}  # noqa: RUF012 - by name: the path, where that is another text

    def path(self, name: str) -> Path:
        """Where a file lies. The name of a corpus that is one file is ""."""
        return self.root / self.odd_names.get(name, name) if name else self.root

    def size(self, name: str) -> int:
        """The bytes that a file had."""
        return int(self.stamps[name].partition(":")[0])


def scan_files(root: Path) -> FileScan:
    """The files under a folder, in order.

    A `root` that is a file has the name "". Hidden files and folders are left out, and so are
    symbolic links to files outside the folder.
    """
    if root.is_file():
        stamp = stamp_of(root)
        return FileScan(root, {"": stamp} if stamp else {})
    real_root = os.path.realpath(root)
    stamps: dict[str, str] = {}
    unknown: list[str] = []
    faults: list[tuple[str, str]] = []
    odd_names: dict[str, str] = {}
    for path, entry in _walk_files(str(root), faults):
        name = storable_name(path)
        if name != path:
            odd_names[name] = path
        if stamp := stamp_of(entry) if _is_supported(entry, real_root) else "":
            stamps[name] = stamp
        else:
            unknown.append(name)
    return FileScan(root, stamps, tuple(unknown), tuple(faults), odd_names)


def _walk_files(root: str, faults: list[tuple[str, str]]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    folders = [""]
    while folders:
        prefix = folders.pop()
        try:
            with os.scandir(os.path.join(root, prefix)) as listing:  # noqa: PTH118 - 200,000 of them
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            name = storable_name(prefix.rstrip("/")) or "the folder"
            faults.append((name, error.strerror or "cannot be listed"))
            continue
        visible = [entry for entry in entries if not entry.name.startswith(".")]
        inner = [entry for entry in visible if _is_folder(entry)]
        yield from ((prefix + entry.name, entry) for entry in visible if not _is_folder(entry))
        paths = (f"{prefix}{entry.name}/" for entry in reversed(inner) if not entry.is_symlink())
        folders.extend(paths)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def storable_name(path: str) -> str:
    """A path as text; bytes of a name that is not UTF-8 are written as `\\xff`."""
    if path.isascii():
        return path
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_supported(entry: os.DirEntry[str], real_root: str) -> bool:
    if os.path.splitext(entry.name)[1].lower() not in SUFFIXES:  # noqa: PTH122 - it is faster
        return False
    is_linked = entry.is_symlink()
    return not is_linked or Path(os.path.realpath(entry.path)).is_relative_to(real_root)


def stamp_of(file: Path | os.DirEntry[str]) -> str:
    """Size and times of change of a regular file; "" for anything else, or if it cannot be read.

    The time of its status changes with the right to read, and where another file took its place.
    """
    try:
        status = file.stat()
    except OSError:  # it has just gone, or is a link to nowhere
        return ""
    stamp = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
    return stamp if stat.S_ISREG(status.st_mode) else ""
