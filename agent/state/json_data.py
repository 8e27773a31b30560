"""JSON as Python has it: its parser, the type of an object, access to values of untrusted JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

#: A JSON object.
Json = dict[str, Any]

MAX_DEPTH = 100  # levels of lists and objects; an answer has 8, a turn with tools some more
MAX_VALUES = 500_000  # lists, objects and what they hold: each may take 150 bytes
MAX_NUMBER_CHARS = 400  # a finite number in full has 309 digits at most
#: A text, also one without an end, or what begins a value.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


class InvalidJson(ValueError):
    """A text that is not JSON, or more than this program reads; the message says why and where."""


def parse_json(text: str | bytes, max_values: int = MAX_VALUES) -> Any:
    """The value of a JSON text; bytes are UTF-8. Raises InvalidJson, and nothing else.

    As `json.loads`, with limits: at most MAX_DEPTH levels and `max_values`, numbers that a float
    can hold, no NaN and no Infinity. Of a key that occurs twice, the last value counts. The
    caller bounds the size.
    """
    return _parse(lambda: _DECODER.decode(bound_values(_decode(text), max_values)))


def parse_first_json(text: str, start: int) -> Any:
    """The value of the JSON that begins at an offset; what follows it is ignored.

    Limits and errors are those of `parse_json`.
    """
    return _parse(lambda: _DECODER.raw_decode(bound_values(text), start)[0])


def _decode(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    return text.decode("utf-8-sig", "surrogatepass")  # as `json.loads`


def bound_values(text: str, most: int = MAX_VALUES) -> str:
    """The text of JSON. Raises InvalidJson where it holds more values than that."""
    if sum(map(text.count, "[{,")) > most:  # those within texts are counted too: look closer
        tokens = (1 for token in _TOKEN.finditer(text) if text[token.start()] != '"')
        if any(n > most for n, _ in enumerate(tokens, 1)):
            raise InvalidJson(f"it holds more than {most:,} values")
    return text


def _parse(decode: Callable[[], Any]) -> Any:
    try:
        value = decode()
    except RecursionError:
        raise _depth_error() from None
    except UnicodeDecodeError as error:
        raise InvalidJson(f"it is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise InvalidJson(str(error)) from None
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    """Raises InvalidJson for a value of more than MAX_DEPTH levels. It does not recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        children = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        level = children
    if level:
        raise _depth_error()


def _depth_error() -> InvalidJson:
    return InvalidJson(f"it is nested more than {MAX_DEPTH} levels deep")


def _parse_integer(digits: str) -> int:
    _parse_float(digits)  # so that each integer can become a float without an OverflowError
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits) if len(digits) <= MAX_NUMBER_CHARS else math.inf
    if math.isinf(number):
        raise InvalidJson(f"the number {digits[:20]}... is too large or too long")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(
    parse_int=_parse_integer, parse_float=_parse_float, parse_constant=_refuse_constant
)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed, keys too. At most MAX_DEPTH levels deep."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): map_texts(child, change) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map_texts(child, change) for child in value)
    return value


def get_path(value: object, *keys: str | int) -> Any:
    """The value at a path of keys and indexes; None where the path does not exist."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def get_objects(value: object, *keys: str | int) -> list[Json]:
    """The objects in the list at a path, other items left out; `[]` where there is no list."""
    items = get_path(value, *keys)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
