"""What a page holds but does not show: text that hides there is often meant for machines.

Looked at are the page's own styles: the `style` of an element and the page's `<style>` sheets, as
far as their selectors are simple (`p`, `.note`, `div#top.note`). External sheets are not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Element = Any  # lxml has no type hints
Styles = dict[str, str]

UNSEEN = (
    "//style | //template | //noscript | //iframe | //svg | //canvas | //datalist | //comment()"
    " | //audio | //video | //noembed | //noframes | //rp"
    " | //script[not(@type='application/ld+json')]"
    " | //*[@hidden] | //*[@aria-hidden='true'] | //*[@popover] | //dialog[not(@open)]"
)
#: Characters of a page's sheets that are read, and rules that are kept of them.
SHEET, RULES = 200_000, 2000
ALIKE, NESTED = 20, 4  # rules of one name, and blocks around a rule, that are looked at
FAR = -400  # pixels beyond the edge of the page, above it or to its left
BEYOND = 1900  # pixels to its right, wider than a common screen; 190 % of it
FAINT = 0.05  # opacity
CLOSE = 8  # of 255, between two colours
FADING = {"display", "visibility", "opacity"}  # what a script takes back when the page is ready
TINY = 2  # pixels of a font; also the height or width of a box that cuts its text off

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SELECTOR = re.compile(r"([\w-]*)((?:[.#][\w-]+)*)")
_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)\s*$|supports|layer)", re.I)
_NUMBER = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(px|r?em|pt|%|v[wh]|ch|cm|in)?")
_PIXELS = {"em": 16.0, "rem": 16.0, "pt": 1.33, "ch": 8.0, "cm": 38.0, "in": 96.0}
_NOTHING = re.compile(
    r"rect\(\s*[01](?:px)?\W+[01](?:px)?\W+[01](?:px)?\W+[01](?:px)?\s*\)|inset\((?:50|100)%"
    r"|circle\(0|polygon\(0(?:px)?[ ]0(?:px)?\s*(?:,\s*0(?:px)?[ ]0(?:px)?\s*)+\)"
)
_MOVED = re.compile(
    r"scale(?:3d|[xy])?\(\s*0?\.?0*\s*[,)]|translate(?:3d|[xy])?\(\s*(-?\d+)(px|r?em|%|vw)?"
)
_RGB = re.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+%?))?\s*\)")
_GREY = re.compile(r"hsla?\(\s*[\d.]+(?:deg)?[\s,]+[\d.]+%[\s,]+(0|100)%")
_FONT = re.compile(r"(?:^|\s)(0|[\d.]+(?:px|r?em|pt))(?=[\s/])")
_NAMED = {"white": "#ffffff", "black": "#000000"}


class Rule(NamedTuple):
    """A simple selector and what it declares."""

    tag: str
    names: frozenset[str]  # as `.class` and `#id`
    styles: Styles


def hidden(tree: Element) -> list[Element]:
    """The elements of a page that a browser does not show, or shows as nothing to be seen.

    An element inside another that is hidden is not named again. Takes linear time.
    """
    rules = _index(_sheet(tree))
    linked = bool(tree.xpath("//link[contains(@rel, 'stylesheet')]"))
    most = tree.xpath("string-length(//body)") / 2
    found = dict.fromkeys(tree.xpath(UNSEEN), True)
    behind = {None: "" if linked else "#ffffff"}  # the colour behind the words of an element
    inks: dict[Element, str] = {}  # that of the words themselves
    for element in tree.iter():
        parent = element.getparent()
        if parent in found or not isinstance(element.tag, str):
            found.setdefault(element, parent not in found)
            continue
        own = _own(element)
        styles = {**_matching(element, rules), **own}
        behind[element] = _painted(styles) or behind.get(parent, "")
        inks[element] = _inked(styles) or inks.get(parent, "")
        if not styles or element.tag in ("html", "body"):
            continue
        # a page may fade in as a whole by a script that is not run here
        lasting = styles if own else {n: v for n, v in styles.items() if n not in FADING}
        unseen = _gone(styles) or _camouflaged(inks[element], styles, behind[element])
        if unseen and (_gone(lasting) or element.xpath("string-length()") < most):
            found[element] = True
    return [element for element, outermost in found.items() if outermost]


# --- declarations --------------------------------------------------------------------------------


def declared(text: str) -> Styles:
    """Declarations as a mapping, the last of a name counting."""
    found = {}
    for declaration in _COMMENT.sub("", text[:5000]).split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            found[name.strip().lower()] = value.replace("!important", "").strip().lower()
    return found


def _own(element: Element) -> Styles:
    styles = declared(element.get("style", ""))
    for attribute, name in (("bgcolor", "background-color"), ("color", "color")):
        if value := element.get(attribute):
            styles.setdefault(name, value.strip().lower())
    return styles


def _sheet(tree: Element) -> Iterator[Rule]:
    """The rules of a page's sheets that hold on a screen and whose selectors are simple."""
    text = "\n".join(style.text or "" for style in tree.iter("style"))[:SHEET]
    text = _COMMENT.sub(" ", text)
    around: list[str] = []
    at = 0
    for brace in _BRACE.finditer(text):
        piece, at = text[at : brace.start()], brace.end()
        if brace[0] == "{":
            around.append(piece.rpartition(";")[2].strip())
        elif around:
            selectors = around.pop()
            if len(around) <= NESTED and all(_SCREEN.match(outer) for outer in around):
                yield from _rules(selectors, declared(piece))


def _rules(selectors: str, styles: Styles) -> Iterator[Rule]:
    for selector in selectors[:2000].split(","):
        match = _SELECTOR.fullmatch(selector.strip())
        if match and styles and (match[1] or match[2]):
            yield Rule(match[1].lower(), frozenset(re.findall(r"[.#][\w-]+", match[2])), styles)


def _index(rules: Iterator[Rule]) -> Mapping[str, list[tuple[int, Rule]]]:
    """Rules with their order, by one of their names, or else by their tag; alike ones as one."""
    merged: dict[tuple[str, frozenset[str]], tuple[int, Rule]] = {}
    for order, rule in zip(range(RULES), rules, strict=False):
        before = merged.get((rule.tag, rule.names), (0, rule))[1].styles
        both = rule._replace(styles={**before, **rule.styles})
        merged[rule.tag, rule.names] = order, both
    index: dict[str, list[tuple[int, Rule]]] = {}
    for order, rule in merged.values():
        index.setdefault(min(rule.names, default=rule.tag), []).append((order, rule))
    return {name: found[-ALIKE:] for name, found in index.items()}


def _matching(element: Element, rules: Mapping[str, Sequence[tuple[int, Rule]]]) -> Styles:
    """What the sheets declare of an element: more names in a selector count for more."""
    if not rules:
        return {}
    names = {f".{name}" for name in element.get("class", "").split()[:50]}
    if identity := element.get("id"):
        names.add(f"#{identity.strip()}")
    found = [
        (len(rule.names), order, rule.styles)
        for key in (element.tag, *names)
        for order, rule in rules.get(key, ())
        if rule.names <= names and rule.tag in ("", element.tag)
    ]
    styles: Styles = {}
    for *_, more in sorted(found, key=lambda f: f[:2]):
        styles.update(more)
    return styles


# --- whether they hide ---------------------------------------------------------------------------


def _gone(styles: Styles) -> bool:
    """Whether declarations leave nothing to be seen of an element, whatever is around it."""
    get = styles.get
    if get("display") == "none" or get("visibility") in ("hidden", "collapse"):
        return True
    if get("content-visibility") == "hidden" or _size(get("opacity"), 1) < FAINT:
        return True
    if "opacity(0" in get("filter", "") and not re.search(r"opacity\(0?\.\d", get("filter", "")):
        return True
    font = _FONT.search(get("font", ""))
    if _size(get("font-size", font[1] if font else None), 16) < TINY:
        return True
    if _NOTHING.search(get("clip", "") + get("clip-path", "")):
        return True
    return _outside(styles) or _cut_off(styles)


def _outside(styles: Styles) -> bool:
    """Whether an element is moved out of the page."""
    placed = styles.get("position") in ("absolute", "fixed", "relative")
    moves = ("margin-left", "margin-top", "text-indent")
    sides = ("left", "top", "right", "bottom", "inset", *moves) if placed else moves
    if any(_size(styles.get(side), 0) <= FAR for side in sides):
        return True
    if placed and _size(styles.get("left"), 0) >= BEYOND:
        return True
    own = (f"{name}({styles.get(name, '')})" for name in ("translate", "scale") if name in styles)
    moved = _MOVED.search(" ".join((styles.get("transform", ""), *own)))
    return bool(moved and (moved[1] is None or _size(f"{moved[1]}{moved[2] or ''}", 0) <= FAR))


def _cut_off(styles: Styles) -> bool:
    """Whether a box has no room for its text and cuts off what does not fit."""
    sizes = (styles.get(side) for side in ("width", "height", "max-width", "max-height"))
    small = any(_size(size, 100) < TINY for size in sizes)
    cuts = (styles.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    return small and any(cut.startswith(("hidden", "clip")) for cut in cuts)


def _size(value: str | None, default: float) -> float:
    """A length in pixels, about; a number as it is; a share of the page as a part of 1,000."""
    match = _NUMBER.match(value or "")
    if not match:
        return default
    number, unit = float(match[1]), match[2] or ""
    return number * (10.0 if unit in ("%", "vw", "vh") else _PIXELS.get(unit, 1.0))


def _inked(styles: Styles) -> str:
    return _colour(styles.get("-webkit-text-fill-color", styles.get("color", "")))


def _camouflaged(ink: str, styles: Styles, behind: str) -> bool:
    """Whether words get the colour of what is behind them, or nearly, where that is known."""
    if not (_inked(styles) or _painted(styles)):
        return False
    if ink == "transparent":
        return "text" not in styles.get("background-clip", "")
    return bool(ink) and (ink == behind or _near(ink, behind))


def _near(one: str, other: str) -> bool:
    """Whether nobody can tell two colours apart."""
    if not (one[:1] == other[:1] == "#"):
        return False
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return all(abs(a - b) < CLOSE for a, b in pairs)


def _painted(styles: Styles) -> str:
    """The colour of a background; `?` where it is an image."""
    if "url(" in (image := styles.get("background-image", "") + styles.get("background", "")):
        return "?"
    if "gradient" in image:
        return "?"
    colour = _colour(styles.get("background-color", styles.get("background", "")))
    return "" if colour == "transparent" else colour


def _colour(value: str) -> str:
    """A colour as `#rrggbb` or its name, so that equal ones are equal; `transparent` if so."""
    if match := _RGB.match(value):
        if match[4] and _share(match[4]) < FAINT:
            return "transparent"
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in match.groups()[:3])
    if grey := _GREY.match(value):
        return "#ffffff" if grey[1] == "100" else "#000000"
    word = value.split(" ")[0]
    if re.fullmatch(r"#[0-9a-f]{3,4}", word):
        word = "#" + "".join(2 * digit for digit in word[1:])
    if re.fullmatch(r"#[0-9a-f]{8}", word) and int(word[7:], 16) / 255 < FAINT:
        return "transparent"
    known = re.fullmatch(r"#[0-9a-f]{6}(?:[0-9a-f]{2})?", word)
    return word[:7] if known else _NAMED.get(word, word.lstrip("#"))


def _share(text: str) -> float:
    """`.5` and `50%` as a part of one."""
    number = float(text.rstrip("%")[:6].rstrip(".") or 0)
    return number / 100 if text.endswith("%") else number
