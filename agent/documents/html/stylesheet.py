"""The CSS declarations that a page makes for an element: its attributes and `<style>` elements.

Only simple selectors are matched (`p`, `.note`, `div#top.note`): a tag, classes and IDs of one
element. External stylesheets are not loaded. Takes linear time on any page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Element = Any  # lxml has no type hints
Declarations = dict[str, str]  # from property to value, both in lower case

MAX_CSS_CHARS = 200_000  # of all `<style>` elements of a page
MAX_RULES = 2000  # of a page
MAX_RULES_PER_KEY = 20  # that are matched with one element for one class, ID or tag
MAX_MATCHES = 200_000  # of a rule with an element, on a page; later elements have no rules
MAX_AT_RULES = 4  # around a style rule
MAX_DECLARATION_CHARS = 5000  # of one block of declarations
MAX_SELECTOR_CHARS = 2000  # of the selectors of one style rule
MAX_CLASSES = 50  # of one element
MAX_ATTRIBUTE_CHARS = 4000  # of the `class` of one element
#: The properties that can hide an element or its text; no other is kept (`hidden.py`).
PROPERTIES = frozenset(
    "-webkit-text-fill-color background background-clip background-color background-image bottom "
    "clip clip-path color content-visibility display filter font font-size height inset left "
    "margin-left margin-top max-height max-width opacity overflow overflow-x overflow-y position "
    "right scale text-indent top transform translate visibility width".split()
)

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SELECTOR = re.compile(r"([\w-]*)((?:[.#][\w-]+)*)")
#: At-rules whose content applies on a screen.
_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)\s*$|supports|layer)", re.I)


class StyleRule(NamedTuple):
    """A simple selector and its declarations."""

    tag: str  # "" for any
    names: frozenset[str]  # of the selector, as `.class` and `#id`
    declarations: Declarations


class Stylesheet:
    """The style rules in the `<style>` elements of a page."""

    def __init__(self, tree: Element) -> None:
        self._rules = _index_rules(_parse_stylesheets(tree))
        self._matches_left = MAX_MATCHES
        self._cascades: dict[tuple[str, frozenset[str]], Declarations] = {}

    def declarations_of(self, element: Element) -> Declarations:
        """The declarations of all rules that match an element, by the order of the cascade.

        Selectors with more classes and IDs win, and among equal ones the later in the page.
        """
        if not self._rules:
            return {}
        classes = element.get("class", "")[:MAX_ATTRIBUTE_CHARS].split()[:MAX_CLASSES]
        names = {f".{name}" for name in classes}
        if identity := element.get("id", "")[:MAX_ATTRIBUTE_CHARS]:
            names.add(f"#{identity.strip()}")
        key = element.tag, frozenset(names)
        if key not in self._cascades:
            self._cascades[key] = self._cascade(*key)
        return self._cascades[key]

    def _cascade(self, tag: str, names: frozenset[str]) -> Declarations:
        """The declarations for a tag with classes and IDs."""
        if self._matches_left <= 0:
            return {}
        matches = [
            (len(rule.names), position, rule.declarations)
            for key in (tag, *names)
            for position, rule in self._rules.get(key, ())
            if rule.names <= names and rule.tag in ("", tag)
        ]
        self._matches_left -= 1 + len(matches)
        cascaded: Declarations = {}
        for *_, declarations in sorted(matches, key=lambda match: match[:2]):
            cascaded.update(declarations)
        return cascaded


def parse_declarations(css: str) -> Declarations:
    """The PROPERTIES in a block of declarations or a `style` attribute; the last of each counts."""
    declarations = {}
    for declaration in _COMMENT.sub("", css[:MAX_DECLARATION_CHARS]).split(";"):
        name, colon, value = declaration.partition(":")
        if colon and (name := name.strip().lower()) in PROPERTIES:
            declarations[name] = value.replace("!important", "").strip().lower()
    return declarations


def inline_declarations(element: Element) -> Declarations:
    """The declarations of the `style` attribute, and of `bgcolor` and `color`."""
    declarations = parse_declarations(element.get("style", ""))
    for attribute, name in (("bgcolor", "background-color"), ("color", "color")):
        if value := element.get(attribute):
            declarations.setdefault(name, value.strip().lower())
    return declarations


def _parse_stylesheets(tree: Element) -> Iterator[StyleRule]:
    """The style rules of a page that apply on a screen and have simple selectors."""
    css = "\n".join(style.text or "" for style in tree.iter("style"))
    css = _COMMENT.sub(" ", css[:MAX_CSS_CHARS])
    preludes: list[str] = []  # of the open blocks: at-rules around a style rule, and its selectors
    pieces = re.split(r"([{}])", css)
    for piece, brace in zip(pieces[::2], pieces[1::2], strict=False):
        if brace == "{":
            preludes.append(piece.rpartition(";")[2].strip())
        elif preludes:
            selectors = preludes.pop()
            if len(preludes) <= MAX_AT_RULES and all(_SCREEN.match(outer) for outer in preludes):
                yield from _split_selectors(selectors, parse_declarations(piece))


def _split_selectors(selectors: str, declarations: Declarations) -> Iterator[StyleRule]:
    """One style rule for each simple selector of a list."""
    for selector in selectors[:MAX_SELECTOR_CHARS].split(","):
        match = _SELECTOR.fullmatch(selector.strip())
        if match and declarations and (match[1] or match[2]):
            names = frozenset(match[2].replace(".", " .").replace("#", " #").split())
            tag = match[1].lower()
            if tag == "a" and not names:  # in a text other selectors give links another colour
                declarations = {**declarations, "color": ""}
            yield StyleRule(tag, names, declarations)


def _index_rules(rules: Iterator[StyleRule]) -> Mapping[str, Sequence[tuple[int, StyleRule]]]:
    """The rules with their positions, by one of their classes and IDs, else by their tag.

    Rules with the same selector are merged at the position of the last.
    """
    merged: dict[tuple[str, frozenset[str]], tuple[int, StyleRule]] = {}
    for position, rule in zip(range(MAX_RULES), rules, strict=False):
        earlier = merged.get((rule.tag, rule.names), (0, rule))[1].declarations
        both = rule._replace(declarations={**earlier, **rule.declarations})
        merged[rule.tag, rule.names] = position, both
    index: dict[str, list[tuple[int, StyleRule]]] = {}
    for position, rule in merged.values():
        index.setdefault(min(rule.names, default=rule.tag), []).append((position, rule))
    return {key: positioned[-MAX_RULES_PER_KEY:] for key, positioned in index.items()}
