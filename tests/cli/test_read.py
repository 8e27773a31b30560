"""`research-agent read`: what is read of a file, and what was seen of it and not read."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agent.cli.read import command
from agent.cli.shell.process import run_command
from agent.documents.body_text import Body, UnreadablePage
from agent.documents.format_registry import Format
from agent.documents.reading import read_body
from tests.support.office_files import packed, word
from tests.support.page_server import PageServer, html, reply

DOCUMENTS = Path(__file__).parents[1] / "documents/files"
CHART = '<c:chartSpace xmlns:c="c"><c:ser/></c:chartSpace>'
FORM = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R 6 0 R 7 0 R]>>
/Names<</EmbeddedFiles<</Names[(berth.txt) 9 0 R]>>>>>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R
/Resources<</Font<</F <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>
/Annots[5 0 R 6 0 R 7 0 R 8 0 R]>> endobj
4 0 obj <</Length 46>> stream
BT /F 12 Tf 20 250 Td (Registration form) Tj ET
endstream endobj
5 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(owner)/TU(Name of owner)/V(Anna Berg)
/Rect[20 200 200 220]>> endobj
6 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(boats)/V(12)/Rect[20 150 200 170]>> endobj
7 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(remarks)/Rect[20 100 200 120]>> endobj
8 0 obj <</Type/Annot/Subtype/Text/Contents(Ask her by phone.)/Rect[20 50 40 70]>> endobj
9 0 obj <</Type/Filespec/F(berth.txt)/UF(berth.txt)/EF<</F 10 0 R>>>> endobj
10 0 obj <</Type/EmbeddedFile/Length 18>> stream
The berth is paid.
endstream endobj
trailer <</Root 1 0 R>>
"""


def with_parts(document: bytes, **parts: str | bytes) -> bytes:
    """The same document with other parts in its archive."""
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        held: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    return packed(held | {name.replace("__", "/"): text for name, text in parts.items()})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command(command, arguments)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def read(capsys: pytest.CaptureFixture[str], file: Path) -> Any:
    status, out, _ = run(capsys, str(file))
    assert status == 0
    return json.loads(out)


def place_of(found: Any, words: str) -> str:
    at = found["text"].index(words)
    place = [one for one in found["places"] if one["start"] <= at][-1]
    lines = found["text"].count("\n", place["start"], at)
    return place["name"] + ("" if place["number"] is None else f" {place['number'] + lines}")


def test_embedded_documents_are_read_and_charts_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xberg")
    book = BytesIO()
    openpyxl.Workbook().save(book)
    parts = {"xl__charts__chart1.xml": CHART}
    inside = word("<w:p><w:r><w:t>The lease ends in May.</w:t></w:r></w:p>")
    others = {"xl__media__image1.png": "x", "xl__embeddings__a.docx": inside}
    file = tmp_path / "ferries.xlsx"
    file.write_bytes(
        with_parts(book.getvalue(), **parts, **others, **{"xl__embeddings__b.bin": "?"})
    )
    found = read(capsys, file)
    lost = {one["what"]: one["count"] for one in found["not_read"]}
    assert place_of(found, "The lease ends in May.") == "embedded a.docx"
    assert lost == {"charts": 1, "pictures": 1, ".bin files": 1}


@pytest.mark.parametrize("lost", [b"", b"/AcroForm<</Fields[5 0 R 6 0 R 7 0 R]>>"])
def test_a_form_has_what_was_filled_in(
    lost: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where its pages were taken out of another file, and their fields are of no form."""
    file = tmp_path / "form.pdf"
    file.write_bytes(FORM.replace(lost, b""))
    found = read(capsys, file)
    assert place_of(found, "Name of owner: Anna Berg") == "form on page 1"
    assert place_of(found, "Ask her by phone.") == "comment on page 1"
    assert place_of(found, "The berth is paid.") == "attachment berth.txt"
    assert "boats: 12" in found["text"] and "remarks" not in found["text"]


def test_a_page_is_read_as_runs_read_it(
    web: PageServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    web.answers["/page"] = reply(html())
    monkeypatch.setenv("ALLOW_PRIVATE_NETWORK", "1")
    status, out, _ = run(capsys, f"{web.url}/page", "--format", "json")
    assert status == 0 and json.loads(out)["title"] == "A page"
    web.answers["/gone"] = reply(b"", "404 Not Found")
    status, out, err = run(capsys, f"{web.url}/gone")
    assert (status, out) == (4, "") and "404" in err


@pytest.mark.parametrize(("name", "status"), [("a.xyz", 2), ("broken.pdf", 4)])
def test_what_cannot_be_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, status: int
) -> None:
    (tmp_path / "a.xyz").write_text("x")
    (tmp_path / "broken.pdf").write_text("%PDF-1.4")
    found, out, err = run(capsys, str(tmp_path / name))
    assert (found, out) == (status, "") and err.startswith("Error: ")


MAIL = "From: a@example.org\nSubject: {0}\nContent-Type: text/plain\n\nThe {0} is due in May.\n"


def test_what_is_in_an_archive_or_a_mailbox_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xberg")
    file = tmp_path / "all.zip"
    body = "<w:p><w:r><w:t>The ferry runs daily.</w:t></w:r></w:p>"
    parts = {"a/b.docx": word(body), "notes.txt": "Nobody came.", "x.bin": "?", "c.pdf": "%PDF-"}
    file.write_bytes(packed(parts))
    found = read(capsys, file)
    assert place_of(found, "The ferry runs daily.") == "a/b.docx"
    assert place_of(found, "Nobody came.") == "notes.txt"
    assert [one["what"] for one in found["not_read"]] == ["c.pdf", ".bin files"]
    file = tmp_path / "post.mbox"
    mails = [f"From a Mon Nov 23\n{MAIL.format(word)}\n" for word in ("report", "invoice")]
    file.write_text("".join(mails))
    assert place_of(read(capsys, file), "The invoice is due") == "message 2, message"


@pytest.mark.slow
def test_files_in_files_are_bounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held: dict[str, str | bytes] = {"deep.txt": "The bottom."}
    for n in range(5):
        held = {f"{n}.zip": packed(held), "a.txt": f"Level {n}."}
    file = tmp_path / "all.zip"
    file.write_bytes(packed(held))
    found = read(capsys, file)
    assert place_of(found, "Level 2.") == "4.zip, 3.zip, a.txt"
    assert "Level 1." not in found["text"]
    (lost,) = found["not_read"]
    assert lost["what"] == "2.zip in 3.zip in 4.zip" and "more than 3 deep" in lost["why"]
    file.write_bytes(packed({f"{n:05}.txt": "word" for n in range(10_000)}))
    found = read(capsys, file)
    assert found["text"].count("word") == 1000
    assert [one["count"] for one in found["not_read"]] == [9000]


def test_old_office_files_are_read_by_an_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xberg")
    file = tmp_path / "old.doc"
    file.write_bytes((DOCUMENTS / "libreoffice.doc").read_bytes())
    found = read(capsys, file)
    assert "The harbour of Norrvik was opened in 1911." in found["text"]
    lacking = Format("old files", "", (".old",), (), "x:y", ("xberg", "no_such_package"))
    with pytest.raises(UnreadablePage, match=r"^no_such_package is not installed, which reads old"):
        lacking.read(Body(b""))


def test_an_old_presentation_with_a_password_says_so() -> None:
    pytest.importorskip("xberg")
    names = (name.encode("utf-16-le") for name in ("PowerPoint Document", "EncryptedSummary"))
    with pytest.raises(UnreadablePage, match="it is encrypted"):
        read_body(
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + b"".join(names), suffix=".ppt"
        )
