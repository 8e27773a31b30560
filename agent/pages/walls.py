"""Pages that are no page: captchas, consent and login walls, calls for JavaScript."""

from __future__ import annotations

import re

#: A wall shows few words; whoever writes about captchas writes more.
FEW = 1500  # characters
_MARKS = (
    (
        "a captcha",
        r"id=[\"']?captcha-form|g-recaptcha|h-captcha|cf-turnstile|px-captcha|"
        r"captcha-delivery\.com|/_Incapsula_Resource|cf_chl_opt|cdn-cgi/challenge-platform",
    ),
    ("a call for JavaScript", r"/httpservice/retry/enablejs"),
    ("a consent page", r"consent\.(?:google|youtube|yahoo)\.com/|action=[\"'][^\"']*/consent\b"),
)


def wall(body: bytes, title: str, text: str) -> str | None:
    """What kind of wall a page is; None for a page to read."""
    if len(text) > FEW:
        return None
    html = body[:300_000].decode("utf-8", "replace")
    for name, pattern in _MARKS:
        if re.search(pattern, html, re.IGNORECASE):
            return name
    return None
