"""One name for one page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

#: Parameters that tell who sent the reader and never what the page shows.
TRACKING = frozenset(
    "fbclid gclid dclid gbraid wbraid msclkid yclid igshid mc_cid mc_eid twclid ttclid "
    "_hsenc _hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid srsltid ref_src".split()
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


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
