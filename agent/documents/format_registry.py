"""The table of formats: how each is recognized, and which module reads it.

A user's file is recognized by its suffix, a page of the web by its declared type or the end of its
URL. First bytes that are a format's own mark overrule both.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from posixpath import splitext
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from agent.documents import sniff
from agent.documents.body_text import Body, BodyText, UnreadablePage
from agent.documents.formats.jats import is_jats

_OPEN = "application/vnd.oasis.opendocument."
#: What installs a package that an extra has.
_DOCUMENTS = "pip install 'llm-research-agent[documents]'"
EXTRAS = {"xberg": _DOCUMENTS, "openpyxl": _DOCUMENTS}


class Format(NamedTuple):
    """A format, as a row of the table. `reader`: a module and its function. `needs`: packages."""

    name: str
    mark: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    reader: str
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """The packages that are needed and not installed."""
        return [package for package in self.needs if find_spec(package) is None]

    def read(self, source: Body) -> BodyText:
        """Title and text of a body. Raises UnreadablePage."""
        if missing := self.missing():
            remedy = "; ".join(EXTRAS[one] for one in missing if one in EXTRAS)
            fault = f"{', '.join(missing)} is not installed, which reads {self.name}"
            fault += f": {remedy}" if remedy else ""
            raise UnreadablePage(fault, "unsupported")
        module, _, function = self.reader.partition(":")
        return cast(Callable[[Body], BodyText], getattr(import_module(module), function))(source)


_CODE = (
    "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp cs swift rb php pl pm "
    "r jl lua sh bash zsh ps1 bat sql html5 css scss less vue svelte yaml yml toml ini cfg conf "
    "properties env tf proto graphql gradle groovy dart ex exs erl hs clj lisp el vb fs m mm asm s "
    "tex bib diff patch cmake mk dockerfile log"
)
#: The most frequent first. Columns: name; `mark` where every file begins with the same bytes,
#: `text` where only its name or type distinguishes it from other text; packages; reader; suffixes;
#: media types.
_TABLE = """
Markdown; text; markdown_it; rendered_markdown:read_markdown; md markdown; \
  text/markdown text/x-markdown
text;; ; plain_text:read_text; txt text rst adoc org;
HTML;; lxml trafilatura; html.reader:read_html; html htm xhtml;
PDF; mark; pypdfium2; pdf.reader:read_pdf; pdf;
Word (DOCX); mark; xberg; formats.office:read_office; docx docm dotx dotm;
PowerPoint (PPTX); mark; xberg; formats.office:read_office; pptx pptm ppsx potx;
Excel (XLSX); mark; openpyxl; formats.spreadsheet:read_workbook; xlsx xlsm xltx xltm;
OpenDocument (ODT, ODS, ODP); mark; xberg; formats.office:read_office; \
  odt ott ods ots odp otp; open:text open:spreadsheet open:presentation
EPUB; mark; xberg; formats.office:read_office; epub; application/epub+zip
CSV and TSV; text;; formats.delimited:read_delimited; csv tsv tab; \
  text/csv text/tab-separated-values application/csv
Rich Text (RTF); mark; xberg; formats.office:read_office; rtf;
JSON; text;; formats.structured:read_json; json geojson jsonld; \
  application/json application/ld+json application/geo+json text/json
Jupyter notebook; text;; formats.structured:read_json; ipynb; application/x-ipynb+json
e-mail (EML), page with its parts (MHT); text;; formats.mail:read_mail; eml mht mhtml; \
  message/rfc822 multipart/related
mailbox (mbox); text;; formats.bundles:read_mailbox; mbox; application/mbox
subtitles; text;; formats.structured:read_subtitles; vtt srt; text/vtt application/x-subrip
ZIP of documents; mark; lxml; formats.bundles:read_zip; zip;
JATS; mark; lxml; formats.jats:read_jats; nxml;
XML and feeds;;; plain_text:read_xml; xml rss atom;
source code; text;; formats.structured:read_code; CODE; \
  text/x-python text/javascript application/javascript application/yaml
Office 97 (DOC, XLS, PPT), Outlook; mark; xberg; formats.office:read_office; \
  doc dot xls xlt ppt pps msg;
picture (PNG, JPEG, TIFF); mark;; pdf.ocr:read_picture; png jpg jpeg tif tiff;
"""


def _read_row(row: str) -> Format:
    name, mark, needs, reader, suffixes, types = (cell.strip() for cell in row.split(";"))
    dotted = (f".{suffix}" for suffix in suffixes.replace("CODE", _CODE).split())
    whole = types.replace("open:", _OPEN).split()
    reader = f"agent.documents.{reader}" if reader else ""
    return Format(name, mark, tuple(dotted), tuple(whole), reader, tuple(needs.split()))


FORMATS = tuple(map(_read_row, _TABLE.strip().splitlines()))
_PLAIN_PAGE = Format("text", "", (), (), "agent.documents.plain_text:read_plain_page")

_BY_SUFFIX = {suffix: one for one in FORMATS for suffix in one.suffixes}
_BY_MEDIA_TYPE = {kind: one for one in FORMATS for kind in one.media_types}
SUFFIXES = frozenset(_BY_SUFFIX)  # of the files of a folder that are looked into
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office 97, and objects in newer documents
#: The folder that each kind of Office Open XML has in its ZIP archive.
_FOLDERS = {"word/": ".docx", "ppt/": ".pptx", "xl/": ".xlsx"}


def read_source(source: Body) -> BodyText:
    """Title and text of a body in any format. Raises UnreadablePage."""
    found = find_format(source).read(source)
    if not found.text.strip():
        raise UnreadablePage("it has no text", "empty")
    return found


def find_format(source: Body) -> Format:
    """The format of a body. Raises UnreadablePage for one that is not known."""
    if marked := _find_marked(source):
        return marked
    named = _BY_SUFFIX.get(source.suffix)
    if named and named.mark == "mark":
        return _find_misnamed(source, named)
    # what is called .xls is often a table in HTML or in text
    return named or _find_on_web(source)


def _find_misnamed(source: Body, named: Format) -> Format:
    """The format of a file whose suffix names another: a page or a text may be called .docx.

    Raises UnreadablePage for what is empty or neither.
    """
    if not source.data.strip():
        raise UnreadablePage("it is empty", "empty")
    if source.data.startswith(_ZIP[:2]) or sniff.detect_kind(source.data) == "binary":
        raise UnreadablePage(f"it is damaged: it is not {named.name}", "invalid")
    return _find_on_web(source)


def _find_marked(source: Body) -> Format | None:
    """The format whose mark the first bytes are; None where they are no mark."""
    if source.data.startswith(_ZIP):
        return _find_in_archive(source)
    head = source.data[:1024]
    begins = {".doc": head.startswith(OLE), ".rtf": head.startswith(b"{\\rtf")}
    begins[".pdf"] = head.lstrip().startswith(b"%PDF-")
    begins[".nxml"] = is_jats(source.data)
    begins[".png"] = bool(source.suffix) and head.startswith(_PICTURES)  # none of the web
    return next((_BY_SUFFIX[suffix] for suffix, begun in begins.items() if begun), None)


def _find_in_archive(source: Body) -> Format | None:
    """The format of a ZIP archive, by its parts. A page that is another archive is none.

    Raises UnreadablePage for a user's file that is damaged, or another archive.
    """
    from agent.documents.formats.xml_archive import Archive

    try:
        archive = Archive(source.data)
        declared = archive.declared_type()
    except UnreadablePage:
        if source.suffix:
            raise
        return None
    if found := _BY_MEDIA_TYPE.get(declared):
        return found
    for folder, suffix in _FOLDERS.items() if "_rels/.rels" in archive.names else ():
        if any(name.startswith(folder) for name in archive.names):
            return _BY_SUFFIX[suffix]
    if not source.suffix:
        return None
    if source.suffix == ".zip":
        return _BY_SUFFIX[".zip"]
    raise UnreadablePage("it is a ZIP archive, and not a known kind of document", "unsupported")


def _find_on_web(source: Body) -> Format:
    """The format of a page by its kind, what is declared, and its URL. Raises UnreadablePage."""
    kind = sniff.detect_kind(source.data, source.content_type)
    declared = source.content_type.split(";")[0].strip().lower()
    if kind == "binary":
        named = declared[:50] or "of no declared type"
        raise UnreadablePage(f"it is neither a page nor a PDF nor text ({named})", "unsupported")
    if kind in ("html", "xml", "pdf"):
        return _BY_SUFFIX[f".{kind}"]
    declared_formats = (_BY_MEDIA_TYPE.get(declared), _BY_SUFFIX.get(_suffix_of(source.url)))
    known = (one for one in declared_formats if one and one.mark == "text")
    return next(known, _BY_SUFFIX[".json"] if kind == "json" else _PLAIN_PAGE)


def _suffix_of(url: str) -> str:
    try:
        return splitext(urlsplit(url).path)[1].lower()
    except ValueError:
        return ""
