"""HTML elements: every string that is not `Markup` is text and is escaped when it is put in."""

from __future__ import annotations

import base64
import hashlib
import html
import unicodedata
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files

from agent.state import sanitize_for_display, url_scheme

LINK_SCHEMES = ("http", "https", "file")
#: The language (BCP 47) that is assumed for a script, named by the first word of the Unicode names
#: of its letters. A screen reader chooses its voice by it, a browser its font.
SCRIPT_LANGUAGES = {
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
_SAMPLE_CHARACTERS = 300  # of a text, from which its language is determined


class Markup(str):
    """A string that is HTML already and is not escaped again."""


EMPTY = Markup()


def element(name: str, *content: str, **attributes: str) -> Markup:
    """An element with its content and its attributes.

    The keyword `class_` becomes the attribute `class`, `stroke_width` becomes `stroke-width`.
    """
    rendered_attributes = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_html(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{rendered_attributes}>{join_markup(content)}</{name}>")


def join_markup(parts: Iterable[str]) -> Markup:
    """Concatenate parts; those that are text are escaped."""
    return Markup("".join(p if isinstance(p, Markup) else escape_html(p) for p in parts))


def escape_html(text: str) -> Markup:
    """Escape text, so that a browser shows it literally. Of control characters lines stay."""
    return Markup(html.escape("\n".join(map(sanitize_for_display, text.split("\n")))))


def link_element(url: str, text: str, **attributes: str) -> Markup:
    """A link where the URL has one of LINK_SCHEMES, else a `span` with the text.

    The attributes are those of the `a` or the `span`.
    """
    if url_scheme(url) not in LINK_SCHEMES:
        return element("span", text, **attributes)
    return element("a", text, href=url.strip(), rel="noopener noreferrer", **attributes)


def language_attributes(text: str) -> dict[str, str]:
    """The attributes `dir="auto"` and, where the script of most letters has one, `lang`."""
    languages = Counter(
        SCRIPT_LANGUAGES.get(unicodedata.name(char, "").partition(" ")[0], "")
        for char in text[:_SAMPLE_CHARACTERS]
        if char.isalpha()
    )
    if languages["ja"]:  # Japanese is written with Chinese characters too
        languages["ja"] += languages.pop("zh", 0)
    ((language, _),) = languages.most_common(1) or [("", 0)]
    return {"dir": "auto"} | ({"lang": language} if language else {})


def render_document(title: str, body: Markup, *sheets: str, script: str = "") -> str:
    """A self-contained HTML page. `sheets` are style sheets, each as `package/file`, so `script`.

    Its Content-Security-Policy allows the embedded style and this script alone: no request.
    """
    style = "".join(map(_read_file, sheets))
    code = _read_file(script) if script else ""
    scripts = (element("script", Markup(code)),) if code else ()
    head = _head_element(title, style, code)
    root = element("html", head, element("body", body, *scripts), lang="en")
    return f"<!doctype html>\n{root}\n"


def _read_file(sheet: str) -> str:
    package, _, name = sheet.partition("/")
    return (files(package) / name).read_text("utf-8")


def _digest(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _head_element(title: str, style: str, script: str) -> Markup:
    policy = f"default-src 'none'; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    policy += f"; script-src {_digest(script)}" if script else ""
    return element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", title),
        element("style", Markup(style)),
    )
