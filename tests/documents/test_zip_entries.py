"""ZIP archives of others: what is in them is looked up, once a name, and has an end."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents.body_text import Body, UnreadablePage
from agent.documents.format_registry import read_source
from agent.documents.zip_entries import DAMAGE, UNKNOWN_PACKING, ArchiveRefused, ZipEntries


def pack(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


HOSTILE = {
    "two of one name": [("a.txt", b"one"), ("a.txt", b"two")],
    "two but for case": [("a.txt", b"one"), ("A.TXT", b"two")],
    "a path upwards": [("x/../../a.txt", b"one")],
    "a path from the root": [("/a.txt", b"one")],
    "a path of Windows": [("..\\a.txt", b"one")],
    "a drive": [("c:/a.txt", b"one")],
    "a link": [(link("a.txt"), b"/etc/passwd")],
    "a bomb": [("a.txt", bytes(50_000_000))],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_of_documents_is_refused_whole(name: str) -> None:
    with pytest.raises(UnreadablePage, match=r"two parts of|leads out|unpacks to more"):
        read_source(Body(pack(*HOSTILE[name]), suffix=".zip"))
    assert "one" in read_source(Body(pack(("a.txt", b"one")), suffix=".zip")).text


def test_all_entries_together_have_a_limit() -> None:
    entries = ZipEntries(io.BytesIO(pack(("a", bytes(60)), ("b", bytes(60)))), 2, 100)
    assert entries.read("a", 60) == bytes(60)
    with pytest.raises(ArchiveRefused):
        entries.read("b", 60)
    with pytest.raises(ArchiveRefused):
        ZipEntries(io.BytesIO(pack(("a", b""), ("b", b""))), 1, 100)


WHOLE = pack(("a.txt", b"one" * 50), ("b/c.txt", b"two"))


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=8))
def test_a_damaged_archive_is_read_or_refused(at: int, data: bytes) -> None:
    try:
        entries = ZipEntries(io.BytesIO(WHOLE[:at] + data + WHOLE[at + len(data) :]), 10, 1000)
        entries.has_gaps()
        for name in entries.names:
            assert len(entries.read(name, 1000)) <= 1000
    except (ArchiveRefused, *DAMAGE, *UNKNOWN_PACKING):
        pass
