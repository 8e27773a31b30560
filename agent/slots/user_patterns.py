"""Regular expressions of users: read and matched by RE2, in time linear in the text.

Python's own matcher takes exponential time for some patterns, and holds the interpreter meanwhile.
RE2's syntax is that of JSON Schema (ECMA 262) without what cannot be matched in linear time:
https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from agent.errors import UsageError

LONGEST = 200  # characters of a pattern
LONGEST_TEXT = 1000  # characters; no value is longer
MEMORY = 4 << 20  # bytes of a compiled pattern: matching a whole text then takes 0.1 s at most
REMEDY = (
    "Write it without backreferences and lookaround, with repetitions up to 1000: "
    "the syntax is RE2's."
)
_CODE = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9a-fA-F]{4})")  # as ECMA 262 writes a character


def compile_pattern(pattern: str) -> None:
    """Check that a pattern can be matched. Raises UsageError: what is wrong, and what to use."""
    if len(pattern) > LONGEST:
        raise UsageError(f"the pattern is longer than {LONGEST} characters", "Shorten it.")
    import re2

    try:
        _compile(pattern)
    except re2.error as error:
        why = error.args[0] if error.args else "it cannot be read"
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise UsageError(f"the pattern cannot be matched ({why})", REMEDY) from None


@lru_cache(maxsize=2048)
def has_match(pattern: str, text: str) -> bool:
    """Whether a pattern that `compile_pattern` accepts matches anywhere in a text.

    A text of more than `LONGEST_TEXT` characters matches nothing.
    """
    return len(text) <= LONGEST_TEXT and _compile(pattern).search(_encodable(text)) is not None


@cache
def validator_class() -> Any:
    """JSON Schema's validator (draft 2020-12) with `pattern` in linear time."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    return extend(Draft202012Validator, {"pattern": _pattern_errors})


def _pattern_errors(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not has_match(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@lru_cache(maxsize=32)
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    return re2.compile(_CODE.sub(r"\1\\x{\2}", _encodable(pattern)), options)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
