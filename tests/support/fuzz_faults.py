"""Parsers with one fault each, to prove that `make fuzz` finds it."""

from __future__ import annotations

import ctypes
import re
import threading

from fuzz.target import Target

_SEEDS = (b"a seed", b"another")
_LEAKED: list[bytes] = []


def _raise(data: bytes) -> None:
    if len(data) > 7:
        raise KeyError("a fault that no parser may have")


def _loop_in_native_code(data: bytes) -> None:
    """The interpreter's lock is held: no thread and no signal handler of Python runs."""
    if len(data) > 7:
        re.match("(a|a)*$", "a" * 60 + "!")


def _wait(data: bytes) -> None:
    if len(data) > 7:
        threading.Event().wait()


def _die(data: bytes) -> None:
    if len(data) > 7:
        ctypes.string_at(0)


def _leak(data: bytes) -> None:
    _LEAKED.append(b"x" * 100_000)


def _refuse(data: bytes) -> None:
    raise ValueError("as it should")


raises = Target(_raise, seeds=_SEEDS)
loops = Target(_loop_in_native_code, seeds=_SEEDS)
waits = Target(_wait, seeds=_SEEDS)
dies = Target(_die, seeds=_SEEDS)
leaks = Target(_leak, seeds=_SEEDS)
refuses = Target(_refuse, (ValueError,), seeds=_SEEDS)
