"""A page of ours as a PDF, printed by the Chromium of this machine."""

from __future__ import annotations

from pathlib import Path

from agent.errors import NotConfigured, OutputFailed, ReadFailed
from agent.pages.browser import REMEDY, Browser, find_browser

MAX_SECONDS = 60.0  # of printing


def require_browser(named: Path | None) -> str:
    """The browser that prints: the one that is named, else one that is installed.

    Raises NotConfigured where there is none.
    """
    if program := find_browser(named):
        return program
    raise NotConfigured("A PDF is printed by a Chromium, and none is installed.", REMEDY)


def print_html(page: str, program: str = "") -> bytes:
    """The PDF of an HTML page: no script of it runs, and it loads nothing.

    `program` is the browser; "" for one that is installed. Raises NotConfigured, OutputFailed.
    """
    browser = Browser(program or require_browser(None), "llm-research-agent")
    try:
        return browser.print_page(page, "The PDF", MAX_SECONDS)
    except ReadFailed as error:
        raise OutputFailed(error.message, "Use --format html and print it.") from None
    finally:
        browser.close()
