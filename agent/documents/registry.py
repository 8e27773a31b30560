"""The table of formats: how each is recognized, and what takes the text out of its bytes.

A user's file is known by its suffix, a page of the web by what its server declares or by the end
of its URL. The first bytes overrule both, where a format has a mark of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from posixpath import splitext
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from agent.documents import sniff
from agent.documents.body_text import BodyText, RawBody, UnreadablePage

_FORMATS = "agent.documents.formats."
_HERE = "agent.documents."


class Format(NamedTuple):
    """A format. `reader` is the module and the function that reads it; "" where none does.

    `needs` are the packages without which it cannot be read; `remedy` is what to do instead of
    reading it, where nothing does. With `has_mark` the first bytes of every such file are the same.
    """

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    reader: str
    needs: tuple[str, ...] = ()
    remedy: str = ""
    has_mark: bool = False

    def missing(self) -> list[str]:
        """The packages that are needed and not installed."""
        return [package for package in self.needs if find_spec(package) is None]

    def read(self, source: RawBody) -> BodyText:
        """Title and text of a body. Raises UnreadablePage."""
        if not self.reader:
            raise UnreadablePage(f"it is {self.name}: {self.remedy}", "unsupported")
        if missing := self.missing():
            fault = f"{', '.join(missing)} is not installed, which reads {self.name}"
            raise UnreadablePage(fault, "unsupported")
        module, _, function = self.reader.partition(":")
        read = cast(Callable[[RawBody], BodyText], getattr(import_module(module), function))
        return read(source)


_OPEN = "application/vnd.oasis.opendocument."
_OFFICE = "application/vnd.openxmlformats-officedocument."
_CODE = (
    "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp cs swift rb php pl pm "
    "r jl lua sh bash zsh ps1 bat sql html5 css scss less vue svelte yaml yml toml ini cfg conf "
    "properties env tf proto graphql gradle groovy dart ex exs erl hs clj lisp el vb fs m mm asm s "
    "tex bib diff patch cmake mk dockerfile log"
).split()

#: Format by format, those that are asked for most first.
FORMATS: tuple[Format, ...] = (
    Format("Markdown", (".md", ".markdown"), ("text/markdown",), _HERE + "files:read_markdown"),
    Format(
        "text",
        (".txt", ".text", ".rst", ".adoc", ".org"),
        (),
        _HERE + "files:read_text",
    ),
    Format(
        "HTML",
        (".html", ".htm", ".xhtml"),
        ("text/html", "application/xhtml+xml"),
        _HERE + "html.reader:read_html",
        ("lxml", "trafilatura"),
    ),
    Format(
        "PDF",
        (".pdf",),
        ("application/pdf",),
        _HERE + "pdf.reader:read_pdf",
        ("pypdfium2",),
        has_mark=True,
    ),
    Format(
        "Word (DOCX)",
        (".docx", ".docm", ".dotx", ".dotm"),
        (_OFFICE + "wordprocessingml.document", "application/vnd.ms-word.document.macroenabled.12"),
        _FORMATS + "word:read_word",
        ("lxml",),
        has_mark=True,
    ),
    Format(
        "PowerPoint (PPTX)",
        (".pptx", ".pptm", ".ppsx", ".potx"),
        (_OFFICE + "presentationml.presentation", _OFFICE + "presentationml.slideshow"),
        _FORMATS + "slides:read_slides",
        ("lxml",),
        has_mark=True,
    ),
    Format(
        "Excel (XLSX)",
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
        (_OFFICE + "spreadsheetml.sheet", "application/vnd.ms-excel.sheet.macroenabled.12"),
        _FORMATS + "spreadsheet:read_spreadsheet",
        ("lxml",),
        has_mark=True,
    ),
    Format(
        "OpenDocument (ODT, ODS, ODP)",
        (".odt", ".ott", ".ods", ".ots", ".odp", ".otp"),
        (_OPEN + "text", _OPEN + "spreadsheet", _OPEN + "presentation"),
        _FORMATS + "open_document:read_open_document",
        ("lxml",),
        has_mark=True,
    ),
    Format(
        "EPUB",
        (".epub",),
        ("application/epub+zip",),
        _FORMATS + "epub:read_epub",
        ("lxml",),
        has_mark=True,
    ),
    Format(
        "CSV and TSV",
        (".csv", ".tsv", ".tab"),
        ("text/csv", "text/tab-separated-values", "application/csv"),
        _FORMATS + "delimited:read_delimited",
    ),
    Format(
        "Rich Text (RTF)",
        (".rtf",),
        ("application/rtf", "text/rtf"),
        _FORMATS + "rich_text:read_rich_text",
        has_mark=True,
    ),
    Format(
        "JSON",
        (".json", ".geojson", ".jsonld"),
        ("application/json", "application/ld+json", "application/geo+json", "text/json"),
        _FORMATS + "structured:read_json",
    ),
    Format(
        "Jupyter notebook",
        (".ipynb",),
        ("application/x-ipynb+json",),
        _FORMATS + "structured:read_json",
    ),
    Format("e-mail (EML)", (".eml",), ("message/rfc822",), _FORMATS + "mail:read_mail"),
    Format(
        "XML and feeds",
        (".xml", ".rss", ".atom"),
        ("application/xml", "text/xml", "application/rss+xml", "application/atom+xml"),
        _HERE + "files:read_xml",
    ),
    Format(
        "source code",
        tuple(f".{suffix}" for suffix in _CODE),
        ("text/x-python", "text/javascript", "application/javascript", "application/yaml"),
        _FORMATS + "structured:read_code",
    ),
    Format(
        "Office 97 or encrypted",
        (".doc", ".dot", ".xls", ".xlt", ".ppt", ".pps"),
        ("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
        "",
        remedy="save it as .docx, .xlsx or .pptx, without a password",
    ),
)
_PLAIN_PAGE = Format("text", (), (), _HERE + "files:read_plain_page")

_BY_SUFFIX = {suffix: one for one in FORMATS for suffix in one.suffixes}
_BY_MEDIA_TYPE = {kind: one for one in FORMATS for kind in one.media_types}
SUFFIXES = frozenset(_BY_SUFFIX)  # of the files of a folder that are looked into
#: Formats of text whose kind the bytes do not tell; Markdown of the web is read as plain text is.
_TEXTS = [one for one in FORMATS if one.reader.startswith(_FORMATS) and not one.needs]
_TEXTS_BY_SUFFIX = {suffix: one for one in _TEXTS for suffix in one.suffixes}
_TEXTS_BY_TYPE = {kind: one for one in _TEXTS for kind in one.media_types}
_PDF, _RTF = _BY_SUFFIX[".pdf"], _BY_SUFFIX[".rtf"]
_OLD_OFFICE = _BY_SUFFIX[".doc"]
_ZIP, _OLE, _RTF_MARK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf"
#: What a part of a ZIP archive says of the whole, by its name.
_MAIN_PARTS = {"word/": ".docx", "ppt/": ".pptx", "xl/": ".xlsx"}


def read_source(source: RawBody) -> BodyText:
    """Title and text of a body in any format. Raises UnreadablePage."""
    found = find_format(source).read(source)
    if not found.text.strip():
        raise UnreadablePage("it has no text", "empty")
    return found


def find_format(source: RawBody) -> Format:
    """The format of a body. Raises UnreadablePage for one that is not known."""
    marked = _find_marked(source)
    if marked:
        return marked
    named = _BY_SUFFIX.get(source.suffix)
    if named and named.has_mark:
        return _find_misnamed(source, named)
    # what is called .xls is often a table in HTML or in text
    return named if named and named.reader else _find_on_web(source)


def _find_misnamed(source: RawBody, named: Format) -> Format:
    """The format of a file whose suffix names another: a page or a text may be called .docx.

    Raises UnreadablePage for what is empty or neither.
    """
    if not source.data.strip():
        raise UnreadablePage("it is empty", "empty")
    if source.data.startswith(_ZIP[:2]) or sniff.detect_kind(source.data) == "binary":
        raise UnreadablePage(f"it is damaged: it is no {named.name}", "invalid")
    return _find_on_web(source)


def _find_marked(source: RawBody) -> Format | None:
    """The format whose mark the first bytes are; None where they are no mark."""
    data = source.data
    if data.startswith(_ZIP):
        return _find_in_archive(source)
    if data.startswith(_OLE):
        return _OLD_OFFICE
    if data.startswith(_RTF_MARK):
        return _RTF
    return _PDF if data[:1024].lstrip().startswith(b"%PDF-") else None


def _find_in_archive(source: RawBody) -> Format | None:
    """The format of a ZIP archive, by its parts. A page that is another archive is none.

    Raises UnreadablePage for a user's file that is damaged, or another archive.
    """
    from agent.documents.formats.archive import Archive, main_part

    try:
        archive = Archive(source.data)
        declared = archive.read("mimetype", 100).decode("ascii", "replace").strip()
        part = main_part(archive)
    except UnreadablePage:
        if source.suffix:
            raise
        return None
    if found := _BY_MEDIA_TYPE.get(declared.removesuffix("-template")):
        return found
    for folder, suffix in _MAIN_PARTS.items():
        if part.startswith(folder):
            return _BY_SUFFIX[suffix]
    if not source.suffix:
        return None
    raise UnreadablePage("it is a ZIP archive, and no document that is known", "unsupported")


def _find_on_web(source: RawBody) -> Format:
    """The format of a page by its kind, what is declared, and its URL. Raises UnreadablePage."""
    kind = sniff.detect_kind(source.data, source.content_type)
    declared = source.content_type.split(";")[0].strip().lower()
    if kind == "binary":
        named = declared[:50] or "of no declared type"
        reason = f"it is neither a page nor a PDF nor text ({named})"
        raise UnreadablePage(reason, "unsupported")
    if kind in ("html", "xml", "pdf"):
        return _BY_SUFFIX[f".{kind}"]
    known = _TEXTS_BY_TYPE.get(declared) or _TEXTS_BY_SUFFIX.get(_suffix_of(source.url))
    return known or (_BY_SUFFIX[".json"] if kind == "json" else _PLAIN_PAGE)


def _suffix_of(url: str) -> str:
    try:
        return splitext(urlsplit(url).path)[1].lower()
    except ValueError:
        return ""
