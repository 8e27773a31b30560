"""The elements of a page that a browser does not show. Text in them is often meant for machines.

An element is hidden by its tag or an attribute, or by its computed style: not displayed, too faint
or too small to see, off the page, clipped, or in the colour of its background. Computed styles are
those of `stylesheet.py`; what scripts and external stylesheets hide is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import hexdigits
from typing import Any

from agent.documents.html.stylesheet import Declarations, Stylesheet, inline_declarations

Element = Any  # lxml has no type hints

#: Elements that are hidden whatever their style.
_HIDDEN_BY_MARKUP = (
    "//style | //template | //noscript | //iframe | //svg | //canvas | //datalist | //comment()"
    " | //audio | //video | //noembed | //noframes | //rp"
    " | //script[not(@type='application/ld+json')]"
    " | //*[@hidden] | //*[@aria-hidden='true'] | //*[@popover] | //dialog[not(@open)]"
)
_REMOVED = "removed"  # the tag of an element that is about to be
OFF_PAGE_LEFT = -400  # pixels beyond the left or upper edge of the page
OFF_PAGE_RIGHT = 1900  # pixels from the left edge, wider than a common screen; 190% of it
MIN_OPACITY = 0.05
MIN_CHANNEL_DIFFERENCE = 8  # of 255, between the red, green or blue of two colours
MIN_SIZE = 2  # pixels of a font, and of the height or width of a box that clips its text
#: Properties by which a stylesheet may hide a whole page until a script shows it.
_FADE_IN_PROPERTIES = {"display", "visibility", "opacity"}

_LENGTH = re.compile(
    r"(-?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40}))(px|r?em|pt|%|v[wh]|ch|cm|in)?"
)
_PIXELS_PER_UNIT = {"em": 16.0, "rem": 16.0, "pt": 1.33, "ch": 8.0, "cm": 38.0, "in": 96.0}
_CLIPPED_TO_NOTHING = re.compile(
    r"rect\(\s*[01](?:px)?\W+[01](?:px)?\W+[01](?:px)?\W+[01](?:px)?\s*\)|inset\((?:50|100)%"
    r"|circle\(0|polygon\(0(?:px)?[ ]0(?:px)?\s*(?:,\s*0(?:px)?[ ]0(?:px)?\s*)+\)"
)
_TRANSFORM = re.compile(
    r"scale(?:3d|[xy])?\(\s*+0?\.?0*+\s*+[,)]|translate(?:3d|[xy])?\(\s*+(-?[0-9]{1,40}(?:px|r?em|%|vw)?)"
)
_RGB = re.compile(
    r"rgba?\(\s*([0-9]{1,40})[\s,]+([0-9]{1,40})[\s,]+([0-9]{1,40})"
    r"(?:[\s,/]+([0-9]{0,40}\.?[0-9]{1,40}|[0-9]{1,40}\.)(%?))?\s*\)"
)
_HSL_BLACK_OR_WHITE = re.compile(r"hsla?\(\s*[\d.]+(?:deg)?[\s,]+[\d.]+%[\s,]+(0|100)%")
_SIZE_IN_FONT = re.compile(r"(?:^|\s)(0|[\d.]+(?:px|r?em|pt))(?=[\s/])")
_NAMED_COLOURS = {"white": "#ffffff", "black": "#000000"}


def remove_hidden(tree: Element) -> None:
    """Remove the elements of a page that a browser does not show. Takes linear time.

    An element with at least half of the page's text counts as shown if it is hidden by its colour,
    or by `display`, `visibility` or `opacity` of a stylesheet alone: a script, which is not run
    here, may show it.
    """
    for shadow in tree.xpath("//template[@shadowrootmode]"):
        shadow.tag = "div"
    stylesheet = Stylesheet(tree)
    has_external_css = bool(tree.xpath("//link[contains(@rel, 'stylesheet')]"))
    remove_elements(tree.xpath(_HIDDEN_BY_MARKUP))
    half_of_text = tree.xpath("string-length(//body)") / 2
    hidden: dict[Element, None] = {}
    backgrounds = {None: "" if has_external_css else "#ffffff"}  # "": not known
    colours: dict[Element, str] = {}  # of the text
    for element in tree.iter():
        parent = element.getparent()
        if parent in hidden:
            hidden[element] = None
            continue
        inline = inline_declarations(element)
        style = {**stylesheet.declarations_of(element), **inline}
        backgrounds[element] = _background_of(style) or backgrounds.get(parent, "")
        colours[element] = _text_colour_of(style) or colours.get(parent, "")
        if not style or element.tag in ("html", "body"):
            continue
        colour, background = colours[element], backgrounds[element]
        if not (_is_invisible(style) or _is_camouflaged(colour, style, background)):
            continue
        is_inline = bool(inline) or ":" in element.get("style", "")
        lasting = {name: style[name] for name in style.keys() - _FADE_IN_PROPERTIES}
        final = style if is_inline else lasting
        if _is_invisible(final) or element.xpath("string-length()") < half_of_text:
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


# --- visibility ----------------------------------------------------------------------------------


def _is_invisible(style: Declarations) -> bool:
    """Whether a style alone, whatever surrounds the element, leaves nothing of it to see."""
    get = style.get
    if get("display") == "none" or get("visibility") in ("hidden", "collapse"):
        return True
    if get("content-visibility") == "hidden" or _to_pixels(get("opacity"), 1) < MIN_OPACITY:
        return True
    if _to_pixels(get("filter", "").partition("opacity(")[2], 1) < MIN_OPACITY:
        return True
    size_in_font = _SIZE_IN_FONT.search(get("font", ""))
    if _to_pixels(get("font-size", size_in_font[1] if size_in_font else None), 16) < MIN_SIZE:
        return True
    if _CLIPPED_TO_NOTHING.search(get("clip", "") + get("clip-path", "")):
        return True
    return _is_off_page(style) or _is_clipped(style)


def _is_off_page(style: Declarations) -> bool:
    """Whether an element is moved off the page, or scaled to nothing."""
    is_positioned = style.get("position") in ("absolute", "fixed", "relative")
    margins = ("margin-left", "margin-top", "text-indent")
    offsets = ("left", "top", "right", "bottom", "inset", *margins) if is_positioned else margins
    is_beyond = any(_to_pixels(style.get(offset), 0) <= OFF_PAGE_LEFT for offset in offsets)
    if is_beyond or (is_positioned and _to_pixels(style.get("left"), 0) >= OFF_PAGE_RIGHT):
        return True
    functions = (f"{name}({style[name]})" for name in ("translate", "scale") if name in style)
    match = _TRANSFORM.search(" ".join((style.get("transform", ""), *functions)))
    return match is not None and (not match[1] or _to_pixels(match[1], 0) <= OFF_PAGE_LEFT)


def _is_clipped(style: Declarations) -> bool:
    """Whether a box has no room for its text and clips what overflows."""
    sizes = (style.get(name) for name in ("width", "height", "max-width", "max-height"))
    overflows = (style.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    clips = any(overflow.startswith(("hidden", "clip")) for overflow in overflows)
    return clips and any(_to_pixels(size, 100) < MIN_SIZE for size in sizes)


def _to_pixels(value: str | None, default: float) -> float:
    """A CSS length in approximate pixels; a number without a unit as it is.

    Percentages, and shares of the viewport, are of a page of 1,000 pixels.
    """
    match = _LENGTH.match(value or "")
    if not match:
        return default
    number, unit = float(match[1]), match[2] or ""
    return number * (10.0 if unit in ("%", "vw", "vh") else _PIXELS_PER_UNIT.get(unit, 1.0))


# --- colours -------------------------------------------------------------------------------------


def _is_camouflaged(colour: str, style: Declarations, background: str) -> bool:
    """Whether a style gives text the colour of its background, or nearly, if that is known."""
    if not (_text_colour_of(style) or _background_of(style)):
        return False
    if colour == "transparent":
        return "text" not in style.get("background-clip", "")
    if not (colour[:1] == background[:1] == "#"):
        return bool(colour) and colour == background
    channels = zip(bytes.fromhex(colour[1:]), bytes.fromhex(background[1:]), strict=True)
    return all(abs(a - b) < MIN_CHANNEL_DIFFERENCE for a, b in channels)


def _text_colour_of(style: Declarations) -> str:
    """The colour of text that a style sets; "" for none."""
    return _normalize_colour(style.get("-webkit-text-fill-color", style.get("color", "")))


def _background_of(style: Declarations) -> str:
    """The background colour that a style sets; `?` for an image, "" for none."""
    image = style.get("background-image", "") + style.get("background", "")
    if "url(" in image or "gradient" in image:
        return "?"
    colour = _normalize_colour(style.get("background-color", style.get("background", "")))
    return "" if colour == "transparent" else colour


def _normalize_colour(value: str) -> str:
    """A colour as `#rrggbb`, `transparent`, or else its name, so that equal ones are equal."""
    if match := _RGB.match(value):
        word = "#" + "".join(f"{min(int(part), 255):02x}" for part in match.groups()[:3])
        share = float(match[4] or 1) / (100 if match[5] else 1)
        return word if share >= MIN_OPACITY else "transparent"
    if match := _HSL_BLACK_OR_WHITE.match(value):
        return "#ffffff" if match[1] == "100" else "#000000"
    word = value.partition(" ")[0]
    word = _NAMED_COLOURS.get(word, word)
    digits = word[1:]
    if not word.startswith("#") or not set(hexdigits).issuperset(digits):
        return word.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) in (3, 4) else digits
    if len(digits) == 8 and int(digits[6:], 16) / 255 < MIN_OPACITY:
        return "transparent"
    return f"#{digits[:6]}" if len(digits) in (6, 8) else digits
