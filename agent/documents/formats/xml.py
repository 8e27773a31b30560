"""Elements of XML by their local names, in any namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Element = Any  # lxml has no type hints


def local_name(element: Element) -> str:
    """The name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element | None, name: str) -> str:
    """The value of an attribute by its local name, whatever its namespace; "" for none."""
    attributes = {} if element is None else element.attrib
    values = (value for key, value in attributes.items() if key.endswith(f"}}{name}"))
    return str(attributes[name] if name in attributes else next(values, ""))


def to_int(text: str, default: int) -> int:
    """A number of an attribute; the default for what is none, or no number of anything."""
    return int(text) if text.isdecimal() and len(text) < 9 else default


def find_all(element: Element | None, name: str) -> Iterator[Element]:
    """The elements below an element with a local name, in any namespace, in document order."""
    return iter(() if element is None else element.iter(f"{{*}}{name}"))


def find_first(element: Element | None, name: str) -> Element | None:
    """The first element below an element with a local name; None for none."""
    return next(find_all(element, name), None)
