"""HTML made of elements: whatever is not markup already is text, and is escaped on its way in."""

from __future__ import annotations

import base64
import hashlib
import html
import unicodedata
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files

from agent.state.plain import printable
from agent.state.urls import scheme

LINKED = ("http", "https", "file")
#: The language that a script gives away, for the voice and the font that it is read with.
LANGUAGES = {
    "ARABIC": "ar",
    "CJK": "zh",
    "DEVANAGARI": "hi",
    "GREEK": "el",
    "HANGUL": "ko",
    "HEBREW": "he",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "THAI": "th",
}
_SAMPLE = 300  # characters that tell a language


class Markup(str):
    """Markup already; whatever else goes into a page is text, and is escaped on its way in."""


NOTHING = Markup()


def tag(name: str, *inside: str, **attributes: str) -> Markup:
    """An element. `class_` is `class`, `stroke_width` is `stroke-width`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{joined(inside)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(p if isinstance(p, Markup) else escaped(p) for p in parts))


def escaped(text: str) -> Markup:
    """Text of anybody's as markup that shows it."""
    return Markup(html.escape(printable(text)))


def link(url: str, text: str, **attributes: str) -> Markup:
    """A link, if its scheme is one that only shows a document; else the text alone."""
    if scheme(url) not in LINKED:
        return tag("span", text, **attributes)
    return tag("a", text, href=url.strip(), rel="noopener noreferrer", **attributes)


def spoken(text: str) -> dict[str, str]:
    """How a text of anybody's is written and read: the attributes `dir` and, if known, `lang`."""
    scripts = Counter(
        LANGUAGES.get(unicodedata.name(char, "").partition(" ")[0], "")
        for char in text[:_SAMPLE]
        if char.isalpha()
    )
    if scripts["ja"]:  # which is written with Chinese characters too
        scripts["ja"] += scripts.pop("zh", 0)
    ((language, _),) = scripts.most_common(1) or [("", 0)]
    return {"dir": "auto"} | ({"lang": language} if language else {})


def whole(title: str, body: Markup, *sheets: str) -> str:
    """A page that stands alone; `sheets` are style sheets, as `package/file`.

    Its policy allows this page's own style and nothing else: no script, no request.
    """
    style = "".join(_sheet(sheet) for sheet in sheets)
    return f"<!doctype html>\n{tag('html', _head(title, style), tag('body', body), lang='en')}\n"


def _sheet(sheet: str) -> str:
    package, _, name = sheet.partition("/")
    return (files(package) / name).read_text("utf-8")


def _head(title: str, style: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", Markup(style)),
    )
