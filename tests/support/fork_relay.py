"""A fast `python` for the scripts of tests: `python -IS fork_relay.py ADDRESS ARGUMENTS`.

It asks the server of `processes.py` for a fork that is `python ARGUMENTS`, with its own streams,
and ends as that one ends. Servers, which are ended by a signal, get a real interpreter.
"""

from __future__ import annotations

import json
import os
import socket
import sys

SERVERS = {"serve", "mcp"}


def main(address: str, *arguments: str) -> int:
    """The exit status of `python ARGUMENTS`, as a shell has it."""
    is_command = arguments[:1] in (("-m",), ("-c",))
    if not is_command or SERVERS & set(arguments[:3]):
        os.execv(sys.executable, [sys.executable, *arguments])
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(address)
        socket.send_fds(link, [b"\0"], [0, 1, 2])
        request = [arguments, os.getcwd(), dict(os.environ), False]  # noqa: PTH109
        link.sendall(json.dumps(request).encode() + b"\n")
        with link.makefile("rb") as stream:
            stream.readline()
            status = os.waitstatus_to_exitcode(int(stream.readline()))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
