"""Documents of each format: text, tables and places come out; what is hostile does nothing.

The files in `tests/documents` were made of one text by pandoc 2.17 and LibreOffice 7.4.
"""

from __future__ import annotations

import json
import zlib
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.answer.formats import to_html, to_markdown
from agent.answer.schema import Answer
from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, PlacedText
from agent.documents.formats.grid import format_rows
from agent.documents.pdf.ocr import find_tesseract
from agent.documents.reading import BodyText, UnreadablePage, read_body
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.settings import parse_settings
from agent.state.places import find_place, to_places
from tests.support.office_files import packed, pdf, shown, word

DOCUMENTS = Path(__file__).parent / "files"
FILES = sorted(DOCUMENTS.iterdir())


def read(name: str) -> BodyText:
    file = DOCUMENTS / name
    return read_body(file.read_bytes(), suffix=file.suffix)


def place_of(found: BodyText, words: str) -> str:
    return find_place(found.text, to_places(found.marks), found.text.index(words))


def test_what_is_no_cell_of_a_notebook_is_left_out() -> None:
    told = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"text": ["2"]}, 8]}
    cells = [{"cell_type": "markdown", "source": ["# Sums"]}, told, 7]
    book = json.dumps({"nbformat": 4, "cells": cells})
    found = read_body(book.encode(), suffix=".ipynb")
    assert found.text == "# Sums\n1 + 1\n2"
    assert [place for _, place, _ in found.marks] == ["cell 1", "cell 2", "output of cell 2"]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (["Item Price", "Tea 3"], ["Item | Price", "Item: Tea | Price: 3"]),
        (["Item Price", "", "Tea 3"], ["Item | Price", "Tea | 3"]),  # no head of another table
        (["Owner Ann", "Rent 84cr", "Size 56m²"], ["Owner | Ann", "Rent | 84cr", "Size | 56m²"]),
        (["List", "Item Price", "Tea 3"], ["List", "Item | Price", "Item: Tea | Price: 3"]),
        (["x y z", "", "A B C", "d e f"], ["x | y | z", "A | B | C", "d | e | f"]),
    ],
)
def test_a_row_names_its_columns_if_the_head_is_plain(rows: list[str], lines: list[str]) -> None:
    numbered = [(n, row.replace("-", "").split(" ")) for n, row in enumerate(rows, 1) if row]
    assert [line for _, line in format_rows(numbered)] == lines


@pytest.mark.parametrize("delimiter", ",;\t|")
def test_a_table_as_text_is_read_whatever_parts_its_cells(delimiter: str) -> None:
    rows = ("Item,Price", '"Tea, green","3"', "", "'Open \" quote,4", "")
    body = "\r\n".join(rows).replace(",", delimiter)
    found = read_body(body.encode("utf-16") if delimiter == ";" else body.encode(), suffix=".csv")
    assert place_of(found, "green") == "row 2" and "Price: 3" in found.text
    assert place_of(found, "quote") == "row 4"


def test_a_message_is_read_with_what_is_attached_to_it() -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("xberg")
    message = EmailMessage()
    message["From"], message["Subject"] = "Ann <ann@a.example>", "Offer for Tea ☕"
    message.set_content("Plain words.")
    message.add_alternative("<p>Words in HTML.</p>", subtype="html")
    attached = {"prices.xlsx": (DOCUMENTS / "libreoffice.xlsx").read_bytes(), "x.bin": b"\0\1"}
    for name, data in attached.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    found = read_body(message.as_bytes(), suffix=".eml")
    assert found.title == "Offer for Tea ☕" and "Words in HTML" not in found.text
    assert place_of(found, "Plain words.") == "message"
    assert place_of(found, "Region: South") == "attachment prices.xlsx, sheet t, row 8"
    assert "attachment x.bin" in {what for what, _, _ in found.not_read}


def test_records_of_json_are_lines_and_items_are_places() -> None:
    value = [{"name": "Tea", "price": 3}, {"name": "Coffee", "tags": [{"a": None}], "size": [1, 2]}]
    found = read_body(json.dumps(value).encode(), suffix=".json")
    assert "name: Coffee" in found.text and "tags[0]: a: null" in found.text
    assert place_of(found, "Coffee") == "item 2"
    assert read_body(b"{broken", suffix=".json").text == "{broken"


def test_lines_of_code_keep_their_form_and_their_numbers() -> None:
    found = read_body(b"\n\ndef f():\r\n\n    return 1\n", suffix=".py")
    assert "\n    return 1" in found.text and place_of(found, "return") == "line 5"


def test_a_page_that_is_an_image_is_read_or_named() -> None:
    import pypdfium2

    drawn = pypdfium2.PdfDocument(pdf(shown((72, 600, "The harbour has seven quays."))))[0]
    bitmap = drawn.render(scale=200 / 72, grayscale=True)
    rows = bytes(bitmap.buffer)
    grey = b"".join(rows[n * bitmap.stride :][: bitmap.width] for n in range(bitmap.height))
    assert (bitmap.width, bitmap.height) == (1700, 2200)
    scan = pdf("q 612 0 0 792 0 0 cm /I Do Q", zlib.compress(grey))
    if find_tesseract() is None:
        with pytest.raises(UnreadablePage, match="install tesseract-ocr"):
            read_body(scan, suffix=".pdf")
    else:
        found = BodyReader().read(Body(scan, suffix=".pdf"))  # within the limits of a worker
        assert found.text == "The harbour has seven quays."
        assert place_of(found, "seven") == "page 1"


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (word("<w:sdt>" * 3000 + "</w:sdt>" * 3000), ".docx", "damaged"),
        (packed({"a.txt": "words"}), ".docx", "ZIP archive"),
        (b"{\\rtf1 " + b"{" * 100_000, ".rtf", "no text"),
        (b"just words", ".eml", "not a message"),
        (b"", ".json", "no text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_what_cannot_be_read_says_why(data: bytes, suffix: str, reason: str) -> None:
    if suffix in (".docx", ".rtf"):
        pytest.importorskip("xberg")
    with pytest.raises(UnreadablePage, match=reason):
        read_body(data, suffix=suffix)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES), st.integers(0, 60_000), st.binary(max_size=30), st.integers(0, 40))
def test_damage_is_read_or_named(file: Path, position: int, damage: bytes, removed: int) -> None:
    data = file.read_bytes()
    position %= len(data)
    try:
        found = read_body(data[:position] + damage + data[position + removed :], suffix=file.suffix)
    except UnreadablePage as error:
        assert str(error)
    else:
        assert found.text and all(0 <= mark[0] < len(found.text) for mark in found.marks)


@given(st.lists(st.tuples(st.text(max_size=9), st.sampled_from("abc"), st.booleans()), max_size=12))
def test_the_place_of_each_part_is_where_it_was_put(parts: list[tuple[str, str, bool]]) -> None:
    text = PlacedText(Body(b""))
    expected: list[tuple[int, str]] = []
    for n, (part, place, is_line) in enumerate(parts, 5):
        before = text._length
        if is_line:
            text.add_line(part, place, n)
        else:
            text.add(part, place)
        if text._length > before:
            expected.append((before + bool(before), f"{place} {n}" if is_line else place))
    if not expected:
        return
    found = text.finish()
    places = to_places(found.marks)
    assert [find_place(found.text, places, at) for at, _ in expected] == [p for _, p in expected]


def test_what_a_crash_leaves_of_a_document_has_its_places() -> None:
    parts: list[tuple[str, str, list[tuple[int, str, int | None]]]] = []
    data = (DOCUMENTS / "libreoffice.pdf").read_bytes()
    whole = read_body(data, suffix=".pdf", on_part=lambda *part: parts.append(part))  # type: ignore[arg-type]
    assert "".join(text for _, text, _ in parts) == whole.text
    assert tuple(mark for _, _, marks in parts for mark in marks) == whole.marks
    assert BodyReader().read(Body(data, suffix=".pdf")) == whole


def test_a_citation_names_the_place_of_its_quote(tmp_path: Path) -> None:
    pytest.importorskip("xberg")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "manual.epub").write_bytes((DOCUMENTS / "pandoc.epub").read_bytes())
    (folder / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    run = parse_settings({"CACHE_DIR": str(tmp_path / "cache"), "RUNS_DIR": str(tmp_path / "runs")})
    run = run.model_copy(update={"corpus": folder, "offline": True, "llm": ("extractive",)})
    answer = research("How many quays does the harbour of Norrvik have?", run).answer()
    assert isinstance(answer, Answer)
    cited = next(one for one in answer.citations if "seven quays" in one.quote)
    assert cited.place == "section Introduction"
    (old,) = (warning for warning in answer.warnings if "old.doc" in warning)
    assert "save it as .docx" in old
    assert cited.place in to_html(answer) and cited.place in to_markdown(answer)
    value = answer.model_dump(mode="json")
    assert audit_answer(value)["ok"]
    value["citations"][answer.citations.index(cited)]["place"] = "chapter 7"
    (failure, *_) = audit_answer(value)["failures"]
    assert failure["where"].endswith(".place")


@pytest.mark.parametrize("suffix", [".docx", ".pdf", ".rtf"])
def test_a_file_with_the_suffix_of_another_format_is_read_or_named(suffix: str) -> None:
    text = "The lighthouse of Lund was built in 1822."
    assert read_body(text.encode(), suffix=suffix).text == text
    page = f"<!doctype html><title>Lund</title><body><p>{text}</p><table><tr><td>A<td>B</table>"
    assert text in read_body(page.encode(), suffix=suffix).text
    with pytest.raises(UnreadablePage, match="it is empty"):
        read_body(b" \n", suffix=suffix)
    with pytest.raises(UnreadablePage, match="damaged: it is no"):
        read_body(bytes(range(256)) * 20, suffix=suffix)


def test_notes_and_names_of_pieces_of_subtitles_are_not_said() -> None:
    cues = "WEBVTT\n\n{}00:01.000 --> 00:02.000\n<v Ann>Good <b>morning</b>.\n\nNOTE not said\n"
    cues += "\nname-2\n00:03.000 --> 00:04.000\nIt rains.\n"
    read = read_body(cues.format("name-1\n").encode("utf-32"), suffix=".vtt")
    assert read.text == "Ann: Good morning.\nIt rains."
    assert [place for _, place, _ in read.marks] == ["00:01", "00:03"]
    srt = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\nTwo.\n"  # a blank line may be said
    assert read_body(srt.encode(), suffix=".srt").text == "One.\nTwo."
