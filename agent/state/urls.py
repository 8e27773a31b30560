"""One name for one page, and the addresses that a text names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

#: Parameters that tell who sent the reader and never what the page shows.
TRACKING = frozenset(
    "fbclid gclid dclid gbraid wbraid msclkid yclid igshid mc_cid mc_eid twclid ttclid "
    "_hsenc _hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid srsltid ref_src".split()
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
#: Addresses in a text: with letters of any script, and in ASCII alone, since Chinese goes on after
#: one without a blank.
_ADDRESSES = (
    re.compile(r"(?i:https?)://[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、]+"),
    re.compile(r"(?i:https?)://[^\s<>\"'`\x7f-\U0010ffff]+"),
)
_OPENING = {")": "(", "]": "["}


def canonical(url: str) -> str:
    """The key under which a page is searched, read and cited once.

    Two spellings of one address share it: scheme, `www.`, default port, trailing slash, fragment,
    tracking parameters, order of parameters and percent-encoding do not count. It is a key, not an
    address: read the URL that the search gave. A string that is no URL is its own key.
    """
    from w3lib.url import canonicalize_url  # 40 ms that `--help` does not need

    try:
        parts = urlsplit(canonicalize_url(url.strip()))
        if parts.scheme not in DEFAULT_PORTS:
            return urlunsplit(parts)
        host = parts.netloc.lower().removesuffix(DEFAULT_PORTS[parts.scheme]).removeprefix("www.")
        query = [
            pair
            for pair in parse_qsl(parts.query, keep_blank_values=True)
            if pair[0].lower() not in TRACKING and not pair[0].lower().startswith("utm_")
        ]
        return urlunsplit(("https", host, parts.path.rstrip("/"), urlencode(query), ""))
    except ValueError:
        return url.strip()


def addresses(text: str) -> Iterator[str]:
    """The web addresses in a text, without the punctuation around them.

    One that letters of another script follow at once is given with them and without.
    """
    found = (address for pattern in _ADDRESSES for address in pattern.findall(text))
    yield from dict.fromkeys(map(_trimmed, found))


def _trimmed(address: str) -> str:
    """An address without the end of a sentence, or a bracket that opened before it."""
    while (last := address[-1]) in ".,;:!?" or _unopened(last, address):
        address = address[:-1]
    return address


def _unopened(last: str, address: str) -> bool:
    return last in _OPENING and address.count(last) > address.count(_OPENING[last])


def scheme(url: str) -> str:
    """The scheme of a URL in lower case; "" for what is none."""
    try:
        return urlsplit(url.strip()).scheme.lower()
    except ValueError:
        return ""
