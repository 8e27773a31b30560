"""Reports in every form: their sentences, the sources that each cites, and hostile reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.documents.body_text import BodyText
from agent.documents.reports.cited_sentences import cite_sentences
from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.state import CitedReport
from tests.support.office_files import NAMES, pdf, shown, word

ADDRESSES = (
    "https://one.example/a_b_c/Ampere(2015)",
    "https://two.example/ellen?id=1&page=2",
    "https://www.three.example/costs.pdf",
)
TITLES = ("The Ampere - a ferry", "Ellen | Two", "Costs of ships: a study")
#: Sentences with the sources of each; some end with what looks like a mark, and is none.
PLANTED: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("The MF Ampere entered service on the Sognefjord in 2015.", (1,)),
    ("It cost 21.3 million euros (2.4 for its batteries), as section 3.2 says.", (3,)),
    ("The difference was significant at p < .05 in both trials.", (1, 2)),
    ("Most captains like the new ships of the fjords.", ()),
    ("Ellen followed her, with version 2.4 of the software.", (2,)),
    ("All of them were repaired in 2020.", (2, 3)),
    ("Ferries of 120 m² were built by the yards “Fjellstrand” and “Søby”.", (3,)),
)
CUTS = (0, 4, 7)  # the sentences of each section


def sections(mark: str) -> list[str]:
    """The prose of each section; `mark` has a place for the number of a source."""
    return [
        " ".join(_mark(text, sources, mark) for text, sources in PLANTED[start:end])
        for start, end in zip(CUTS, CUTS[1:], strict=False)
    ]


def _mark(text: str, sources: tuple[int, ...], mark: str) -> str:
    marks = [mark.replace("N", str(n)) for n in sources]
    if mark == "N":  # digits behind the stop
        return text + ",".join(marks)
    if mark.startswith("^"):  # before the stop
        return text[:-1] + "".join(mark[1:].replace("N", str(n)) for n in sources) + text[-1]
    return f"{text}{mark[0] if marks and mark[0] == ' ' else ''}{''.join(m.strip() for m in marks)}"


def report(mark: str, entry: str, heading: str = "") -> str:
    """A report in two sections and a list, whose entries have N, T and U for number, title, URL."""
    first, second = sections(mark)
    lines = (
        entry.replace("N", str(n)).replace("T", title).replace("U", url) + "\n"
        for n, (title, url) in enumerate(zip(TITLES, ADDRESSES, strict=True), 1)
    )
    return f"# Ferries\n\n{first}\n\n## More\n\n{second}\n\n{heading}" + "".join(lines)


def by_section() -> str:
    """Each section with a list of its own, numbered from 1."""
    made = []
    for start, end in zip(CUTS, CUTS[1:], strict=False):
        used = sorted({n for _, sources in PLANTED[start:end] for n in sources}, reverse=True)
        own = {n: k for k, n in enumerate(used, 1)}
        prose = (_mark(t, tuple(own[n] for n in s), "^ [N]") for t, s in PLANTED[start:end])
        lines = (f"[{k}] {TITLES[n - 1]}: {ADDRESSES[n - 1]}" for n, k in own.items())
        made.append(" ".join(prose) + "\n\n" + "\n".join(lines))
    return "\n\n## More\n\n".join(made)


def without_list(mark: str) -> str:
    text = report("^ [N]", "N").rpartition("\n\n")[0]
    given = {str(n): mark.replace("N", str(n)).replace("U", u) for n, u in enumerate(ADDRESSES, 1)}
    return re.sub(r"\[(\d)\]", lambda one: given[one[1]], text)


FORMS = {
    "Claude's API": report(" [N]", "[N] U - T", "参考文献：\n"),
    "footnotes": report("[^N]", "[^N]: T. U"),
    "set high": report("<sup>N</sup>", "N. T. U", "### Quellen\n\n"),
    "lenticular": report("^【N†source】", "N. U", "**来源**\n\n"),
    "by section": by_section(),
    "links": without_list("([N](U))"),
}


def cites(read: CitedReport) -> dict[str, set[str]]:
    urls = {source.n: source.url for source in read.sources}
    return {one.text: {urls[n] for n in one.sources} for one in read.sentences}


WANTED = {text: {ADDRESSES[n - 1] for n in sources} for text, sources in PLANTED}


@pytest.mark.parametrize("form", FORMS)
def test_one_report_says_the_same_in_the_form_of_each_product(form: str) -> None:
    found = cites(read_report(FORMS[form].encode(), "report.md"))
    assert found == WANTED


FIRST, SECOND = (text for text, _ in PLANTED[:2])
A, B = ADDRESSES[:2]
SHORT, OTHER = FIRST[:-1], SECOND[:-1]


def test_a_saved_page_says_the_same_as_its_markdown() -> None:
    """Numbers set high without a link, and the list of sources as one of HTML."""
    lines = (f'<li><a href="{u}">{t}</a></li>' for t, u in zip(TITLES, ADDRESSES, strict=True))
    prose = (f"<p>{text.replace('p <', 'p &lt;')}</p>" for text in sections("<sup>N</sup>"))
    page = f"<html><body><main>{''.join(prose)}<ol>{''.join(lines)}</ol></main></body></html>"
    assert cites(read_report(page.encode())) == WANTED


ONE, TWO = "https://one.example/ampere", "https://two.example/ellen"
LINKED = {"The ship entered service in 2015.": {ONE}, "It cost 21.3 million euros.": {TWO}}


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def as_linked_docx() -> bytes:
    """A footnote, a link as an element, and a link as a field."""
    pytest.importorskip("xberg")
    note = f'<w:footnote w:id="7"><w:p>{run(f"Ampere. {ONE}")}</w:p></w:footnote>'
    begin, separate, end = (
        f'<w:r><w:fldChar w:fldCharType="{k}"/></w:r>' for k in ("begin", "separate", "end")
    )
    field = f'{begin}<w:r><w:instrText> HYPERLINK "{TWO}" </w:instrText></w:r>{separate}'
    body = (
        f"<w:p>{run('The ship entered service in 2015.')}"
        f'<w:r><w:footnoteReference w:id="7"/></w:r>{run(" It cost 21.3 million euros ")}'
        f'<w:hyperlink r:id="r2">{run("[2]")}</w:hyperlink>{run(". They are ")}'
        f"{field}{run('all new')}{end}{run(' now.')}</w:p>"
    )
    return word(body, links={"r2": TWO}, footnotes=f"<w:footnotes {NAMES}>{note}</w:footnotes>")


def as_linked_pdf() -> bytes:
    lines = ["The ship entered service in 2015 [1].", "It cost 21.3 million euros [2]."]
    lines += ["They are all new now [2].", "References", f"[1] Ampere. {ONE}", "[2] Ellen"]
    drawn = ((50, 760 - 20 * n, line) for n, line in enumerate(lines))
    return pdf(shown(*drawn), links=[(660, TWO)])


@pytest.mark.parametrize("make", [as_linked_docx, as_linked_pdf])
def test_links_of_a_document_are_its_sources(make: Callable[[], bytes]) -> None:
    assert cites(read_report(make())) == LINKED | {"They are all new now.": {TWO}}


def annotate(text: str, *marks: tuple[str, str], unit: str = "") -> dict[str, object]:
    """A part of a Responses reply; `unit` is an encoding of which offsets count the units."""

    def offset(end: int) -> int:
        return len(text[:end].encode(unit)) // (2 if "16" in unit else 1) if unit else end

    found = [
        {"type": "url_citation", "url": url, "title": "A page", "start_index": offset(at),
         "end_index": offset(at + len(mark))}
        for mark, url in marks if (at := text.index(mark)) >= 0
    ]  # fmt: skip
    return {"type": "output_text", "text": text, "annotations": found}


def respond(part: dict[str, object]) -> dict[str, object]:
    return {"output": [{"type": "web_search_call"}, {"type": "message", "content": [part]}]}


def block(text: str, *urls: str) -> dict[str, object]:
    cited = [{"type": "web_search_result_location", "url": url, "title": "x"} for url in urls]
    return {"type": "text", "text": text, **({"citations": cited} if cited else {})}


LINKS = annotate(f"{FIRST} ([one]({A}))\n\n{SECOND}", (f"([one]({A}))", A), (SECOND, B))
BYTES = annotate(f"Fährtest. {FIRST} {SECOND}", (FIRST, A), (SECOND, B), unit="utf-8")
LISTED = f"{FIRST[:-1]} [cite: 1]. {SECOND} [cite: 2]\n\n**Sources:**\n1. [one]({A})\n2. [two]({B})"
PAIR = {FIRST: {A}, SECOND: {B}}


def as_grounding() -> dict[str, object]:
    """As Gemini's generateContent: segments by offsets in bytes."""
    text = f"Fährtest. {FIRST} {SECOND}"
    supports = []
    for n, sentence in enumerate((FIRST, SECOND)):
        start = len(text[: text.index(sentence)].encode())
        segment = {"startIndex": start, "endIndex": start + len(sentence.encode())}
        supports.append({"segment": segment, "groundingChunkIndices": [n]})
    chunks = [{"web": {"uri": url, "title": "x"}} for url in (A, B)]
    grounding = {"groundingChunks": chunks, "groundingSupports": supports}
    content = {"parts": [{"text": text}]}
    return {"candidates": [{"content": content, "groundingMetadata": grounding}]}


NUMBERED = f"{SHORT}[1]. {SECOND}[2] Most captains like the new ships."
ROWS = [{"id": 1, "url": A, "title": "a"}, {"id": 2, "url": B, "title": "b"}]
ANSWERS: dict[str, tuple[str, dict[str, object]]] = {
    "links": ("openai", respond(LINKS)),
    "Messages": ("claude", {"type": "message", "content": [
        block("I will search for this first:"), {"type": "server_tool_use", "input": {}},
        block(FIRST, A), block(" "), block(SECOND[:-1], B), block(".")]}),
    "Interactions": ("gemini", {"steps": [{"type": "thought", "content": []},
        {"type": "model_output", "content": [BYTES]}]}),
    "Interactions with a list": ("gemini", {"outputs": [{"type": "text", "text": LISTED}]}),
    "generateContent": ("gemini", as_grounding()),
    "Perplexity": ("openai", {"choices": [{"message": {"content": NUMBERED}}],
        "citations": [A, B]}),
    "own": ("answer", {"schema_version": "2", "answer": NUMBERED, "citations": ROWS}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_of_a_service_says_the_same(name: str) -> None:
    form, value = ANSWERS[name]
    read = read_report(json.dumps(value).encode(), "answer.json")
    assert read.form == form
    assert {text: urls for text, urls in cites(read).items() if urls} == PAIR


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f"{FIRST} \ue200cite\ue202turn9view0\ue202turn1search2\ue201 {SECOND}", ("raw", 2, 2)),
        (f"{FIRST} citeturn9view0turn1search2 {SECOND}", ("raw", 2, 2)),
        (f"{FIRST}:contentReference[oaicite:0]{{index=0}} {SECOND}", ("raw", 1, 1)),
        (f"{FIRST}[1][2] {SECOND}[3]", ("brackets", 3, 3)),
        (f"{FIRST} [1] {SECOND} [2]\n\n[1] {A}\n", ("brackets", 2, 1)),
        (f"{FIRST} It is so [sic] in [2020].", ("", 0, 0)),
    ],
)
def test_marks_without_an_address_are_counted(text: str, counts: tuple[str, int, int]) -> None:
    read = read_report(text.encode())
    assert (read.marked_by, read.marks, read.unaddressed) == counts
    assert bool(read.advice) == bool(counts[2])
    assert {FIRST, SECOND} & set(cites(read))


def test_context_and_scope_are_those_of_the_report() -> None:
    text = (
        f"{FIRST} {SECOND} [1]\n\nThe costs of all ships were:\n\n- 21 million for her [1]\n\n"
        f"| Ship | Built |\n|---|---|\n| Ampere | 2015 [1] |\n\n## Sources\n\n"
        f"| Year | Passengers |\n|---|---|\n| 2015 | 21,300 |\n\n[1] {A}\n"
    )
    read = read_report(text.encode())
    first, second, item, row, table = read.sentences
    assert not first.sources and second.scope == (first.start, second.end)
    assert item.context == "The costs of all ships were:" and item.sources == (1,)
    assert (row.context, row.sources) == ("Ship | Built", (1,))
    assert (table.text, table.context) == ("2015 | 21,300", "Year | Passengers")


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("It is a new ship ([A](URL), [B](TWO)).", [A, B]),
        ("It is a new ship.[^a]\n\n[^a]: The yard, URL", [A]),
        ("It is a new ship [1-2].\n\nReferences\n\n- [1] URL\n- [2] TWO\n", [A, B]),
        ("It is a new ship (doi:10.1000/xyz.12).", ["https://doi.org/10.1000/xyz.12"]),
        ("It is a new ship [\\[1\\]][1].\n\n[1]: <URL#:~:text=It,is.>\n", [A]),
    ],
)
def test_what_a_sentence_cites(text: str, urls: list[str]) -> None:
    read = read_report(text.replace("URL", A).replace("TWO", B).encode(), "report.md")
    assert cites(read)["It is a new ship."] == set(urls)


def test_one_page_is_one_source_however_it_is_written() -> None:
    one = "https://one.example/ampere"
    other = one.replace("https://", "http://www.") + "/?utm_source=openai"
    read = read_report(f"It is a new ship [a]({one}). It is small, too [b]({other}).".encode())
    assert [one.sources for one in read.sentences] == [(1,), (1,)] and len(read.sources) == 1


def test_offsets_count_in_the_file_and_code_headings_and_lists_are_no_sentences() -> None:
    text = (
        "---\ntitle: Ships\n---\n# A heading\n\n```\ncode says 5 [1].\n```\n\n"
        "The **MF&nbsp;Ampere** is \\*new\\* [1].\nIt *is* small.\n\n[1] A title. https://a.example\n"
    )
    read = read_report(text.encode(), "report.md")
    first, second = read.sentences
    assert text[first.start : first.end].startswith("The **MF&nbsp;Ampere")
    assert text[second.start : second.end] == "It *is* small." and read.title == "Ships"


# --- what no report may do ------------------------------------------------------------------------

WORDS = (
    "[1] [2][3] [^a] ¹ (1) .4 2.4 word Words end. 。 https://a.example/_b_ \\cite{k} | - 1. # \n "
    "【1†x】 <sup>1</sup> ``` [1](u) (Berg, 2015) \ue200cite\ue202t1\ue201 [ ] ( ) * _ \\ é 🚢 {"
)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=60), st.sampled_from(["", " "]))
def test_offsets_point_at_the_text_and_no_words_are_lost(words: list[str], joint: str) -> None:
    text = joint.join(words)
    report = read_text(text)
    assert list(report.sentences) == sorted(report.sentences, key=lambda one: one.start)
    for one in report.sentences:
        assert 0 <= one.start < one.end <= len(report.text) and one.text
        first = next(filter(str.isalnum, one.text))
        assert first in report.text[one.start : one.end]
    assert report.unaddressed <= report.marks


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([text for text, _ in PLANTED]), min_size=1, unique=True), st.data())
def test_no_sentence_is_lost_whatever_marks_stand_behind_it(
    told: list[str], data: st.DataObject
) -> None:
    marks = [data.draw(st.sampled_from(["", " [1]", "[1][2]", "<sup>2</sup>", "1"])) for _ in told]
    text = " ".join(one + mark for one, mark in zip(told, marks, strict=True))
    report = read_text(f"{text}\n\n[1] One. {A}\n[2] Two. {B}\n")
    shown = " ".join(one.text for one in report.sentences)
    assert all(one.rstrip(".") in shown for one in told)
    assert not any("example" in one.text for one in report.sentences)


def read_text(text: str) -> CitedReport:
    return cite_sentences(BodyText("", text, form="markdown"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [b"", b"PK\x03\x04 broken", b"%PDF-1.4 broken", b'{"a": 1}', b'{"a": ' + b"[" * 100_000],
)
def test_what_is_no_report_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(UsageError, match="cannot be read|no sentence"):
        read_report(body, "it")


@pytest.mark.parametrize(
    "value",
    [
        {"candidates": [{"content": {"parts": [{"text": 5}]}, "groundingMetadata": []}]},
        {"choices": [{"message": {"content": "A text of five words.", "annotations": [{"a": 1}]}}]},
        {"output": [{"content": [{"text": "Five words are enough here.", "annotations": 5}]}]},
        {"answer": "Five words are enough here [1].", "citations": [None, 5, {"url": 5}]},
    ],
)
def test_any_json_is_read_or_refused(value: dict[str, Any]) -> None:
    with suppress(UsageError):
        read_report(json.dumps(value).encode(), "a.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[1](" * 20_000,
        "<ol>" + "<li>a b c" * 50_000,
        "It is a new ship. " + "[1]" * 3_000_000,
        "It is a new ship. " + "[1] https://a.example\nx\n" * 400_000,
        "It is a new ship. " + "\\cite{" * 1_500_000,
    ],
    ids=lambda text: text[-8:],
)
def test_hostile_text_ends_before_the_deadline_of_the_worker(text: str) -> None:
    """In quadratic time it would not."""
    try:
        read_report(text.encode())
    except UsageError as error:
        assert "took too long" not in error.message
