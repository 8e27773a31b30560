"""Interstitial pages shown instead of content: captchas, consent, login and JavaScript walls."""

from __future__ import annotations

import re

#: Characters of text above which a page is no wall. Google's captcha page has 1,000. An article
#: about captchas is longer, or matches no pattern below. Checked on the walls of data/search; no
#: false positive on data/pages and data/worldcup. Run test_walls.py after changing it.
MAX_WALL_CHARS = 1500
#: Characters of text up to which the words of a notice make a page a wall.
MAX_NOTICE_CHARS = 600
SEARCHED_BYTES = 300_000  # of the HTML, from its beginning

#: Patterns of the HTML source, which only walls match.
_MARKUP_PATTERNS = (
    (
        "a captcha",
        r"<form[^<>]{0,200}\bid=[\"']?(?:captcha|challenge)-form|captcha-delivery\.com/"
        r"|\b(?:cf_chl_opt|_cf_chl_|px-captcha|_Incapsula_Resource|distil_r_captcha)"
        r"|/sorry/index\?|/errors/validateCaptcha|anomaly-modal|bm-verify=|awswaf\.com/.{0,80}challenge",
    ),
    ("a call for JavaScript", r"/httpservice/retry/enablejs|<title>Just a moment\.\.\.</title>"),
    (
        "a consent page",
        r"<form[^<>]{0,200}\baction=[\"']?https://consent\.(?:google|youtube|yahoo)\."
        r"|https://consent\.(?:google|youtube)\.com/save|guce\.(?:yahoo|advertising|oath)\.com/consent",
    ),
)
#: Patterns of the title, or of a line at the beginning, of a page with hardly any other text.
_NOTICE_PATTERNS = (
    (
        "a captcha",
        r"(?:verify|confirm|prove)(?: that)? you(?: are|'re|’re) (?:a )?(?:not a robot|human)"
        r"|are you (?:a )?(?:robot|human)\b|our systems have detected unusual traffic"
        r"|attention required! \| cloudflare"
        r"|checking (?:if the site connection is secure|your browser)"
        r"|security check(?:point)?$|robot check|bot (?:check|verification)|human verification"
        r"|pardon our interruption|complete the security check|enter the characters you see",
    ),
    (
        "a refusal",
        r"access (?:to this page has been )?denied|you have been blocked|request blocked",
    ),
    (
        "a call for JavaScript",
        r"(?:enable|turn on|activate) javascript|javascript is (?:disabled|required|not )"
        r"|(?:you need to|requires|must) (?:enable |have )?javascript|enable cookies",
    ),
    (
        "a consent page",
        r"before you continue to|we (?:value|care about) your privacy|your privacy choices$"
        r"|bevor sie (?:zu|fortfahren)|avant d.accéder à",
    ),
    ("a login page", r"(?:please )?(?:log|sign) ?in (?:to|or|·|\|)|(?:log|sign) ?in$|login\b"),
)
_PASSWORD_FIELD = re.compile(r"<input[^<>]{0,300}type=[\"']?password", re.IGNORECASE)
#: Words that may precede a notice.
_COURTESY = r"(?:(?:please|sorry|error|oops|to continue|we need to)[\s,:!.]+)*"


def detect_wall(body: bytes, title: str, text: str) -> str | None:
    """What kind of wall an HTML page is, in words; None for a page with content."""
    if len(text) > MAX_WALL_CHARS:
        return None
    html = body[:SEARCHED_BYTES].decode("utf-8", "replace")
    for name, pattern in _MARKUP_PATTERNS:
        if re.search(pattern, html, re.IGNORECASE):
            return name
    for name, pattern in _NOTICE_PATTERNS if len(text) <= MAX_NOTICE_CHARS else ():
        if _begins_with(pattern, title, text) and (
            name != "a login page" or _PASSWORD_FIELD.search(html)
        ):
            return name
    return None


def _begins_with(pattern: str, title: str, text: str) -> bool:
    """Whether the title, or a line near the beginning of the text, begins with a pattern.

    In the middle of a sentence the same words are those of an article about walls.
    """
    start = re.compile(rf"^{_COURTESY}(?:{pattern})", re.IGNORECASE | re.MULTILINE)
    return bool(start.search(title.strip()) or start.search(text[:300]))
