"""Reports in every form: their sentences at their offsets, and the sources that each cites."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.state import CitedReport
from tests.support.office_files import NAMES, pdf, shown, word

ONE, TWO = "https://one.example/ampere", "https://two.example/ellen"
ENTERED = "The MF Ampere entered service on the Sognefjord in 2015."
COST = "The project cost 21.3 million euros."


def cites(report: CitedReport) -> dict[str, list[str]]:
    """The addresses that each sentence cites."""
    urls = {source.n: source.url for source in report.sources}
    return {one.text: [urls[n] for n in one.sources] for one in report.sentences}


def read(text: str, name: str = "report.md") -> CitedReport:
    return read_report(text.encode(), name)


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


MARKDOWN = f"""# Ferries

{ENTERED[:-1]} [1]. {COST[:-1]} [2]. Most captains like the new ships.

## References

[1] Ampere. {ONE}

[2] Ellen. {TWO}
"""
HTML = f"""<html><head><title>Ferries</title><style>x</style></head><body><nav>A menu of links</nav>
<h1>Ferries</h1><p>{ENTERED[:-1]} <sup><a href="#n1">[1]</a></sup>. {COST[:-1]}
<a href="{TWO}">[2]</a>. Most captains like the new ships.</p>
<h2>References</h2><ol><li id="n1">Ampere. <a href="{ONE}">Open</a></li></ol></body></html>"""
WANTED = {ENTERED: [ONE], COST: [TWO], "Most captains like the new ships.": []}


def as_docx() -> bytes:
    link = f'<w:hyperlink r:id="r2">{run("[2]")}</w:hyperlink>'
    note = f'<w:footnote w:id="7">{paragraph(run(f"Ampere. {ONE}"))}</w:footnote>'
    reference = '<w:r><w:footnoteReference w:id="7"/></w:r>'
    body = paragraph(
        run(ENTERED), reference, run(f" {COST[:-1]} "), link, run(". Most captains "),
        run("like the new ships."),
    )  # fmt: skip
    notes = f"<w:footnotes {NAMES}>{note}</w:footnotes>"
    return word(body, links={"r2": TWO}, footnotes=notes)


def as_pdf() -> bytes:
    lines = [f"{ENTERED[:-1]} [1].", f"{COST[:-1]} [2].", "Most captains like the new ships."]
    lines += ["References", f"[1] Ampere. {ONE}", "[2] Ellen, in print"]
    drawn = ((50, 760 - 20 * n, line) for n, line in enumerate(lines))
    return pdf(shown(*drawn), links=[(660, TWO)])


def as_openai() -> str:
    text = f"{ENTERED} ([one.example]({ONE})) {COST} Most captains like the new ships."
    start = text.index(COST)
    annotation = {"type": "url_citation", "url": TWO, "title": "Ellen", "start_index": start}
    part = {"text": text, "annotations": [{**annotation, "end_index": start + len(COST)}]}
    return json.dumps({"output": [{"type": "message", "content": [part]}]})


def as_gemini() -> str:
    text = f"{ENTERED} {COST} Most captains like the new ships."
    chunks = [{"web": {"uri": url, "title": "x"}} for url in (ONE, TWO)]
    supports = []
    for n, sentence in enumerate((ENTERED, COST)):
        start = len(text[: text.index(sentence)].encode())
        segment = {"startIndex": start, "endIndex": start + len(sentence.encode())}
        supports.append({"segment": segment, "groundingChunkIndices": [n]})
    grounding = {"groundingChunks": chunks, "groundingSupports": supports}
    content = {"parts": [{"text": text}]}
    return json.dumps({"candidates": [{"content": content, "groundingMetadata": grounding}]})


def as_perplexity() -> str:
    text = f"{ENTERED[:-1]}[1]. {COST}[2] Most captains like the new ships."
    return json.dumps({"choices": [{"message": {"content": text}}], "citations": [ONE, TWO]})


def as_answer() -> str:
    text = f"{ENTERED[:-1]} [1]. {COST[:-1]} [2]. Most captains like the new ships."
    citations = [{"id": 1, "url": ONE, "title": "a"}, {"id": 2, "url": TWO, "title": "b"}]
    return json.dumps({"schema_version": "2", "topic": "x", "answer": text, "citations": citations})


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("markdown", MARKDOWN.encode()),
        ("html", HTML.encode()),
        ("docx", as_docx()),
        ("pdf", as_pdf()),
        ("openai", as_openai().encode()),
        ("gemini", as_gemini().encode()),
        ("openai", as_perplexity().encode()),
        ("answer", as_answer().encode()),
    ],
)
def test_one_report_says_the_same_in_every_form(form: str, body: bytes) -> None:
    if form == "docx":
        pytest.importorskip("xberg")
    report = read_report(body)  # by its content alone
    assert report.form == form
    assert cites(report) == WANTED
    for one in report.sentences:
        shown = report.text[one.start : one.end]
        assert one.text.split()[0] in shown and one.text.rstrip(".").split()[-1] in shown


@pytest.mark.parametrize(
    ("text", "sentence", "urls"),
    [
        (f"As [the yard]({ONE}) says, it is new.", "As the yard says, it is new.", [ONE]),
        (f"It is a new ship ([Ampere, 2015]({ONE})).", "It is a new ship.", [ONE]),
        (f"It is a new ship ([A]({ONE}), [B]({TWO})).", "It is a new ship.", [ONE, TWO]),
        (f"It is a new ship.[^a]\n\n[^a]: {ONE}", "It is a new ship.", [ONE]),
        (f"It is a new ship.[^a]\n\n[^a]: The yard, {ONE}", "It is a new ship.", [ONE]),
        (f"It is a new ship [1, 2].\n\n## Sources\n[1] {ONE}\n[2] B: {TWO}\n",
         "It is a new ship.", [ONE, TWO]),
        (f"It is a new ship 【2†L1-L3】.\n\n**Sources:**\n\n1. {ONE}\n2. {TWO}\n",
         "It is a new ship.", [TWO]),
        (f"It is a new ship [1-2].\n\nReferences\n\n- [1] {ONE}\n- [2] {TWO}\n",
         "It is a new ship.", [ONE, TWO]),
        (f"It is a new ship ({ONE}).", "It is a new ship.", [ONE]),
        ("It is a new ship (doi:10.1000/xyz.12).", "It is a new ship.",
         ["https://doi.org/10.1000/xyz.12"]),
        (f"| Ship | Year |\n|---|---|\n| Ampere | 2015 [1] |\n\n[1]: {ONE}\n", "Ampere | 2015",
         [ONE]),
        (f"- It is a new ship [1].\n  It is small.\n\n[1]: {ONE}\n", "It is a new ship.", [ONE]),
        ("It is a new ship [7].\n\n## Sources\n\n[1] nothing here\n", "It is a new ship.", [""]),
        (f"It is how\\_new 1 \\* 2 [\\[1\\]][1].\n\n[1]: <{ONE}#:~:text=It,is.>\n",
         "It is how_new 1 * 2.", [ONE]),
        (f"## 2015\n\nIt is a new ship.\n\n[1]\n\n## Sources\n\n[1] {ONE}\n", "It is a new ship.",
         [ONE]),
        (f"It is a ship of 2015.1 It holds 3.2 Mt.2\n\n1. A, {ONE}\n2. B, {TWO}\n",
         "It holds 3.2 Mt.", [TWO]),
        ("The law of [2020] has no source at all.", "The law of [2020] has no source at all.", []),
    ],
)  # fmt: skip
def test_what_a_sentence_cites(text: str, sentence: str, urls: list[str]) -> None:
    assert cites(read(text))[sentence] == urls


def test_one_page_is_one_source_however_it_is_written() -> None:
    other = ONE.replace("https://", "http://www.") + "/?utm_source=openai"
    report = read(f"It is a new ship [a]({ONE}). It is a small ship [b]({other}).")
    assert [one.sources for one in report.sentences] == [(1,), (1,)] and len(report.sources) == 1


def test_code_headings_front_matter_and_the_list_of_sources_are_no_sentences() -> None:
    text = "---\ntitle: Ships\n---\n# A heading\n\n```\ncode says 5 [1].\n```\n\nIt is new [1].\n"
    report = read(f"{text}\n# Sources\n\n[1] A long title of a page. {ONE}\n")
    assert cites(report) == {"It is new.": [ONE]} and report.title == "Ships"


def test_a_report_of_word_is_read_as_a_document_is() -> None:
    pytest.importorskip("xberg")
    heading = '<w:pPr><w:pStyle w:val="Heading2"/></w:pPr>'
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>It sank in 2016. </w:t></w:r>"
    begin, *ends = (
        f'<w:r><w:fldChar w:fldCharType="{k}"/></w:r>' for k in ("begin", "separate", "end")
    )
    field = f'{begin}<w:r><w:instrText> HYPERLINK "{ONE}" </w:instrText></w:r>'
    cell = "<w:tc>{}</w:tc>".format
    row = "".join(
        f"<w:tr>{cell(paragraph(run(one)))}{cell(paragraph(run(two)))}</w:tr>"
        for one, two in (("Ship", "Year"), ("Ampere", "2015"))
    )
    body = (
        paragraph(heading, run("On the ships"))
        + paragraph(hidden, run("They are "), field, ends[0], run("all new"), ends[1], run(" now."))
        + f"<w:tbl>{row}</w:tbl>"
    )
    report = read_report(word(body), "ships.docx")
    assert cites(report) == {"They are all new now.": [ONE], "Ampere | 2015": []}
    assert report.title == "On the ships"


def test_the_offsets_of_markdown_are_those_of_the_file() -> None:
    text = "Ships\n=====\n\nThe **MF&nbsp;Ampere** is \\*new\\* [1].\nIt *is* small.\n\n[1]: x\n"
    [first, second] = read(text).sentences
    assert text[first.start : first.end].startswith("The **MF&nbsp;Ampere")
    assert text[second.start : second.end] == "It *is* small."


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"PK\x03\x04 broken",
        b"%PDF-1.4 broken",
        b'{"a": 1}',
        b'{"a": ' + b"[" * 100_000,
        b"\x00\x01\x02\x03" * 100,
        b"<html><body></body></html>",
    ],
)
def test_what_is_no_report_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(UsageError, match="cannot be read|no sentence"):
        read_report(body, "it")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "[1](" * 20_000,
        '"' * 50_000,
        "{{" * 50_000 + "<ref>",
        "> " * 20_000 + "a",
        "<ref>" * 20_000,
        "<div>" * 50_000 + "a b c",
        "<ol>" + "<li>a b c" * 50_000,
        "A" * 300_000 + " [1]",
    ],
)
def test_hostile_text_ends_soon(text: str) -> None:
    """It is refused or read; the worker's deadline is never needed, which the message would say."""
    try:
        read_report(text.encode())
    except UsageError as error:
        assert "took too long" not in error.message


def test_any_json_is_read_or_refused() -> None:
    values: list[Any] = [
        {"candidates": [{"content": None}]},
        {"candidates": [{"content": {"parts": [{"text": 5}]}, "groundingMetadata": []}]},
        {"choices": [{"message": {"content": "A text of five words.", "annotations": [{"a": 1}]}}]},
        {"output": [{"content": [{"text": "Five words are enough here.", "annotations": 5}]}]},
        {"answer": "Five words are enough here [1].", "citations": [None, 5, {"url": 5}]},
        [1, 2],
    ]
    for value in values:
        try:
            read_report(json.dumps(value).encode(), "a.json")
        except UsageError as error:
            assert "cannot be read" in error.message
