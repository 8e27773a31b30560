"""Removes the elements of a page that a browser does not show: their text may be an injection.

An element is hidden by its tag, an attribute, its own style or the page's `<style>` elements. What
scripts and external stylesheets hide is not known. Run `python -m evals.pages` after a change.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Element = Any  # lxml has no type hints
Style = Mapping[str, str]  # property -> value, without blanks

_BY_MARKUP = (
    "//style | //template | //noscript | //iframe | //svg | //canvas | //datalist | //comment()"
    " | //audio | //video | //noembed | //noframes | //rp"
    " | //script[not(@type='application/ld+json')]"
    " | //*[@hidden] | //*[@aria-hidden='true'] | //*[@popover] | //dialog[not(@open)]"
)
_REMOVED = "removed"  # the tag of an element that is about to be
#: Declarations that leave nothing to see: not displayed, faint, tiny, off the page, clipped.
_HIDES = re.compile(
    r";(?:display:none|visibility:(?:hidden|collapse)|content-visibility:hidden"
    r"|opacity:0?(?:\.0\d*)?%?|filter:opacity\(0?(?:\.0\d*)?%?\)|scale:0"
    r"|font-size:(?:[01]?(?:\.\d+)?(?:px|pt)?|0?(?:\.[01]\d*)?(?:r?em|%))|font:(?:\S+ )?[01]px\b.*?"
    r"|(?:left|top|right|bottom|inset|margin-left|margin-top|text-indent):-(?:[4-9]\d\d|\d{4,})\S*"
    r"|(?:left|top|right|bottom|margin-left|margin-top|text-indent):-(?:\d{2,}(?:r?em|%|vw))"
    r"|left:(?:\d{4,}px|19\d%|[2-9]\d\d%)"
    r"|clip:rect\([01]?(?:px)?[, ].*?|clip-path:(?:inset\((?:50|100)%|circle\(0|polygon\(0).*?"
    r"|transform:.*?(?:scale(?:3d|[xy])?\(0?[,)]|translate(?:3d|[xy])?\(-\d{3,}).*?)(?=;)"
)
_NO_ROOM = re.compile(r";(?:max-)?(?:width|height):[01]?(?:px|%|r?em)?(?=;)")
_CLIPS = re.compile(r";overflow(?:-[xy])?:(?:hidden|clip)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SELECTOR = re.compile(r"[\w.#>\s-]+")
_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)\b|supports|layer)")
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_RGB = re.compile(r"rgba?\((\d+)[ ,]+(\d+)[ ,]+(\d+)(?:[ ,/]+(\d*\.?\d+)%?)?\)")
_COLOURS = {"white": "#ffffff", "black": "#000000", "hsl(0,0%,100%)": "#ffffff"}
MAX_CSS = 400_000  # characters
MAX_RULES = 2000
MAX_MATCHES = 200_000  # of rules that are tried: bounds the time on hostile pages
CLOSE = 8  # of 255, between the parts of two colours that look the same


class Rule(NamedTuple):
    """A style rule. `parts` are the compounds of its selector, the element's own first."""

    parts: tuple[frozenset[str], ...]
    style: Style


def remove_hidden(tree: Element) -> None:
    """Remove what a browser does not show. Takes linear time.

    An element with at least half of the page's text is shown if a rule or a colour alone hides it:
    a script, which is not run here, may show it.
    """
    for shadow in tree.xpath("//template[@shadowrootmode]"):
        shadow.tag = "div"
    rules = _Rules(tree)
    remove_elements(tree.xpath(_BY_MARKUP))
    half = tree.xpath("string-length(//body)") / 2
    paper = "" if tree.xpath("//link[contains(@rel, 'stylesheet')]") else "#ffffff"
    seen: dict[Element, tuple[str, str]] = {}  # colours of text and background; "": not known
    hidden: dict[Element, None] = {}
    for element in tree.iter():
        parent = element.getparent()
        if parent in hidden:
            hidden[element] = None
            continue
        own = read_style(element.get("style", ""))
        style = {**rules.style_of(element), **_read_attributes(element), **own}
        colour, background = seen.get(parent, ("", paper))
        seen[element] = _text_colour(style) or colour, _background(style) or background
        if style and element.tag not in ("html", "body"):
            is_plain = _hides(own)
            is_meant = is_plain or _hides(style) or _is_camouflaged(style, *seen[element])
            if is_plain or (is_meant and element.xpath("string-length()") < half):
                hidden[element] = None
    remove_elements(hidden)


def remove_elements(elements: Iterable[Element]) -> None:
    """Remove elements, but not the text after them. Takes linear time, unlike one by one."""
    from lxml import etree

    removable = [element for element in elements if element.tag not in ("html", "body")]
    for element in removable:
        element.tag = _REMOVED
    if removable:
        etree.strip_elements(removable[0].getroottree(), _REMOVED, with_tail=False)


def _hides(style: Style) -> bool:
    text = ";" + "".join(f"{name}:{value};" for name, value in style.items())
    return bool(_HIDES.search(text) or (_CLIPS.search(text) and _NO_ROOM.search(text)))


# --- colours -------------------------------------------------------------------------------------


def _is_camouflaged(style: Style, colour: str, background: str) -> bool:
    """Whether a style gives text the colour of its background, or nearly, if that is known."""
    if not (_text_colour(style) or _background(style)):
        return False
    if colour == "transparent":
        return "text" not in style.get("background-clip", "")
    if not (colour[:1] == background[:1] == "#"):
        return bool(colour) and colour == background
    parts = zip(bytes.fromhex(colour[1:]), bytes.fromhex(background[1:]), strict=True)
    return all(abs(a - b) < CLOSE for a, b in parts)


def _text_colour(style: Style) -> str:
    return _read_colour(style.get("-webkit-text-fill-color", style.get("color", "")))


def _background(style: Style) -> str:
    """The background that a style sets; `?` for an image, "" for none."""
    value = style.get("background-color", "") or style.get("background", "")
    if "url(" in (image := value + style.get("background-image", "")) or "gradient" in image:
        return "?"
    colour = _read_colour(value)
    return "" if colour == "transparent" else colour


def _read_colour(value: str) -> str:
    """A colour as `#rrggbb`, `transparent`, or else its name, so that equal ones are equal."""
    if found := _RGB.match(value):
        is_seen = not found[4] or float(found[4]) > 0.04
        shown = "#" + "".join(f"{min(int(part), 255):02x}" for part in found.groups()[:3])
        return shown if is_seen else "transparent"
    word = _COLOURS.get(value, value.partition(" ")[0])
    word = _COLOURS.get(word, word)
    if not _HEX.fullmatch(word):
        return word.lstrip("#")
    digits = word[1:] if len(word) > 5 else "".join(2 * digit for digit in word[1:])
    return "transparent" if digits[6:] in ("00", "01", "02") else f"#{digits[:6]}"


# --- styles --------------------------------------------------------------------------------------


def read_style(css: str) -> dict[str, str]:
    """The declarations of a block; the last of each counts."""
    pairs = (one.partition(":") for one in _COMMENT.sub("", css[:2000].lower()).split(";"))
    items = ((name.strip(), value.replace("!important", "")) for name, _, value in pairs)
    return {name: re.sub(r"\s*([,(])\s*", r"\1", " ".join(value.split())) for name, value in items}


def _read_attributes(element: Element) -> dict[str, str]:
    pairs = (("background-color", element.get("bgcolor")), ("color", element.get("color")))
    return {name: value.strip().lower() for name, value in pairs if value}


class _Rules:
    """The style rules of a page that apply on a screen and have plain selectors."""

    def __init__(self, tree: Element) -> None:
        self._by_name: dict[str, list[tuple[int, int, Rule]]] = defaultdict(list)
        self._left = MAX_MATCHES
        self._names: dict[Element, frozenset[str]] = {}
        css = "\n".join(style.text or "" for style in tree.iter("style"))
        for number, rule in zip(range(MAX_RULES), _read_rules(css), strict=False):
            weight = sum(1 if name[0] in ".#" else 0 for part in rule.parts for name in part)
            self._by_name[max(rule.parts[0], key=len)].append((weight, number, rule))

    def style_of(self, element: Element) -> Style:
        """What the rules declare of an element."""
        if not self._by_name or self._left <= 0:
            return {}
        names = self._names_of(element)
        found = [one for name in names for one in self._by_name.get(name, ())]
        self._left -= len(found)
        style: dict[str, str] = {}
        for _, _, rule in sorted(found, key=lambda one: one[:2]):
            if rule.parts[0] <= names and self._is_within(element, rule.parts[1:]):
                style.update(rule.style)
        return style

    def _is_within(self, element: Element, parts: Sequence[frozenset[str]]) -> bool:
        """Whether the elements around one match the parts of a selector, from the inside."""
        wanted = list(parts)
        for around in element.iterancestors() if wanted else ():
            self._left -= 1
            if wanted and wanted[0] <= self._names_of(around):
                wanted.pop(0)
        return not wanted

    def _names_of(self, element: Element) -> frozenset[str]:
        if element not in self._names:
            classes = (f".{name}" for name in element.get("class", "")[:500].split())
            names = str(element.tag), f"#{element.get('id', '')}", *classes
            self._names[element] = frozenset(names)
        return self._names[element]


def _read_rules(css: str) -> Iterator[Rule]:
    open_blocks: list[str] = []  # at-rules around a style rule, and its selectors
    pieces = re.split(r"([{}])", _COMMENT.sub(" ", css[:MAX_CSS]))
    for piece, brace in zip(pieces[::2], pieces[1::2], strict=False):
        if brace == "{":
            open_blocks.append(piece.rpartition(";")[2].strip())
        elif open_blocks:
            selectors = open_blocks.pop()
            if len(open_blocks) < 5 and all(map(_SCREEN.match, open_blocks)):
                yield from _split_selectors(selectors, read_style(piece))


def _split_selectors(selectors: str, style: dict[str, str]) -> Iterator[Rule]:
    for selector in selectors[:2000].split(","):
        if _SELECTOR.fullmatch(selector) and any(style):
            compounds = selector.replace(">", " ").split()
            named = (re.findall(r"[.#]?[\w-]+", one) for one in reversed(compounds))
            if all(parts := tuple(map(frozenset, named))) and parts:
                is_link = parts[0] == {"a"}  # other selectors give links of a text another colour
                yield Rule(parts, style | {"color": ""} if is_link else style)
