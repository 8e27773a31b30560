"""Prompt injection: text on a page that is addressed to a model, found by known patterns.

It is reported, nothing more: a pattern can be evaded, and honest pages about prompt injection have
such text too. The protection is elsewhere: quotes and calls are checked in code.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agent.evidence.words import normalize
from agent.state import Hit, Page

MOST = 1_000_000  # characters of a text that are searched
SHOWN = 100  # characters of a text that a warning quotes
_CONTROL = re.compile(r"[^\S ]+|[\x00-\x1f\x7f]")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "\u00a0": " "})


class Instruction(NamedTuple):
    """A match: the kind of its pattern, and the words around it on one line."""

    kind: str
    words: str


class Pattern(NamedTuple):
    """A pattern, and words of which every match has one: a cheap test before it is searched."""

    kind: str
    needs: tuple[str, ...]
    form: re.Pattern[str]


@cache
def load_patterns() -> tuple[Pattern, ...]:
    """The patterns of `prompt_injection.toml`."""
    import tomllib

    text = Path(__file__).with_name("prompt_injection.toml").read_text("utf-8")
    return tuple(
        Pattern(kind, tuple(needs.split("|")), re.compile(form))
        for kind, forms in tomllib.loads(text).items()
        for needs, form in forms.items()
    )


def find_instruction(*texts: str) -> Instruction | None:
    """The first match in some texts, in linear time; None if there is none."""
    for text in texts:
        plain = _fold_lines(text[:MOST])
        for kind, needs, form in load_patterns():
            if any(word in plain for word in needs) and (found := form.search(plain)):
                start, end = found.start(), min(found.start() + SHOWN, found.end() + 40)
                words = _CONTROL.sub(" ", plain[start:end]).strip()
                return Instruction(kind, words + "…" * (start + SHOWN < len(plain)))
    return None


def _fold_lines(text: str) -> str:
    text = re.sub(r"[^\S\n]+", " ", text.translate(_PLAIN).lower())
    if text.isascii():
        return text
    apart = normalize("NFKD", text)
    return apart.translate(dict.fromkeys(ord(c) for c in set(apart) if unicodedata.combining(c)))


def instruction_warning(page: Page, hit: Hit) -> str | None:
    """The warning about a page that addresses a model; None for any other page."""
    found = find_instruction(page.title, page.text, hit.title, hit.snippet)
    if found is None:
        return None
    return (
        f"{page.url}: it holds text that reads like an instruction to a model "
        f"({found.kind}: {found.words!r}). It was treated as text of the page, not obeyed."
    )
