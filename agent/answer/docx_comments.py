"""A DOCX of a text, and remarks as comments at its sentences: of an answer and of a check."""

from __future__ import annotations

import copy
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.answer import phrases
from agent.answer.check import CheckResult, ClaimCheck
from agent.answer.markdown import write_markdown
from agent.answer.schema import Answer, Citation
from agent.answer.shown import order_claims, show_answer
from agent.answer.shown_check import describe_claim, describe_source
from agent.characters import strip_controls
from agent.errors import UsageError
from agent.evidence.citing import render_claim
from agent.evidence.ranking import rank_texts
from agent.state import Claim
from agent.state.sanitizing import sanitize_line

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph
    from docx.text.run import Run
    from markdown_it.token import Token

AUTHOR, INITIALS = "LLM Research Agent", "LRA"
LONGEST_QUOTE = 1000  # characters
PREFIX = 24  # letters by which words are found that are not whole in the document
STYLES = {
    "bullet_list_open": "List Bullet",
    "ordered_list_open": "List Number",
    "blockquote_open": "Quote",
}


class Remark(NamedTuple):
    """What is said of a sentence. `words`: the ways in which the document may write it."""

    words: Sequence[str]
    comment: str


def add_comments(document: Document, remarks: Iterable[Remark]) -> bytes:
    """The file of the document with its comments. The remarks are in the order of their words.

    Those whose words are not found are one comment at its beginning.
    """
    words, lost = _Words.of(document), []
    for remark, span in reversed(list(words.locate(remarks))):
        if span is None:
            lost.append(f"{remark.words[-1]}\n{remark.comment}")
        else:
            document.add_comment(words.cut(*span), remark.comment, AUTHOR, INITIALS)
    if lost and words.runs:
        told = "\n".join(("Sentences that were not found in this document:", *reversed(lost)))
        document.add_comment(words.runs[:1], told, AUTHOR, INITIALS)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def quote_line(quote: str) -> str:
    """A quote as a line of a comment."""
    return f"“{sanitize_line(quote, LONGEST_QUOTE)}”"


# --- where the words stand ------------------------------------------------------------------------


class _Words(NamedTuple):
    """The letters and digits of a document, and the run and the offset of each."""

    runs: list[Run]
    letters: str
    places: list[tuple[int, int]]

    @classmethod
    def of(cls, document: Document) -> _Words:
        from docx.oxml.ns import qn
        from docx.text.run import Run

        owner = next(document.iter_inner_content(), None)
        parts = document.element.body.iter(qn("w:r"))
        runs = [Run(part, owner) for part in parts] if owner else []
        found = [
            (letter, n, offset)
            for n, run in enumerate(runs)
            for offset, char in enumerate(run.text)
            for letter in _letters(char)
        ]
        return cls(runs, "".join(x for x, _, _ in found), [(n, at) for _, n, at in found])

    def locate(self, remarks: Iterable[Remark]) -> Iterator[tuple[Remark, tuple[int, int] | None]]:
        """The remarks, each with the first and last letter of its words, if they were found."""
        at = 0
        for remark in remarks:
            whole = list(map(_letters, remark.words))
            for wanted in (*whole, whole[-1][:PREFIX]):
                start = self.letters.find(wanted, at) if wanted else -1
                if start >= 0:
                    at = start + len(wanted)
                    yield remark, (start, at - 1)
                    break
            else:
                yield remark, None

    def cut(self, first: int, last: int) -> list[Run]:
        """The first and the last run of these letters, cut out of longer ones.

        What stands behind them may have been cut before; what stands before them not yet.
        """
        (n, start), (m, end) = self.places[first], self.places[last]
        text = self.runs[m].text
        tail = re.match(r"[^\w\s]*", text[end + 1 :])
        _split(self.runs[m], end + 1 + (tail.end() if tail else 0))
        begin = _split(self.runs[n], start)
        return [begin, begin if n == m else self.runs[m]]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _split(run: Run, at: int) -> Run:
    """The part of a run from an offset on; the run itself keeps what stands before.

    A run that holds more than text, such as a break or a drawing, stays whole.
    """
    from docx.oxml.ns import qn
    from docx.text.run import Run

    kinds = [part.tag for part in run._r if part.tag != qn("w:rPr")]
    if not 0 < at < len(run.text) or kinds != [qn("w:t")]:
        return run
    rest = Run(copy.deepcopy(run._r), run._parent)
    run._r.addnext(rest._r)
    run.text, rest.text = run.text[:at], run.text[at:]
    return rest


# --- a document of a text -------------------------------------------------------------------------


def make_document(title: str, text: str) -> Document:
    """A document of a text, which is read as Markdown."""
    import docx
    from markdown_it import MarkdownIt

    document, text = docx.Document(), strip_controls(text)
    document.core_properties.title = sanitize_line(title, 200)
    document.core_properties.author = document.core_properties.comments = ""
    rows: list[list[Token]] = []
    styles: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.nesting == 1:
            styles.append(_style_of(token, styles))
            rows += [[]] if token.type == "tr_open" else []
        elif token.nesting == -1:
            styles.pop()
            if token.type == "table_close":
                _add_table(document, rows)
                rows = []
        elif token.type == "inline" and rows:
            rows[-1].append(token)
        elif token.type in ("inline", "fence", "code_block", "html_block"):
            style = next(filter(None, reversed(styles)), None)
            _add_words(document.add_paragraph(style=style), token)
    return document


def _style_of(token: Token, outer: list[str]) -> str:
    """The paragraph style of a block; "" for that of the block around it."""
    if token.type == "heading_open":
        return f"Heading {token.tag[1:]}"
    depth = sum(style.startswith("List") for style in outer)
    style = STYLES.get(token.type, "")
    return style + ("", " 2", " 3")[min(depth, 2)] if style.startswith("List") else style


def _add_table(document: Document, rows: list[list[Token]]) -> None:
    table = document.add_table(len(rows), max(map(len, rows)), "Table Grid")
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, token in zip(row.cells, cells, strict=False):
            _add_words(cell.paragraphs[0], token)


def _add_words(paragraph: Paragraph, token: Token) -> None:
    """The words of a block with their weight; behind those of a link its address."""
    marks: dict[str, int] = {"strong": 0, "em": 0}
    links: list[str] = []
    for part in token.children or (token,):
        name, _, way = part.type.partition("_")
        if name in marks:
            marks[name] += 1 if way == "open" else -1
        elif part.type == "link_open":
            links.append(str(part.attrs.get("href", "")))
        elif part.type == "link_close":
            url = links.pop()
            paragraph.add_run("" if paragraph.text.endswith(url) else f" ({url})")
        else:
            run = paragraph.add_run(" " if name in ("softbreak", "hardbreak") else part.content)
            run.bold, run.italic = bool(marks["strong"]) or None, bool(marks["em"]) or None


# --- an answer -----------------------------------------------------------------------------------


MOST_QUOTES = 3  # of a source at one sentence
NEAR = 0.5  # of the nearness to the sentence that the nearest quote has


def write_answer_docx(answer: Answer) -> bytes:
    """The answer as it is shown, with a comment at each sentence that cites."""
    page = show_answer(answer)
    document = make_document(page.title, write_markdown(page, is_linked=False))
    return add_comments(document, _answer_remarks(answer))


def _answer_remarks(answer: Answer) -> Iterator[Remark]:
    by_source = phrases.group_by_source(answer.citations)
    for claim in order_claims(answer):
        lines = [
            line for n in claim.citations for line in _list_quotes(claim, by_source.get(n, ()))
        ]
        if lines:
            verdict = phrases.VERDICT_LABELS.get(claim.verdict, "confirmed")
            comment = strip_controls("\n".join((verdict, *lines)))
            shown = render_claim(claim)
            cells = phrases.read_cells(shown)[-1:] if claim.form == "row" else []
            yield Remark((shown, *cells, claim.text), comment)


def _list_quotes(claim: Claim, cited: Sequence[Citation]) -> Iterator[str]:
    """A source, and those of its quotes that are nearest to a sentence, each with its address."""
    yield from (f"[{one.id}] {phrases.shown_title(one)} {one.url}" for one in cited[:1])
    nearness = rank_texts([one.quote for one in cited], claim.text)
    ranked = sorted(zip(nearness, cited, strict=True), key=lambda pair: -pair[0])
    for near, one in ranked[:MOST_QUOTES]:
        if near >= ranked[0][0] * NEAR:
            yield quote_line(one.quote)
            yield from [one.link] * (one.link != one.url)


# --- a check -------------------------------------------------------------------------------------


MAX_UNPACKED = 100_000_000  # bytes of all parts of the user's file
#: What python-docx raises of a file that it cannot take apart.
DAMAGES = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    SyntaxError,
    OSError,
    zipfile.BadZipFile,
)


def write_check_docx(result: CheckResult, body: bytes = b"") -> bytes:
    """The report with a comment at each claim. `body`: the user's DOCX. Raises UsageError."""
    remarks, report = list(_check_remarks(result)), result.report
    if not body:
        title, text = (report.title, report.text) if report else ("", "")
        return add_comments(make_document(title, text), remarks)
    import docx
    from docx.opc.exceptions import OpcError

    try:
        with zipfile.ZipFile(io.BytesIO(body)) as parts:
            if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED:
                raise ValueError("it is too large")
        return add_comments(docx.Document(io.BytesIO(body)), remarks)
    except (*DAMAGES, OpcError) as error:
        fault = f"No comments can be put into this DOCX: {str(error)[:200]}."
        raise UsageError(fault, "Use --format html.") from None


def _check_remarks(result: CheckResult) -> Iterator[Remark]:
    text = result.report.text if result.report else ""
    for claim in sorted(result.claims, key=lambda one: one.start):
        yield Remark((text[claim.start : claim.end], claim.text), _describe(claim, result))


def _describe(claim: ClaimCheck, result: CheckResult) -> str:
    """The verdict, the quote that decides, and the sources of a claim, a line each."""
    quote = [quote_line(claim.quote)] if claim.quote else []
    numbers = [claim.source] if claim.source else claim.sources
    sources = (one for one in result.sources if one.id in numbers)
    pages = (f"[{s.id}] {s.title or s.url} ({describe_source(s)[1]}) {s.url}" for s in sources)
    return strip_controls("\n".join((describe_claim(claim), *quote, *pages)))
