"""One execution of a target: under limits, and what it raises kept as a find."""

from __future__ import annotations

import hashlib
import resource
import time
import traceback
from pathlib import Path

from evals.fuzz.current import CurrentInput
from evals.fuzz.target import Target

MOST_MEMORY = 3 * 2**30  # bytes of address space


class Executor:
    """Runs inputs through a target. An input that the target fails on is written to `folder`.

    Each kind of failure, by its type and place, is written once. An input that takes more than
    `seconds` of processor time ends the process, also inside native code that holds the
    interpreter's lock: the kernel ends it.
    """

    def __init__(self, name: str, target: Target, folder: Path, current: Path, seconds: int):
        self._name = name
        self._target = target
        self._folder = folder
        self._current = CurrentInput(current)
        self._seconds = seconds
        self._limited_at = -1.0

    def __call__(self, data: bytes) -> None:
        """Read one input."""
        data = bytes(data)
        self._limit_processor_time()
        self._current.begin(data)
        start = time.process_time()
        try:
            self._target.read(data)
        except self._target.refusals:
            pass
        except Exception as error:
            self._keep(data, error)
        self._current.end(time.process_time() - start)

    def _limit_processor_time(self) -> None:
        """Move the limit on, at most once a second: it counts from the start of the process."""
        now = time.monotonic()
        if now - self._limited_at < 1:
            return
        self._limited_at = now
        used = int(time.process_time()) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (used + self._seconds, hard))

    def _keep(self, data: bytes, error: BaseException) -> None:
        """Write the input and the stack of a failure that was not seen before."""
        frames = [
            f"{frame.filename}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        places = [place for place in frames if "/fuzz/" not in place] or frames
        kind = f"{type(error).__name__} {places[-1]}"
        file = self._folder / f"{self._name}-{hashlib.sha256(kind.encode()).hexdigest()[:12]}"
        if not file.exists():
            file.write_bytes(data)
            text = "".join(traceback.format_exception(error, limit=-12))
            file.with_suffix(".txt").write_text(f"{kind}\n\n{text}", "utf-8", "backslashreplace")


def limit_memory() -> None:
    """Let what asks for too much memory raise MemoryError. macOS has no such limit."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError):
        return
