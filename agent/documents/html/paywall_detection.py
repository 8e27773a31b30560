"""Detects pages shown instead of content: paywalls, captchas, consent, age gates, login.

Their words are in `paywall_detection.toml`. A page that begins with a notice counts only if hardly
anything else is left of it: many honest pages begin with one.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agent.state import Outcome

#: Characters of text above which a page is no wall. Google's captcha page has 1,000.
MAX_WALL_CHARS = 1500
MAX_FRAME_CHARS = 200  # of text around an empty place for the content: a menu, a footer
SEARCHED_CHARS = 300  # of the text, from its beginning, where a notice may begin
SEARCHED_BYTES = 300_000  # of the HTML, from its beginning
MIN_SENTENCE, MIN_CONTENT = 25, 60  # characters of a sentence that may be content, and of all


class Wall(NamedTuple):
    """What a page shows instead of content, in words for the user."""

    reason: str
    outcome: Outcome = "blocked"


#: By their names in `paywall_detection.toml`.
WALLS = {
    name: Wall(f"it shows {what} instead of a page")
    for name, what in (
        *(("captcha", "a captcha"), ("refusal", "a refusal"), ("consent", "a consent page")),
        *(("javascript", "a call for JavaScript"), ("age", "an age gate")),
        *(("login", "a login page"), ("subscription", "a call for a subscription")),
    )
} | {"not_found": Wall("it says that there is no such page", "not_found")}
#: A page that only a script fills: a notice for those without, or an empty place for the content.
_SCRIPTED = re.compile(
    r"<noscript\b[^<>]*>(?:(?!</noscript).){0,2000}javascript"
    r"|<div\b[^<>]{0,200}\bid=[\"']?(?:root|app|__next|__nuxt)\b[^<>]*>\s*</div>",
    re.IGNORECASE | re.DOTALL,
)
_PASSWORD_FIELD = re.compile(r"<input[^<>]{0,300}type=[\"']?password", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n")
_TITLE_END = re.compile(r"\s+[-–—|·•»]\s+")
_SAYS_SOMETHING = re.compile(r"\d|[.!?…。！？]$")


def detect_wall(body: bytes, title: str, text: str) -> Wall | None:
    """Which wall an HTML page is; None for a page with content."""
    if len(text) > MAX_WALL_CHARS:
        return None
    html = body[:SEARCHED_BYTES].decode("utf-8", "replace")
    if marked := _patterns("markup").search(html):
        return WALLS[str(marked.lastgroup)]
    scripted = _SCRIPTED.search(html) if len(text) <= MAX_FRAME_CHARS else None
    if scripted and (not text or scripted[0].startswith("<div")):
        return WALLS["javascript"]
    notices, words = _patterns("text"), _patterns("words")
    begin = [*_TITLE_END.split(title), *_END.split(text[:SEARCHED_CHARS])]
    found = [str(match.lastgroup) for match in map(notices.search, map(str.strip, begin)) if match]
    if not _PASSWORD_FIELD.search(html):
        found = [name for name in found if name != "login"]
    sentences = (one.strip() for one in _END.split(text))
    own = (x for x in sentences if _SAYS_SOMETHING.search(x) and not words.search(x))
    is_content = sum(n for n in map(_measure, own) if n >= MIN_SENTENCE) >= MIN_CONTENT
    return WALLS[found[0]] if found and not is_content else None


def _measure(text: str) -> int:
    """Characters, of which an ideograph counts as three letters."""
    return len(text) + 2 * sum(char > "\u3000" for char in text)


@cache
def _patterns(kind: str) -> re.Pattern[str]:
    """A group for each name in a table of `paywall_detection.toml`."""
    words = tomllib.loads(
        files("agent.documents.html").joinpath("paywall_detection.toml").read_text("utf-8")
    )
    groups = (f"(?P<{name}>{'|'.join(x.strip().splitlines())})" for name, x in words[kind].items())
    return re.compile("|".join(groups), re.IGNORECASE)
