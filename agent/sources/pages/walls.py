"""Pages that are no page: captchas, consent and login walls, calls for JavaScript."""

from __future__ import annotations

import re

#: A wall says little: Google's captcha page has 1,000 characters. Whoever writes about captchas
#: writes more, or has none of the marks below. Checked on the walls of data/search, and for false
#: alarms on data/pages and data/worldcup (none); run test_fetch.py after changing it.
FEW = 1500
HEAD = 300_000  # bytes that are searched for marks

#: In the code of the page, where only a wall has them.
_CODE = (
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
#: In the title or as the first words of a page that says hardly anything else.
_WORDS = (
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
_PASSWORD = re.compile(r"<input[^<>]{0,300}type=[\"']?password", re.IGNORECASE)
_POLITE = r"(?:(?:please|sorry|error|oops|to continue|we need to)[\s,:!.]+)*"
BRIEF = 600  # characters: a page with these words and hardly any others is a wall


def wall(body: bytes, title: str, text: str) -> str | None:
    """What kind of wall an HTML page is; None for a page to read."""
    if len(text) > FEW:
        return None
    html = body[:HEAD].decode("utf-8", "replace")
    for name, pattern in _CODE:
        if re.search(pattern, html, re.IGNORECASE):
            return name
    for name, pattern in _WORDS if len(text) <= BRIEF else ():
        if _says(pattern, title, text) and (name != "a login page" or _PASSWORD.search(html)):
            return name
    return None


def _says(pattern: str, title: str, text: str) -> bool:
    """Whether a title, or a line at the beginning of a page, starts with these words.

    In the middle of a sentence they are an author's, who writes about walls.
    """
    start = re.compile(rf"^{_POLITE}(?:{pattern})", re.IGNORECASE | re.MULTILINE)
    return bool(start.search(title.strip()) or start.search(text[:300]))
