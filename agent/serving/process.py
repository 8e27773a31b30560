"""What a server process sets for itself, so that it answers and stays small under load."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

#: How long a thread may hold the interpreter's lock while others wait, in seconds; Python's own
#: value is 0.005. The event loop takes the lock anew after each wait, behind every run that
#: computes. Found with `python -m benchmarks.server`: re-run it after a change. Below 0.0005 the
#: switches themselves cost more than they gain.
SWITCH_SECONDS = 0.0005
#: Heaps of glibc; its own value is 8 for each core. Each keeps the most that its threads ever
#: needed, and threads come and go with runs. They take turns at the lock, so two are enough.
HEAPS = 2
_M_ARENA_MAX = -8  # of <malloc.h>


def prepare_process() -> None:
    """Share the interpreter's lock evenly and bound the heaps; before the first thread starts."""
    sys.setswitchinterval(SWITCH_SECONDS)
    if libc := _glibc():
        libc.mallopt(_M_ARENA_MAX, HEAPS)


def release_memory() -> None:
    """Free what runs have left, and give it back to the system where the C library can (glibc).

    To be called while no run is running: it holds the interpreter's lock for up to 0.05 s.
    """
    _freeze_imports()
    gc.collect()
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _freeze_imports() -> None:
    """Once: leave all that lives now, nearly all of it imported, out of garbage collections.

    Each of them would hold the interpreter's lock for 0.1 s, also one made here beforehand.
    """
    gc.freeze()


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library of this process where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
