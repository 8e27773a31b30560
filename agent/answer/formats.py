"""The formats that people read: text, Markdown and HTML.

Each is a writer of trees: `text.py`, `markdown.py`, `html_page.py`. What is shown is said once, in
`shown.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent.answer.html import element
from agent.answer.html_page import write_html
from agent.answer.markdown import write_markdown
from agent.answer.shown import show_answer, show_on_terminal, show_report

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.check import CheckResult
    from agent.answer.report import ReportAnswer
    from agent.answer.schema import Answer, Citation
    from agent.state import Claim

BASE_STYLE, PAGE_STYLE = "agent.answer/base.css", "agent.answer/page.css"


def to_text(answer: Answer, width: int = 100, *, has_colour: bool = False) -> str:
    """The answer as lines of at most `width` columns; "" for an error, which is told elsewhere."""
    from agent.answer.text import write_text

    page = show_on_terminal(answer)
    return "" if answer.error else write_text(page, width, has_colour=has_colour)


def to_terminal(answer: Answer) -> str:
    """The text in the width of the terminal under standard output, with colours if it has some."""
    from agent.answer.text import WIDTH, measure_terminal

    width, has_colour = measure_terminal()
    return to_text(answer, min(width, WIDTH), has_colour=has_colour)


def to_check_terminal(result: CheckResult) -> str:
    """The check in the width of the terminal under standard output, with colours if it has some."""
    from agent.answer.text import measure_terminal

    width, has_colour = measure_terminal()
    return to_check_text(result, width, has_colour=has_colour)


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


def to_check_text(result: CheckResult, width: int = 10_000, *, has_colour: bool = False) -> str:
    """The check as text: the marked report, then what does not hold."""
    from agent.answer.shown_check import show_check_on_terminal
    from agent.answer.text import write_text

    return write_text(show_check_on_terminal(result), width, has_colour=has_colour)


def to_check_docx(result: CheckResult, body: bytes | None) -> bytes:
    """The report with comments. `body`: the file that was checked; none for a journal's."""
    from agent.answer.check_docx import write_check_docx

    is_docx = result.report is not None and result.report.form == "docx"
    return write_check_docx(result, body or b"" if is_docx else b"")


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
