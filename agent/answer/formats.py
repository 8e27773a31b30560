"""The formats of an answer; those that people read are renderers of one document.

Which formats there are, all interfaces know from `agent/answer/file_formats.py`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from agent.answer.answer_view import show_answer, show_on_terminal, show_report
from agent.answer.check_result import CheckResult, build_check_result
from agent.answer.check_view import show_check
from agent.answer.html import Markup
from agent.answer.html_renderer import render_body, render_fragment, render_page
from agent.answer.markdown_renderer import render_markdown

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.doc import View
    from agent.answer.file_formats import FormatName
    from agent.answer.report import ReportAnswer
    from agent.answer.schema import Answer, Citation
    from agent.state import Claim

PDF_STYLE = "agent.answer/pdf.css"


def write_answer(
    answer: Answer, name: FormatName, *, compact: bool = False, browser: str = ""
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


def show(shown: Answer | CheckResult, *, is_brief: bool = False) -> View:
    """What is shown of a run: its answer, or the check that it made.

    `is_brief`: as a terminal shows it.
    """
    if isinstance(shown, CheckResult) or shown.check:
        return show_check(shown if isinstance(shown, CheckResult) else build_check_result(shown))
    return show_on_terminal(shown) if is_brief else show_answer(shown)


def to_text(answer: Answer, width: int = 100, *, has_colour: bool = False) -> str:
    """The answer as lines of at most `width` columns; "" for an error, which is shown elsewhere."""
    from agent.answer.text_renderer import render_text

    if answer.error:
        return ""
    return render_text(show(answer, is_brief=True), width, has_colour=has_colour)


def to_terminal(answer: Answer) -> str:
    """The text as the terminal under standard output shows it; "" for an error."""
    from agent.answer.text_renderer import WIDTH, render_on_terminal

    return "" if answer.error else render_on_terminal(show(answer, is_brief=True), WIDTH)


def to_markdown(answer: Answer) -> str:
    """The answer as a document. Each `[n]` links to the first quote of its source."""
    return render_markdown(show(answer))


def report_to_markdown(
    report: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]
) -> str:
    """The report alone, each `[n]` as text: `report.markdown` of the answer object."""
    return render_markdown(show_report(report, claims, citations), is_linked=False)


def to_html(shown: Answer | CheckResult) -> str:
    """The answer as a page. Each `[n]` links to its quote on the page, which links to the web.

    So is a check; its script only opens quotes and steps through problems.
    """
    return render_page(show(shown))


def to_fragment(answer: Answer, prefix: str = "") -> Markup:
    """The answer as a part of another page; its hooks are those of `html_renderer.py`.

    `prefix` is put before each id, so that several answers can be on one page.
    """
    return render_fragment(show(answer), prefix)


def to_docx(answer: Answer) -> bytes:
    """The page as a document of Word, without its navigation."""
    from html4docx import HtmlToDocx

    out = io.BytesIO()
    HtmlToDocx().parse_html_string(render_body(show(answer))).save(out)
    return out.getvalue()


def to_pdf(answer: Answer, browser: str = "") -> bytes:
    """The page on paper, its links alive."""
    from agent.answer.pdf_renderer import print_html

    return print_html(render_page(show(answer), PDF_STYLE), browser)


def check_to_text(result: CheckResult, *, for_terminal: bool = False) -> str:
    """The check as text: the report with marks, what does not hold below its line."""
    from agent.answer.text_renderer import render_on_terminal, render_text

    page = show_check(result)
    return render_on_terminal(page) if for_terminal else render_text(page, 10_000)
