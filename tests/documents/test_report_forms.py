"""One report in the forms in which products give it, and what no report may do to its reader."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.documents.body_text import BodyText
from agent.documents.reports.cited_sentences import cite_sentences
from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.state import CitedReport

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


def report(mark: str, entry: str, heading: str = "", joint: str = "\n") -> str:
    """A report in two sections and a list, whose entries have N, T and U for number, title, URL."""
    first, second = sections(mark)
    lines = (
        entry.replace("N", str(n)).replace("T", title).replace("U", url)
        for n, (title, url) in enumerate(zip(TITLES, ADDRESSES, strict=True), 1)
    )
    return f"# Ferries\n\n{first}\n\n## More\n\n{second}\n\n{heading}{joint.join(lines)}\n"


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


def copied() -> str:
    """As ChatGPT copies deep research: several numbers a line, each address once more below."""
    text = report(" [N]", "[N] [1N] T\n\nU\n\nU", joint="\n\n")
    return text.replace("[3] [13] Costs", "[3] https://www.three.example/costs.pdf Costs")


def exported() -> str:
    """As Gemini exports deep research: escaped, digits behind stops, days of access."""
    entry = "N. T, accessed April 24, 2025, [U](U)"
    return (
        report("N", entry, "#### **Works cited**\n\n")
        .replace(" - ", " \\- ")
        .replace("p <", "p \\<")
    )


def without_list(mark: str) -> str:
    text = report("^ [N]", "N").rpartition("\n\n")[0]
    given = {str(n): mark.replace("N", str(n)).replace("U", u) for n, u in enumerate(ADDRESSES, 1)}
    return re.sub(r"\[(\d)\]", lambda one: given[one[1]], text)


FORMS = {
    "plain": report("^ [N]", "[N] T. U", "## Sources\n\n", "\n\n"),
    "ChatGPT, copied": copied(),
    "Claude's API": report(" [N]", "[N] U - T", "参考文献：\n"),
    "Gemini, exported": exported(),
    "an answer engine, copied": report("^[N]", "[N] U", "Citations:\n"),
    "footnotes": report("[^N]", "[^N]: T. U"),
    "set high": report("<sup>N</sup>", "N. T. U", "### Quellen\n\n"),
    "lenticular": report("^【N†source】", "N. U", "**来源**\n\n"),
    "by section": by_section(),
    "links": without_list("([N](U))"),
    "bare addresses": without_list("U"),
}


def cites(read: CitedReport) -> dict[str, set[str]]:
    urls = {source.n: source.url for source in read.sources}
    return {one.text: {urls[n] for n in one.sources} for one in read.sentences}


WANTED = {text: {ADDRESSES[n - 1] for n in sources} for text, sources in PLANTED}


@pytest.mark.parametrize("form", FORMS)
def test_one_report_says_the_same_in_the_form_of_each_product(form: str) -> None:
    found = cites(read_report(FORMS[form].encode(), "report.md"))
    assert found == WANTED


def as_docx() -> bytes:
    """As a product exports it: numbers set high as runs, a numbered list of bare addresses."""
    pytest.importorskip("xberg")
    document = pytest.importorskip("docx").Document()
    prose = document.add_paragraph()
    for text, sources in PLANTED:
        prose.add_run(text)
        prose.add_run(",".join(map(str, sources))).font.superscript = True
        prose.add_run(" ")
    document.add_paragraph("Works cited")
    for title, url in zip(TITLES, ADDRESSES, strict=True):
        document.add_paragraph(f"{title}, accessed May 4, 2025, {url}", style="List Number")
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def as_html() -> bytes:
    """As a browser saves it: numbers set high without a link, the list as one."""
    prose = sections("<sup>N</sup>")
    lines = (f'<li><a href="{u}">{t}</a></li>' for t, u in zip(TITLES, ADDRESSES, strict=True))
    body = "".join(f"<p>{text.replace('p <', 'p &lt;')}</p>" for text in prose)
    return f"<html><body><main>{body}<ol>{''.join(lines)}</ol></main></body></html>".encode()


@pytest.mark.parametrize("make", [as_docx, as_html])
def test_a_document_says_the_same_as_its_markdown(make: Callable[[], bytes]) -> None:
    assert cites(read_report(make())) == WANTED


FIRST, SECOND = (text for text, _ in PLANTED[:2])
A, B = ADDRESSES[:2]


SHORT, OTHER = FIRST[:-1], SECOND[:-1]
LIST = f"\n\n[1] One. {A}\n[2] Two. {B}\n"
#: Ways of single products, each with the sentence FIRST of A and SECOND of B.
WAYS = {
    "labels of a search": f"{FIRST}[^1_1] {SECOND}[^1_2]\n\n⁂\n\n[^1_1]: {A}\n\n[^1_2]: {B}\n",
    "links without text": f"{FIRST}[]({A}) {SECOND}[]({B})\n",
    "labels with a word": f"{SHORT}[citation:1]. {SECOND}[citation:2]{LIST}".replace(
        "\n[", "\n[citation:"
    ),
    "labels in hats": f"{SHORT} [^1^]. {SECOND} [^2^]\n\n[^1^] One. {A}\n[^2^] Two. {B}\n",
    "escaped": f"{FIRST} [1] {SECOND} [2]{LIST}".replace("[", "\\[").replace("]", "\\]"),
    "a list as a table": f"{FIRST} [1] {SECOND} [2]\n\n"
    f"| # | Source | URL |\n|-|-|-|\n| 1 | One | {A} |\n| 2 | Two | {B} |\n",
    "marks for themselves": f"{FIRST}\n\n[1]\n\n{SECOND}\n\n[2]\n\n"
    f"Sources\n\n1. One\n{A}\n2. Two\n{B}\n",
    "no blanks": f"{FIRST}[1]{SECOND}[2]{LIST}",
    "keys with letters": f"{FIRST} [Ber15] {SECOND} [Ell19]\n\n[Ber15] {A}\n[Ell19] Two. {B}\n",
    "names of sites": f"<main><p>{FIRST} <a href='{A}'>Site</a> {SECOND} <a href='{B}'>Other+1</a>"
    f"</p><p>{SECOND} <a href='{B}'>Other</a></p></main>",
    "marks behind code": f"{FIRST}\n\n```\nx [2]\n``` [1]\n\n{SECOND} [2]{LIST}",
    "numbered prose": f"What to know:\n\n1. {SHORT} {A}\n2. {OTHER} {B}.\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_ways_of_single_products(way: str) -> None:
    read = read_report(WAYS[way].encode(), "saved.html" if "<main>" in WAYS[way] else "copied.md")
    assert {text.rstrip("."): urls for text, urls in cites(read).items()} == {
        SHORT: {A},
        OTHER: {B},
    }


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


HOSTS = f"🚢🚢 It is so. {FIRST} (one.example) {SECOND[:-1]} (two.example)."
MARKS = ("(one.example)", A), ("(two.example)", B)
SIGNS = annotate(f"{FIRST[:-1]}【1】. {SECOND} 【2】", ("【1】", A), ("【2】", B))
LINKS = annotate(f"{FIRST} ([one]({A}))\n\n{SECOND}", (f"([one]({A}))", A), (SECOND, B))
BYTES = annotate(f"Fährtest. {FIRST} {SECOND}", (FIRST, A), (SECOND, B), unit="utf-8")
LISTED = f"{FIRST[:-1]} [cite: 1]. {SECOND} [cite: 2]\n\n**Sources:**\n1. [one]({A})\n2. [two]({B})"
PAIR = {FIRST: {A}, SECOND: {B}}
ANSWERS: dict[str, tuple[str, dict[str, object], dict[str, set[str]]]] = {
    "hosts": ("openai", respond(annotate(HOSTS, *MARKS)), PAIR),
    "signs": ("openai", respond(SIGNS), PAIR),
    "links": ("openai", respond(LINKS), PAIR),
    "Messages": ("claude", {"type": "message", "content": [
        block("I will search for this first:"), {"type": "server_tool_use", "input": {}},
        block(FIRST, A), block(" "), block(SECOND[:-1], B), block(".")]}, PAIR),
    "Interactions": ("gemini", {"steps": [{"type": "thought", "content": []},
        {"type": "model_output", "content": [BYTES]}]}, PAIR),
    "Interactions with a list": ("gemini", {"outputs": [{"type": "text", "text": LISTED}]}, PAIR),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_of_a_service_says_the_same(name: str) -> None:
    form, value, wanted = ANSWERS[name]
    read = read_report(json.dumps(value).encode(), "answer.json")
    assert read.form == form
    assert {text.lstrip("🚢 "): urls for text, urls in cites(read).items() if urls} == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{FIRST} \ue200cite\ue202turn9view0\ue202turn1search2\ue201 {SECOND}", ("raw", 2, 2)),
        (f"{FIRST} citeturn9view0turn1search2 {SECOND}", ("raw", 2, 2)),
        (f"{FIRST}:contentReference[oaicite:0]{{index=0}} {SECOND}", ("raw", 1, 1)),
        (f"{FIRST}[1][2] {SECOND}[3]", ("brackets", 3, 3)),
        (f"{FIRST} [1] {SECOND} [2]\n\n[1] {A}\n", ("brackets", 2, 1)),
        (f"{FIRST} It is so [sic] in [2020].", ("", 0, 0)),
    ],
)
def test_marks_without_an_address_are_told(text: str, told: tuple[str, int, int]) -> None:
    read = read_report(text.encode())
    assert (read.marked_by, read.marks, read.unaddressed) == told
    assert bool(read.advice) == bool(told[2])
    assert {FIRST, SECOND} & set(cites(read))


def test_context_and_scope_are_told_and_not_assumed() -> None:
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
    "piece",
    ["[1]", "[1]\n", "1.\n", "(A, 2015)", "\\cite{", "[1] https://a.example\nx\n", " ", "| "],
)
def test_ten_megabytes_of_marks_are_read_or_refused(piece: str) -> None:
    """In quadratic time the test would not end."""
    with suppress(UsageError):
        assert read_report(b"It is a new ship. " + piece.encode() * (10_000_000 // len(piece)))
