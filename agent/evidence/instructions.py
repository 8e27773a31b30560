"""Text on a page that is addressed to a model: told by known patterns, reported, never obeyed.

A pattern can be got around, and an honest page about such texts has them too. So nothing is left
out because of what is found here, and nothing relies on it: what keeps a page from giving orders
is that its text is only ever shown as data, and that quotes and calls are checked in code.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agent.state import Hit, Page

MOST = 1_000_000  # characters of a text that are looked at
SHOWN = 100  # characters of a text that a warning repeats
_CONTROL = re.compile(r"[^\S ]+|[\x00-\x1f\x7f]")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "\u00a0": " "})


class Instruction(NamedTuple):
    """What was found: the kind of pattern, and the words around it, on one line."""

    kind: str
    words: str


class Pattern(NamedTuple):
    """What is looked for, and words of which one is in whatever it finds."""

    kind: str
    needs: tuple[str, ...]
    form: re.Pattern[str]


@cache
def patterns() -> tuple[Pattern, ...]:
    """The known patterns."""
    import tomllib

    text = Path(__file__).with_name("instructions.toml").read_text("utf-8")
    return tuple(
        Pattern(kind, tuple(needs.split("|")), re.compile(form))
        for kind, forms in tomllib.loads(text).items()
        for needs, form in forms.items()
    )


def instruction(*texts: str) -> Instruction | None:
    """The first text that is addressed to a model, if any is; in linear time."""
    for text in texts:
        plain = _folded(text[:MOST])
        for kind, needs, form in patterns():
            if any(word in plain for word in needs) and (found := form.search(plain)):
                return Instruction(kind, _around(plain, *found.span()))
    return None


def _folded(text: str) -> str:
    """A text in lower case with plain quotes, single blanks and no accents."""
    text = re.sub(r"[^\S\n]+", " ", text.translate(_PLAIN).lower())
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _around(text: str, start: int, end: int) -> str:
    """The words that were found and some after them, cut and without controls."""
    words = _CONTROL.sub(" ", text[start : min(start + SHOWN, end + 40)]).strip()
    return words if start + SHOWN >= len(text) else f"{words}…"


def warning(page: Page, hit: Hit) -> str | None:
    """What to tell of a source that addresses a model: which, what it says, what was done."""
    found = instruction(page.title, page.text, hit.title, hit.snippet)
    if found is None:
        return None
    return (
        f"{page.url}: it holds text that reads like an instruction to a model "
        f"({found.kind}: {found.words!r}). It was treated as text of the page, not obeyed."
    )
