"""The command line as processes that start in milliseconds, to be killed by the dozen.

A fresh interpreter needs 0.7 s for the imports of a run. So one server process imports them once,
and each run is a fork of it, with its own arguments, environment, directory and output files.
`python -m tests.processes SOCKET` is that server process.
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
TIMEOUT = 60.0  # seconds: ends a run that hangs; far more than a loaded machine needs


class RunProcess:
    """A running command; use it as a context manager, which kills it at the end."""

    def __init__(self, link: socket.socket, folder: Path) -> None:
        self._status_stream = link.makefile("rb", buffering=0)  # so that `select` sees unread bytes
        self._link = link
        self._folder = folder
        self.pid = int(self._status_stream.readline())
        self.status: int | None = None

    def __enter__(self) -> RunProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._status_stream.close()
        self._link.close()

    def send(self, number: signal.Signals) -> None:
        """Send a signal if the process still runs.

        The pid is not reused before its parent has waited for it.
        """
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> int:
        """Kill it with SIGKILL; the exit status is not -9 if it had ended by itself."""
        self.send(signal.SIGKILL)
        return self.wait()

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself within so many seconds."""
        return self.status is not None or bool(select.select([self._link], [], [], seconds)[0])

    def wait(self) -> int:
        """Wait for the exit status, which is negative for a signal."""
        if self.status is None:
            self._link.settimeout(TIMEOUT)
            self.status = os.waitstatus_to_exitcode(int(self._status_stream.readline()))
        return self.status

    @property
    def stdout(self) -> bytes:
        return (self._folder / "stdout").read_bytes()

    @property
    def stderr(self) -> str:
        return (self._folder / "stderr").read_text("utf-8")

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON object that it printed on standard output."""
        self.wait()
        assert self.stdout.endswith(b"\n") and "Traceback" not in self.stderr, self.stderr
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        return value


class Starter:
    """The server process that forks runs; use it as a context manager. Threads may share it."""

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
        self._process.communicate(timeout=TIMEOUT)  # it ends when its standard input does
        self._folder.cleanup()

    def start(
        self, *arguments: str, cwd: Path, environment: Mapping[str, str], largest: int = 0
    ) -> RunProcess:
        """Start `python -m agent.cli` with these arguments.

        `largest`: the maximal size of a file in bytes, to simulate a full disk; 0: no limit.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        link = socket.socket(socket.AF_UNIX)
        link.connect(self._address)
        command = [list(arguments), str(cwd), dict(environment), str(folder), largest]
        link.sendall(json.dumps(command).encode() + b"\n")
        return RunProcess(link, folder)


def find_ray_workers(command: int) -> list[int]:
    """Return the pids of a batch's workers, which Ray names by their class."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_descendant(int(entry.name), command):
            name = (entry / "cmdline").read_bytes()
            if name.startswith(b"ray::Worker"):
                found.append(int(entry.name))
    return found


def is_descendant(pid: int, from_pid: int) -> bool:
    while pid > 1:
        if pid == from_pid:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


# --- in the server process ----------------------------------------------------------------------


def main(address: str) -> None:
    """Fork a run for each connection, until standard input ends."""
    import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are not waited for
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while listener in (ready := select.select([listener, sys.stdin], [], [])[0]):
            link, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                supervise(link)
            link.close()
        assert ready


def import_all() -> None:
    """Import what a run imports. No thread may be left: threads do not survive a fork."""
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


def supervise(link: socket.socket) -> None:
    """Fork the run, send its pid, wait for it and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with link.makefile("rwb") as stream:
        arguments, cwd, environment, folder, largest = json.loads(stream.readline())
        pid = os.fork()
        if pid == 0:
            if largest:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            run_command(arguments, cwd, environment, Path(folder))
        stream.write(f"{pid}\n".encode())
        stream.flush()
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):
            stream.write(f"{status}\n".encode())
            stream.flush()
    os._exit(0)


def run_command(arguments: list[str], cwd: str, environment: dict[str, str], folder: Path) -> None:
    """Become the command line: replace output, directory, environment and arguments."""
    from agent.cli import main as command

    os.closerange(3, 256)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
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
