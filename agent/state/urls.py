"""Web addresses: one key for all spellings of a URL, and the URLs in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

#: Query parameters that record where a visitor came from and never change what the page shows.
TRACKING_PARAMETERS = frozenset(
    "fbclid gclid dclid gbraid wbraid msclkid yclid igshid mc_cid mc_eid twclid ttclid "
    "_hsenc _hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid srsltid ref_src".split()
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
#: URLs in a text: with letters of any script, and in ASCII alone, since Chinese text after a URL
#: follows without a blank.
_URL_PATTERNS = (
    re.compile(
        r"(?i:https?)://(?:[^\s<>\"'`“”‘’«»（）【】「」《》，。；：！？、]|(?<=\w)'(?=\w))+"
    ),
    re.compile(r"(?i:https?)://(?:[^\s<>\"'`\x7f-\U0010ffff]|(?<=\w)'(?=\w))+"),
)
_OPENING_BRACKETS = {")": "(", "]": "[", "}": "{"}


@lru_cache(maxsize=1024)  # a run asks for the same pages again and again
def canonical_url(url: str) -> str:
    """The key of a page, under which it is searched, read and cited once.

    All spellings of an address have the same key. Differences in scheme, `www.`, default port,
    trailing slash, fragment, tracking parameters, order of parameters and percent-encoding do not
    count. The key is no address to fetch: use the URL of the search for that. The key of a string
    that is no URL is the string itself.
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
            if pair[0].lower() not in TRACKING_PARAMETERS and not pair[0].lower().startswith("utm_")
        ]
        return urlunsplit(("https", host, parts.path.rstrip("/"), urlencode(query), ""))
    except ValueError:
        return url.strip()


def find_urls(text: str) -> Iterator[str]:
    """The http and https URLs in a text, each once, without the punctuation around them.

    A URL directly followed by letters of another script is yielded with them and without them.
    """
    urls = (url for pattern in _URL_PATTERNS for url in pattern.findall(text))
    yield from dict.fromkeys(map(_trim_punctuation, urls))


def _trim_punctuation(url: str) -> str:
    while (last := url[-1]) in ".,;:!?" or _is_unopened_bracket(last, url):
        url = url[:-1]
    return url


def _is_unopened_bracket(char: str, url: str) -> bool:
    return char in _OPENING_BRACKETS and url.count(char) > url.count(_OPENING_BRACKETS[char])


def is_web_url(url: str) -> bool:
    """Whether a string is an http(s) URL with a host."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.hostname)


def is_under(host: str, domains: Iterable[str]) -> bool:
    """Whether a host is one of some domains, or of their subdomains."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def url_scheme(url: str) -> str:
    """The scheme of a URL in lower case; "" for a string that is no URL."""
    try:
        return urlsplit(url.strip()).scheme.lower()
    except ValueError:
        return ""


def find_host(url: str) -> str:
    """The host of a URL; "" for what has none, or is no URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def host_of(url: str) -> str:
    """The host of a URL, for messages; the URL's first 100 characters where it has none."""
    return find_host(url) or url[:100]
