"""Runs the command of an MCP server, passes its messages on in bounds, and kills all of it.

A script that imports nothing of this program: `python -IS keeper.py MAX_LINE MAX_BYTES COMMAND...`.
It leads a process group. When its standard input ends, which it does however the program ends that
holds the other side, or when the server ends or says too much, the group is killed. What the server
writes on standard output that is no message is left out; why it ended is told on standard error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, NoReturn

GRACE = 1.0  # seconds in which a server may end by itself once its input has ended


def end(reason: str = "") -> NoReturn:
    """Tell why, and kill the group, this process too."""
    with suppress(OSError):
        os.write(2, reason.encode())
    os.killpg(0, signal.SIGKILL)
    raise SystemExit


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


def main() -> None:
    """Run the command of the arguments."""
    max_line, max_bytes, *command = sys.argv[1:]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        server = subprocess.Popen(command, bufsize=0, **pipes)  # type: ignore[call-overload]
    except OSError as error:
        end(f"it cannot be started: {error.strerror}")
    threading.Thread(target=feed, args=(server.stdin,), daemon=True).start()
    with suppress(OSError), open(server.stdout.fileno(), "rb", closefd=False) as answers:  # noqa: PTH123
        pass_on(answers, int(max_line), int(max_bytes))
    end("it ended")


if __name__ == "__main__":
    main()
