"""A check as comments in a DOCX: the user's own, or one that is made of the report's text.

The user's file is the one that was read as the report: the reader's limits held for its text, and
those of this module hold for all its parts.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from agent.answer.check import CheckResult, ClaimCheck
from agent.answer.docx_comments import Remark, add_comments, make_document, quote_line
from agent.answer.shown_check import describe_claim, describe_source
from agent.characters import strip_controls
from agent.errors import UsageError

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
    remarks, report = list(_list_remarks(result)), result.report
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


def _list_remarks(result: CheckResult) -> Iterator[Remark]:
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
