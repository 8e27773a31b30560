"""The text of a PDF."""

from __future__ import annotations

PAGES = 50


def extract_pdf(body: bytes) -> tuple[str, str]:
    """Title and text. Raises ValueError."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
        text = "\n".join(
            document[i].get_textpage().get_text_bounded() for i in range(min(PAGES, len(document)))
        )
        return "", text
    except pypdfium2.PdfiumError as error:
        raise ValueError(str(error)) from None
