"""The formats of an answer, their media types and extras: `agent/answer/formats.py` writes them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from agent.errors import NotConfigured, UsageError

FormatName = Literal[
    "json",
    "yaml",
    "markdown",
    "html",
    "text",
    "docx",
    "pdf",
    "bibtex",
    "ris",
    "csl-json",
]


class FileFormat(NamedTuple):
    """Its media type, the endings of its files, and the modules that it needs of `export`."""

    content_type: str
    suffixes: tuple[str, ...]
    modules: tuple[str, ...] = ()
    is_binary: bool = False


UTF_8 = "; charset=utf-8"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMATS: dict[FormatName, FileFormat] = {
    "json": FileFormat("application/json", (".json",)),
    "yaml": FileFormat("application/yaml", (".yaml", ".yml")),
    "markdown": FileFormat(f"text/markdown{UTF_8}", (".md",)),
    "html": FileFormat(f"text/html{UTF_8}", (".html", ".htm")),
    "text": FileFormat(f"text/plain{UTF_8}", (".txt",)),
    "docx": FileFormat(WORD, (".docx",), ("html4docx",), is_binary=True),
    "pdf": FileFormat("application/pdf", (".pdf",), is_binary=True),
    "bibtex": FileFormat(f"application/x-bibtex{UTF_8}", (".bib",)),
    "ris": FileFormat(f"application/x-research-info-systems{UTF_8}", (".ris",)),
    "csl-json": FileFormat("application/vnd.citationstyles.csl+json", (".csl.json",)),
}


def require_format(name: FormatName, out: Path | None) -> None:
    """Raises NotConfigured where a format cannot be made, UsageError where it has no place to go.

    Whether there is a browser for a PDF is asked by `agent/answer/pdf_renderer.py`.
    """
    form = FORMATS[name]
    require_extra("export", *form.modules)
    if form.is_binary and out is None and sys.stdout.isatty():
        fault = f"A {name.upper()} cannot be shown on a terminal."
        raise UsageError(fault, "Name its file with --out.")


def format_of_file(path: Path) -> FormatName:
    """The format of a file by its name; JSON where the name has none."""
    suffix = path.suffix.lower()
    return next((name for name, form in FORMATS.items() if suffix in form.suffixes), "json")


def require_extra(extra: str, *modules: str) -> None:
    """Raises NotConfigured where a module that an extra brings is not installed."""
    if absent := next((module for module in modules if find_spec(module) is None), None):
        remedy = f"Install it: pip install 'llm-research-agent[{extra}]'."
        raise NotConfigured(f"{absent} is not installed.", remedy)
