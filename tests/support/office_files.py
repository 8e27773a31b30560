"""Documents that tests make: ZIP archives, Office Open XML, PDF."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

RELATIONS = '<Relationships xmlns="r">{}</Relationships>'
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATION = f'<Relationship Id="{{}}" Type="{_KIND}/{{}}" Target="{{}}"/>'
NAMES = 'xmlns:w="w" xmlns:r="r"'


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def office(main: str, body: str, links: Mapping[str, str] | None = None, **others: str) -> bytes:
    """A document of Office Open XML with one part, and others by the kind of their relation."""
    folder, _, name = main.partition("/")
    related = [RELATION.format(f"r{kind}", kind, f"{kind}.xml") for kind in others]
    for key, url in (links or {}).items():
        link = RELATION.format(key, "hyperlink", url)
        related.append(link.replace("/>", ' TargetMode="External"/>'))
    return packed(
        {
            "_rels/.rels": RELATIONS.format(RELATION.format("r1", "officeDocument", main)),
            main: body,
            f"{folder}/_rels/{name}.rels": RELATIONS.format("".join(related)),
            **{f"{folder}/{kind}.xml": text for kind, text in others.items()},
        }
    )


def word(body: str, head: str = "", links: Mapping[str, str] | None = None, **others: str) -> bytes:
    """A document of Word with these paragraphs."""
    text = f"{head}<w:document {NAMES}><w:body>{body}</w:body></w:document>"
    return office("word/document.xml", text, links, **others)


def sheet(rows: str, workbook: str = "", **others: str) -> bytes:
    """A workbook of one sheet with the name Prices."""
    sheets = '<sheets><sheet name="Prices" r:id="rworksheet"/></sheets>'
    return office(
        "xl/workbook.xml",
        f'<workbook xmlns="x" xmlns:r="r">{workbook}{sheets}</workbook>',
        worksheet=f'<worksheet xmlns="x"><sheetData>{rows}</sheetData></worksheet>',
        **others,
    )


def pdf(
    content: str,
    image: bytes = b"",
    links: Sequence[tuple[float, str]] = (),
    title: str = "",
) -> bytes:
    """A PDF of one page with Helvetica, and with a grey image of 1700 by 2200 pixels.

    A link covers the whole line at its height.
    """
    annotations = "".join(
        f"<</Type/Annot/Subtype/Link/Rect[48 {y - 4} 560 {y + 12}]/A<</S/URI/URI({url})>>>>"
        for y, url in links
    )
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Annots[%s]"
        b"/Resources<</Font<</F 5 0 R>>/XObject<</I 6 0 R>>>>>>" % annotations.encode(),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content.encode()),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/XObject/Subtype/Image/Width 1700/Height 2200/ColorSpace/DeviceGray"
        b"/BitsPerComponent 8/Filter/FlateDecode/Length %d>>stream\n%s\nendstream"
        % (len(image), image),
        b"<</Title(%s)>>" % title.encode(),
    ]
    objects = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, part) for n, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + objects + b"trailer<</Root 1 0 R/Info 7 0 R>>\n%%EOF"


def shown(*lines: tuple[float, float, str]) -> str:
    """What draws these texts at these places on a page."""
    texts = (f"BT /F 10 Tf {x} {y} Td ({text}) Tj ET" for x, y, text in lines)
    return "\n".join(texts)
