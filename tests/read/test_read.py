"""`research-agent read`: what is read of a file, and what was seen of it and not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.read.__main__ import command
from agent.shell.process import run_command
from tests.support.office_files import packed, sheet, word
from tests.support.page_server import PageServer, html, reply

C = 'xmlns:c="c" xmlns:a="a"'
CHART = (
    f"<c:chartSpace {C}><c:title><a:t>Passengers</a:t></c:title>"
    "<c:ser><c:tx><c:v>Holm</c:v></c:tx>"
    '<c:cat><c:pt idx="0"><c:v>2023</c:v></c:pt><c:pt idx="1"><c:v>2024</c:v></c:pt></c:cat>'
    '<c:val><c:pt idx="0"><c:v>41000</c:v></c:pt><c:pt idx="1"><c:v>48210</c:v></c:pt></c:val>'
    "</c:ser><c:ser><c:tx><c:v>Vik</c:v></c:tx>"
    '<c:val><c:pt idx="1"><c:v>7300</c:v></c:pt></c:val></c:ser></c:chartSpace>'
)
COMMENTS = (
    '<comments xmlns="x"><commentList><comment ref="B2"><text><r><t>Counted by </t></r>'
    "<r><t>hand.</t></r></text></comment></commentList></comments>"
)
FORM = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R 6 0 R 7 0 R]>>>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R
/Resources<</Font<</F <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>
/Annots[5 0 R 6 0 R 7 0 R]>> endobj
4 0 obj <</Length 46>> stream
BT /F 12 Tf 20 250 Td (Registration form) Tj ET
endstream endobj
5 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(owner)/TU(Name of owner)/V(Anna Berg)
/Rect[20 200 200 220]>> endobj
6 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(boats)/V(12)/Rect[20 150 200 170]>> endobj
7 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(remarks)/Rect[20 100 200 120]>> endobj
trailer <</Root 1 0 R>>
"""


def with_parts(document: bytes, **parts: str) -> bytes:
    """The same document with other parts in its archive."""
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        held: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    return packed(held | {name.replace("__", "/"): text for name, text in parts.items()})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command(command, None, arguments)
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


def test_charts_and_comments_are_read_and_the_rest_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = '<row r="1"><c r="A1"><v>7</v></c></row>'
    parts = {"xl__charts__chart1.xml": CHART, "xl__comments1.xml": COMMENTS}
    others = {"xl__media__image1.png": "x", "xl__embeddings__a.docx": "x"}
    file = tmp_path / "ferries.xlsx"
    file.write_bytes(with_parts(sheet(rows), **parts, **others))
    found = read(capsys, file)
    assert place_of(found, "2024 | Holm: 48210 | Vik: 7300") == "chart 1, row 3"
    assert place_of(found, "Counted by hand.") == "comment on B2"
    lost = {one["what"]: one["count"] for one in found["not_read"]}
    assert lost == {"pictures": 1, "embedded documents": 1}


def test_a_form_has_what_was_filled_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "form.pdf"
    file.write_bytes(FORM)
    found = read(capsys, file)
    assert place_of(found, "Name of owner: Anna Berg") == "form on page 1"
    assert "boats: 12" in found["text"] and "remarks" not in found["text"]


def test_on_a_terminal_it_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ferries.docx"
    body = "<w:p><w:r><w:t>The ferry runs daily.</w:t></w:r></w:p>"
    file.write_bytes(with_parts(word(body), **{"word__media__a.png": "x"}))
    status, out, _ = run(capsys, str(file), "--format", "text")
    assert status == 0 and "The ferry runs daily." in out
    assert out.endswith("Not read: 1 pictures: only text is read\n")


def test_a_page_is_read_as_runs_read_it(
    web: PageServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    web.answers["/page"] = reply(html())
    monkeypatch.setenv("RESEARCH_AGENT_ALLOW_PRIVATE_NETWORK", "1")
    status, out, _ = run(capsys, f"{web.url}/page", "--format", "json")
    assert status == 0 and json.loads(out)["title"] == "A page"
    web.answers["/gone"] = reply(b"", "404 Not Found")
    status, out, err = run(capsys, f"{web.url}/gone")
    assert (status, out) == (1, "") and "404" in err


@pytest.mark.parametrize(("name", "status"), [("none.pdf", 2), ("a.xyz", 2), ("broken.pdf", 1)])
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
    file = tmp_path / "all.zip"
    body = "<w:p><w:r><w:t>The ferry runs daily.</w:t></w:r></w:p>"
    parts = {"a/b.docx": word(body), "notes.txt": "Nobody came.", "x.bin": "?", "c.pdf": "%PDF-"}
    file.write_bytes(packed(parts))
    found = read(capsys, file)
    assert place_of(found, "The ferry runs daily.") == "a/b.docx"
    assert place_of(found, "Nobody came.") == "notes.txt"
    assert [one["what"] for one in found["not_read"]] == ["c.pdf", "x.bin"]
    file = tmp_path / "post.mbox"
    mails = [f"From a Mon Nov 23\n{MAIL.format(word)}\n" for word in ("report", "invoice")]
    file.write_text("".join(mails))
    assert place_of(read(capsys, file), "The invoice is due") == "message 2, message"


def test_subtitles_are_read_at_their_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "talk.vtt"
    file.write_text(
        "WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Anna>The pier is old.</v>\n\n"
        "2\n00:00:03.000 --> 00:00:05.000\nThe pier is old.\nIt was built in 1902.\n"
    )
    found = read(capsys, file)
    assert found["text"] == "The pier is old.\nIt was built in 1902."
    assert place_of(found, "It was built") == "00:00:03"
