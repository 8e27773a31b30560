"""Pages shown instead of content: captchas, consent, age gates, login, JavaScript, "not found".

Their words are in `walls.toml`, by language. A page that begins with a notice is a wall only if
hardly anything is left of it besides the notice: many honest pages begin with one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agent.state import Outcome

#: Characters of text above which a page is no wall. Google's captcha page has 1,000. An article
#: about captchas is longer, or matches no pattern of the markup. Checked on the walls of
#: data/search; no false positive on data/pages and data/worldcup. Run test_walls.py after changing
#: this and what follows.
MAX_WALL_CHARS = 1500
MAX_FRAME_CHARS = 200  # of text around an empty place for the content: a menu, a footer
SEARCHED_CHARS = 300  # of the text, from its beginning, where a notice may begin
SEARCHED_BYTES = 300_000  # of the HTML, from its beginning
MIN_SENTENCE, MIN_CONTENT = 25, 60  # characters of a sentence that may be content, and of all
CHARS_PER_IDEOGRAPH = 3  # in a language with letters


class Wall(NamedTuple):
    """What a page shows instead of content, in words for the user."""

    reason: str
    outcome: Outcome = "blocked"


def _describe(name: str) -> Wall:
    return Wall(f"it shows {name} instead of a page")


#: By their names in `walls.toml`; the first of several is told.
WALLS = {
    "captcha": _describe("a captcha"),
    "refusal": _describe("a refusal"),
    "javascript": _describe("a call for JavaScript"),
    "consent": _describe("a consent page"),
    "age": _describe("an age gate"),
    "login": _describe("a login page"),
    "subscription": _describe("a call for a subscription"),
    "not_found": Wall("it says that there is no such page", "not_found"),
}
#: A page that only a script fills: a notice for those without, or an empty place for the content.
_SCRIPTED = re.compile(
    r"<noscript\b[^<>]*>(?:(?!</noscript).){0,2000}javascript"
    r"|<div\b[^<>]{0,200}\bid=[\"']?(?:root|app|__next|__nuxt)\b[^<>]*>\s*</div>",
    re.IGNORECASE | re.DOTALL,
)
_PASSWORD_FIELD = re.compile(r"<input[^<>]{0,300}type=[\"']?password", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n")
_TITLE_END = re.compile(r"\s+[-–—|·•:»]\s+|:\s+")
_SAYS_SOMETHING = re.compile(r"\d|[.!?…。！？]$")
_IDEOGRAPH = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


class _Language(NamedTuple):
    """The notices of a language, a group for each wall, and the words of their sentences."""

    notices: re.Pattern[str]
    words: re.Pattern[str]


def detect_wall(body: bytes, title: str, text: str) -> Wall | None:
    """Which wall an HTML page is; None for a page with content."""
    if len(text) > MAX_WALL_CHARS:
        return None
    html = body[:SEARCHED_BYTES].decode("utf-8", "replace")
    if marked := _markup().search(html):
        return WALLS[str(marked.lastgroup)]
    scripted = _SCRIPTED.search(html) if len(text) <= MAX_FRAME_CHARS else None
    if scripted and (not text or scripted[0].startswith("<div")):
        return WALLS["javascript"]
    found = _find_notices(title, text)
    if not _PASSWORD_FIELD.search(html):
        found.discard("login")
    return next((wall for name, wall in WALLS.items() if name in found), None)


def _find_notices(title: str, text: str) -> set[str]:
    """The names of the walls whose notice the page begins with, if it has no other content."""
    sentences = [one.strip() for one in _SENTENCE_END.split(text)]
    found = _match_notices(title, text)
    return {name for of, names in found if not _has_content(sentences, of) for name in names}


def _match_notices(title: str, text: str) -> Iterator[tuple[_Language, set[str]]]:
    """The languages in which a page begins with notices, each with the names of these."""
    parts = [*_TITLE_END.split(title), *_SENTENCE_END.split(text[:SEARCHED_CHARS])]
    beginnings = [part.strip(" .!:…") for part in parts]
    for language in _languages():
        names = {str(match.lastgroup) for match in map(language.notices.match, beginnings) if match}
        if names:
            yield language, names


def _has_content(sentences: Sequence[str], language: _Language) -> bool:
    """Whether enough is said in sentences that are no part of a notice."""
    telling = (one for one in sentences if _SAYS_SOMETHING.search(one))
    own = (x for x in telling if not (language.words.search(x) or language.notices.match(x)))
    return sum(n for n in map(_count_chars, own) if n >= MIN_SENTENCE) >= MIN_CONTENT


def _count_chars(text: str) -> int:
    return len(text) + (CHARS_PER_IDEOGRAPH - 1) * len(_IDEOGRAPH.findall(text))


# --- the words of walls --------------------------------------------------------------------------


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("agent.documents.html").joinpath("walls.toml").read_text("utf-8"))


@cache
def _markup() -> re.Pattern[str]:
    return re.compile(_groups(_tables()["markup"]), re.IGNORECASE)


@cache
def _languages() -> Sequence[_Language]:
    return [_compile(table) for name, table in _tables().items() if name != "markup"]


def _compile(table: dict[str, str]) -> _Language:
    before = rf"(?:[^,.]{{1,80}},\s)?(?:(?:{_alternatives(table['before'])})[\s,:!.]*){{0,2}}"
    words = (word.replace("_", r"\b ?") for word in table["words"].split())
    bounded = "|".join(word if _IDEOGRAPH.match(word) else rf"\b{word}" for word in words)
    notices = re.compile(f"(?:{before})(?:{_groups(table)})", re.IGNORECASE)
    return _Language(notices, re.compile(bounded, re.IGNORECASE))


def _groups(table: dict[str, str]) -> str:
    """A group for each wall, named as it is."""
    return "|".join(f"(?P<{name}>{_alternatives(table[name])})" for name in WALLS if name in table)


def _alternatives(lines: str) -> str:
    return "|".join(lines.strip().split("\n"))
