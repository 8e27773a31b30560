"""A process that reads pages and files for the program: bytes in, title and text out.

What it reads is hostile: a crash, a hang or a leak costs one page and never the run. It has no
environment, no key and no connection, and it may neither write files nor start processes.

A request is one line of JSON (`content_type`, `url`, `suffix`, `size`) and `size` bytes on stdin.
The answer is lines of JSON on stdout: `part` for text that is ready early, then `done` or `failed`.
"""

import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

MAX_MEMORY = 2**30  # bytes of address space
#: For one page, or one part of a file; a safety net, since the program ends it earlier.
MAX_CPU_SECONDS = 20
#: Kilobytes that were in use at once, above which a process ends after its answer: memory that
#: was freed is not always given back, and one hostile page must not make all later ones dear.
MAX_PEAK_KILOBYTES = 300_000
IDLE_SECONDS = 60  # without a request, after which it ends
CHECK_SECONDS = 1.0  # between two settings of a limit: one costs as much as a small file
SLOW_SECONDS = 0.05  # a page that takes less cannot use much memory
#: Audit events of what reading never does; Python raises them before it acts.
FORBIDDEN_EVENTS = (
    *("socket.connect", "socket.bind", "socket.send", "socket.get", "subprocess."),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn"),
)


def main(paths: list[str], is_warm: bool) -> None:
    """Answer requests until stdin ends, or until it is idle for a minute."""
    sys.path[:] = paths
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    requests = sys.stdin.buffer
    from agent.documents import reading

    if is_warm:
        reading.warm()
    limit_resources()
    sys.addaudithook(refuse_event)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    checked_at = -CHECK_SECONDS
    while line := requests.readline():
        start = time.monotonic()
        if start - checked_at >= CHECK_SECONDS:
            checked_at = start
            signal.alarm(IDLE_SECONDS)
            limit_cpu_time()
        is_well = answer_request(json.loads(line), requests, answers)
        is_slow = time.monotonic() - start > SLOW_SECONDS
        if not is_well or (is_slow and peak_kilobytes() > MAX_PEAK_KILOBYTES):
            return


def answer_request(header: dict[str, Any], requests: BinaryIO, answers: BinaryIO) -> bool:
    """Read one page or file and write its title and text, or the reason why it has none.

    Returns whether this process may go on: not after it had too little memory.
    """
    from agent.documents import reading

    def write(**answer: Any) -> None:
        answers.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        answers.flush()

    def write_part(*part: Any) -> None:
        write(part=part)
        limit_cpu_time()

    try:
        body = requests.read(header.pop("size"))
        write(done=reading.read_body(body, **header, on_part=write_part))
    except reading.UnreadablePage as error:
        write(failed=[str(error), error.outcome])
    except MemoryError:
        write(failed=["it needs too much memory", "invalid"])
        return False
    return True


def limit_resources() -> None:
    """Make the system end this process at its limits, where it has such and none is lower."""
    sys.dont_write_bytecode = True
    limits = {"RLIMIT_AS": MAX_MEMORY, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NPROC": 0}
    # Xberg has threads: it may lift the limit for itself, and nothing else may
    may_lift = {"RLIMIT_NPROC"} if find_spec("xberg") else set()
    for name, most in limits.items():
        with suppress(AttributeError, ValueError, OSError):  # macOS limits no address space
            kind = getattr(resource, name)
            _, hard = resource.getrlimit(kind)
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (limit, hard if name in may_lift else limit))


def limit_cpu_time() -> None:
    """Give the next page its own processor time: the limit counts from the start of a process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + MAX_CPU_SECONDS
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def peak_kilobytes() -> int:
    """The largest memory that was in use at once.

    On Linux `ru_maxrss` is no less than that of the process which started this one (getrusage(2)),
    so there `VmHWM` of proc(5) is read.
    """
    status = ""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text("ascii", "replace")
    if peak := status.partition("\nVmHWM:")[2].split():
        return int(peak[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # macOS counts bytes


def refuse_event(event: str, _: Any) -> None:
    """Refuse what reading never does: connections and other processes."""
    if event.startswith(FORBIDDEN_EVENTS):
        raise PermissionError(f"a worker does no {event}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:] == ["warm"])
    os._exit(0)  # threads of Xberg may end the interpreter's own end with an abort
