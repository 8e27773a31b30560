"""Locks between processes: one process writes a file, and others find it locked."""

from __future__ import annotations

from collections.abc import Callable
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
        return (lambda: None) if is_locked else None
    lock = FileLock(f"{path}.lock", thread_local=False, poll_interval=POLL_SECONDS)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        return None
    return lock.release
