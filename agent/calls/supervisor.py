"""Runs a command of others, and kills all that came of it, in whatever session or group it is.

A script that imports nothing of this program. As subreaper it becomes the parent of every process
that its descendants leave behind. It kills them when its standard input ends, which it does however
the program ends, or when the command ends.

`python -IS supervisor.py messages MAX_LINE MAX_BYTES COMMAND...` passes the messages of an MCP
server on in bounds, leaves out what is none, and writes the reason of its end on stderr.
`python -IS supervisor.py browser READ WRITE MAX_FILE COMMAND...` gives a browser its two pipes as
file descriptors 3 and 4, and gives up root. None of its files may be longer than `MAX_FILE`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

GRACE = 1.0  # seconds in which a server may end by itself once its input has ended
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
ROUNDS = 100  # of killing: a process may start another one meanwhile


def end(reason: str = "") -> NoReturn:
    """Say why, and kill all that was started, and this process with its group."""
    with suppress(OSError):
        os.write(2, reason.encode())
    for _ in range(ROUNDS):
        if not (found := find_descendants(os.getpid())):
            break
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        with suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os.killpg(0, signal.SIGKILL)
    raise SystemExit


def find_descendants(root: int) -> set[int]:
    """The descendants of a process, where the system lists them; without zombies."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = stat.read_text("latin-1").rpartition(")")[2].split()[:2]
            parents[int(stat.parent.name)] = int(parent) if state != "Z" else 0
    found, new = set[int](), {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def feed(requests: IO[bytes]) -> None:
    """Pass on what comes in; at its end, end all."""
    with suppress(OSError):
        while data := os.read(0, 65_536):
            requests.write(data)
    with suppress(OSError):
        requests.close()
    time.sleep(GRACE)
    end()


def is_message(line: bytes) -> bool:
    """Whether a line is one of the protocol, and no noise."""
    with suppress(ValueError, RecursionError):
        return "jsonrpc" in dict(json.loads(line))
    return False


def pass_on(answers: IO[bytes], max_line: int, max_bytes: int) -> None:
    """Pass on the messages of a server."""
    while line := answers.readline(max_line + 1):
        max_bytes -= len(line)
        if len(line) > max_line:
            end(f"it sent a message of more than {max_line:,} bytes")
        if max_bytes < 0:
            end("it sent too much in all")
        if is_message(line):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def keep_server(max_line: str, max_bytes: str, *command: str) -> None:
    """Run an MCP server until it or its input ends."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, bufsize=0, **pipes)  # type: ignore[call-overload]
    threading.Thread(target=feed, args=(server.stdin,), daemon=True).start()
    with suppress(OSError), open(server.stdout.fileno(), "rb", closefd=False) as answers:  # noqa: PTH123
        pass_on(answers, int(max_line), int(max_bytes))
    end("it ended")


def keep_browser(read: str, write: str, max_file: str, *command: str) -> None:
    """Run a browser until it or the standard input ends."""
    import fcntl
    import pwd
    import resource

    pipes = [fcntl.fcntl(int(pipe), fcntl.F_DUPFD_CLOEXEC, 10) for pipe in (read, write)]
    for number, pipe in enumerate(pipes, 3):
        os.dup2(pipe, number)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(max_file), int(max_file)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    user = {"user": nobody[2], "group": nobody[3], "extra_groups": []} if nobody else {}
    browser = subprocess.Popen(command, pass_fds=(3, 4), **user)  # type: ignore[call-overload]
    for pipe in (3, 4, *pipes):
        os.close(pipe)
    threading.Thread(target=lambda: end(str(browser.wait())), daemon=True).start()
    while os.read(0, 1):
        pass
    end()


def main() -> None:
    """Run the command of the arguments."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    keep = keep_browser if sys.argv[1] == "browser" else keep_server
    try:
        keep(*sys.argv[2:])
    except OSError as error:
        end(f"it cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
