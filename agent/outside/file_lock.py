"""Locks between processes: one writes a file, others are told that it is in use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Release = Callable[[], None]
POLL_SECONDS = 0.002  # between two tries of a process that waits; a lock is held for less


def lock_file(file: int, path: Path, *, wait: bool = False) -> Release | None:
    """Lock an open file; returns what releases it, or None if another process has the lock.

    The system releases it when the process dies. Where it has no locks that let others read, as on
    Windows, `PATH.lock` is locked in place of the file. Raises OSError.
    """
    from filelock import FileLock, Timeout, has_fcntl, lock_descriptor

    if has_fcntl:  # to close the file releases it
        is_locked = lock_descriptor(file, blocking=wait, poll_interval=POLL_SECONDS)
        return _do_nothing if is_locked else None
    lock = FileLock(f"{path}.lock", thread_local=False, poll_interval=POLL_SECONDS)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        return None
    return lock.release


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock that a file of this name stands for; False if another process has it.

    Raises OSError.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    release = None
    try:
        release = lock_file(file, path, wait=wait)
        yield release is not None
    finally:
        if release:
            release()
        os.close(file)


def _do_nothing() -> None:
    pass
