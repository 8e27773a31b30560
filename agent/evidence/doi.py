"""Digital object identifiers (DOI) in addresses and references."""

from __future__ import annotations

import re
from urllib.parse import unquote

SCHEME = "retraction:"  # of the address by which a run asks whether a DOI was retracted
_DOI = re.compile(r"(?<!\d)10\.\d{4,9}/[^\s?#&\"'<>]+")
_PAGES = ("/full", "/fulltext", "/abstract", "/pdf", "/epdf", "/summary", ".pdf", ".full")


def find_doi(text: str) -> str:
    """The first DOI in an address or a reference, as its registries write it; "" for none."""
    found = _DOI.search(unquote(text))
    doi = found[0].rstrip(".,;:)]}/").lower() if found else ""
    for page in _PAGES:
        doi = doi.removesuffix(page)
    return doi
