"""The formats of an answer; those that people read are writers of one tree.

The writers are `text.py`, `markdown.py` and `html_page.py`. What is shown is said once, in
`shown.py`. Which formats there are, all doors know from `agent/shell/formats.py`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from agent.answer.html import element
from agent.answer.html_page import write_body, write_html
from agent.answer.markdown import write_markdown
from agent.answer.shown import show_answer, show_on_terminal, show_report

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.check import CheckResult
    from agent.answer.report import ReportAnswer
    from agent.answer.schema import Answer, Citation
    from agent.file_formats import FormatName
    from agent.state import Claim

BASE_STYLE, PAGE_STYLE = "agent.answer/base.css", "agent.answer/page.css"
PDF_STYLE = "agent.answer/pdf.css"


def write_answer(
    answer: Answer,
    name: FormatName,
    *,
    compact: bool = False,
    browser: str = "",
) -> str | bytes:
    """The answer in a format. `browser`: that a PDF is printed with.

    Raises NotConfigured and OutputFailed.
    """
    from agent.answer import bibliography
    from agent.answer.json_format import to_json, to_yaml

    writers: dict[FormatName, Callable[[], str | bytes]] = {
        "json": lambda: to_json(answer, compact=compact),
        "yaml": lambda: to_yaml(answer),
        "markdown": lambda: to_markdown(answer),
        "html": lambda: to_html(answer),
        "text": lambda: to_text(answer),
        "docx": lambda: to_docx(answer),
        "pdf": lambda: to_pdf(answer, browser),
        "bibtex": lambda: bibliography.to_bibtex(answer),
        "ris": lambda: bibliography.to_ris(answer),
        "csl-json": lambda: bibliography.to_csl_json(answer),
    }
    return writers[name]()


def to_text(answer: Answer, width: int = 100, *, has_colour: bool = False) -> str:
    """The answer as lines of at most `width` columns; "" for an error, which is told elsewhere."""
    from agent.answer.text import write_text

    page = show_on_terminal(answer)
    return "" if answer.error else write_text(page, width, has_colour=has_colour)


def to_terminal(answer: Answer) -> str:
    """The text as the terminal under standard output shows it; "" for an error."""
    from agent.answer.text import WIDTH, write_on_terminal

    return "" if answer.error else write_on_terminal(show_on_terminal(answer), WIDTH)


def to_markdown(answer: Answer) -> str:
    """The answer as a document. Each `[n]` links to the first quote of its source."""
    return write_markdown(show_answer(answer))


def report_to_markdown(
    report: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]
) -> str:
    """The report alone, each `[n]` as text: `report.markdown` of the answer object."""
    return write_markdown(show_report(report, claims, citations), is_linked=False)


def to_html(answer: Answer) -> str:
    """The answer as a page. Each `[n]` links to its source on the page, which links to the web."""
    return write_html(show_answer(answer), BASE_STYLE, PAGE_STYLE)


def to_check_text(result: CheckResult, *, for_terminal: bool = False) -> str:
    """The check as text: the marked report, then what does not hold."""
    from agent.answer.shown_check import show_check_on_terminal
    from agent.answer.text import write_on_terminal, write_text

    page = show_check_on_terminal(result)
    return write_on_terminal(page) if for_terminal else write_text(page, 10_000)


def to_docx(answer: Answer) -> bytes:
    """The page as a document of Word, without its navigation."""
    from html4docx import HtmlToDocx

    out = io.BytesIO()
    HtmlToDocx().parse_html_string(write_body(show_answer(answer))).save(out)
    return out.getvalue()


def to_pdf(answer: Answer, browser: str = "") -> bytes:
    """The page on paper, its links alive."""
    from agent.answer.printed import print_html

    return print_html(write_html(show_answer(answer), BASE_STYLE, PAGE_STYLE, PDF_STYLE), browser)


def to_html_frame(answer: Answer) -> str:
    """The page in a frame of another page, where neither changes the other; its links open.

    A mark shows the quotes of its source when it is pointed at.
    """
    page = write_html(show_answer(answer), BASE_STYLE, PAGE_STYLE, has_hover=True)
    return element(
        "iframe",
        srcdoc=page,
        sandbox="allow-popups allow-top-navigation-by-user-activation",
        style="width:100%;height:32em;border:0",
    )
