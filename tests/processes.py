"""The command line as processes that start in milliseconds, to be killed by the dozen.

A fresh interpreter takes 0.7 s to import all that a run needs. So one process imports it once, and
each run is a fork of that one: a process of its own, with the arguments, the environment, the
directory and the files that it is given. `python -m tests.processes SOCKET` is that one process.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONGEST = 60.0  # seconds: a net under a run that hangs, far above what a loaded machine needs


class Started:
    """A run under way; use it as a context, so that it is gone at the end."""

    def __init__(self, link: socket.socket, folder: Path) -> None:
        self._said = link.makefile("rb", buffering=0)  # what is not yet read shows in `select`
        self._link = link
        self._folder = folder
        self.pid = int(self._said.readline())
        self.status: int | None = None

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._said.close()
        self._link.close()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs. Its number stays its own: its parent waits for it."""
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> int:
        """Kill it with SIGKILL; its exit status, which is not -9 if it had ended by itself."""
        self.send(signal.SIGKILL)
        return self.wait()

    def ended(self, seconds: float) -> bool:
        """Whether it ends by itself within so long."""
        return self.status is not None or bool(select.select([self._link], [], [], seconds)[0])

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        if self.status is None:
            self._link.settimeout(LONGEST)
            self.status = os.waitstatus_to_exitcode(int(self._said.readline()))
        return self.status

    @property
    def out(self) -> bytes:
        return (self._folder / "stdout").read_bytes()

    @property
    def err(self) -> str:
        return (self._folder / "stderr").read_text("utf-8")

    @property
    def answer(self) -> dict[str, Any]:
        """What it printed, which is one JSON object."""
        self.wait()
        assert self.out.endswith(b"\n") and "Traceback" not in self.err, self.err
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


class Starter:
    """The process that has imported everything; use it as a context. Threads may share it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._address = str(Path(self._folder.name) / "s")
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith(("_API_KEY", "_BASE_URL")) and not name.lower().endswith("_proxy")
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes", self._address],
            cwd=ROOT,
            env=clean,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout and self._process.stdout.readline() == b"ready\n"

    def __enter__(self) -> Starter:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=LONGEST)  # its standard input ends: so does it
        self._folder.cleanup()

    def start(
        self, *arguments: str, cwd: Path, environment: Mapping[str, str], largest: int = 0
    ) -> Started:
        """Start `python -m agent.cli` with these arguments.

        `largest`: bytes that a file may have, as if the disk were full beyond; 0: no limit.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        link = socket.socket(socket.AF_UNIX)
        link.connect(self._address)
        wanted = [list(arguments), str(cwd), dict(environment), str(folder), largest]
        link.sendall(json.dumps(wanted).encode() + b"\n")
        return Started(link, folder)


def workers(command: int) -> list[int]:
    """The processes of the workers of a batch, which Ray names by their class."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and descends(int(entry.name), command):
            name = (entry / "cmdline").read_bytes()
            if name.startswith(b"ray::Worker"):
                found.append(int(entry.name))
    return found


def descends(pid: int, from_pid: int) -> bool:
    while pid > 1:
        if pid == from_pid:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


# --- in the process that is forked --------------------------------------------------------------


def main(address: str) -> None:
    """Fork a run for each connection, until standard input ends."""
    import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while listener in (ready := select.select([listener, sys.stdin], [], [])[0]):
            link, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                watch(link)
            link.close()
        assert ready


def import_all() -> None:
    """What a run imports on its way; no thread may be left, since threads do not survive a fork."""
    import google.genai.types  # noqa: F401

    import agent.llm.gemini
    import agent.run
    import agent.sources.cache
    import agent.sources.search.corpus  # noqa: F401
    from agent.answer import answer_validator
    from agent.sources.pages import extract

    extract.warm()
    answer_validator()
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def watch(link: socket.socket) -> None:
    """Fork the run, tell its number, wait for it and tell its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with link.makefile("rwb") as said:
        arguments, cwd, environment, folder, largest = json.loads(said.readline())
        pid = os.fork()
        if pid == 0:
            if largest:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            become(arguments, cwd, environment, Path(folder))
        said.write(f"{pid}\n".encode())
        said.flush()
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):
            said.write(f"{status}\n".encode())
            said.flush()
    os._exit(0)


def become(arguments: list[str], cwd: str, environment: dict[str, str], folder: Path) -> None:
    """Be the command line."""
    from agent.cli import main as command

    os.closerange(3, 256)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.update(environment)
    sys.argv = ["agent.cli", *arguments]
    command()


if __name__ == "__main__":
    main(sys.argv[1])
