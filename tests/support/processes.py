"""Commands as processes that start in milliseconds: run by the hundred, killed by the dozen.

A fresh interpreter needs most of a second for the imports of a run. So one server process imports
them once, and each command is a fork of it, with its own arguments, environment, directory and
standard streams. A test of an interpreter's start (flags, encodings, closed streams, imports) needs
a real one. `python -m tests.support.processes SOCKET` is the server.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import agent

ROOT = Path(__file__).parents[2]
TIMEOUT = 60.0  # seconds: ends a run that hangs; far more than a loaded machine needs
#: Libraries that the program imports where it needs them: imported before the forks.
LIBRARIES = "google.genai.types jsonschema lxml.html requests rich.live trafilatura".split()
#: Parts of the program that no fork needs, or that what comes with an extra makes heavy.
LEFT_OUT = ("agent.mcp_server", "agent.server", "agent.documents.worker")


def clean_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without keys, addresses and proxies of this machine, and these variables."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_BASE_URL")) and not name.lower().endswith("_proxy")
    }
    return {**clean, **(environment or {})}


#: The environment of these tests before any of them changes it.
MACHINE = clean_environment()


class ForkedCommand(subprocess.Popen[Any]):
    """`Popen` of `-m MODULE ...` or `-c CODE ...`, as a fork of the server process.

    Of the options of `Popen` it takes those of streams and text, `cwd`, `env` and
    `start_new_session`.
    """

    def __init__(self, command: Sequence[Any], **options: Any) -> None:
        super().__init__([os.fsdecode(part) for part in command], **options)

    def _execute_child(self, *arguments: Any) -> None:
        """What `Popen` calls to start the process, once it has made the pipes."""
        bound = inspect.signature(super()._execute_child).bind(*arguments).arguments  # type: ignore[misc]
        streams = [bound[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        streams = [own if fd < 0 else fd for own, fd in enumerate(streams)]
        folder = os.path.abspath(bound["cwd"] or ".")  # noqa: PTH100
        environment = dict(os.environ if bound["env"] is None else bound["env"])
        request = [bound["args"], folder, environment, bound["start_new_session"]]
        self._link = fork_server().connect(request, streams)
        self._status_stream = self._link.makefile("rb", buffering=0)  # `select` sees unread bytes
        self.pid = int(self._status_stream.readline())
        self._child_created = True
        self._close_pipe_fds(*(bound[name] for name in _PIPES))

    def _try_wait(self, flags: int) -> tuple[int, int]:
        """The pid and its status, if it has ended; the pid is not reused before."""
        if flags & os.WNOHANG and not select.select([self._link], [], [], 0)[0]:
            return 0, 0
        status = int(self._status_stream.readline())
        self._status_stream.close()
        self._link.close()
        return self.pid, status

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self.kill()  # else what failed waits for a command that nobody ends
        super().__exit__(kind, *error)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._child_created:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)
        return self.returncode


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def start_command(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
    """Start `python ARGUMENTS`, with the options of `Popen`; a fork where forks are safe."""
    if sys.platform != "linux":
        return subprocess.Popen([sys.executable, *arguments], **options)
    return ForkedCommand(arguments, **options)


def run_command(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run `python ARGUMENTS` to its end, and keep what it writes; options as for `Popen`."""
    return _finish(start_command, arguments, **options)


def run_interpreter(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    """The same in a real interpreter: for what depends on how one starts, or what it imports."""
    return _finish(
        lambda *args, **kw: subprocess.Popen([sys.executable, *args], **kw), arguments, **options
    )


def _finish(
    start: Callable[..., subprocess.Popen[Any]],
    arguments: Sequence[Any],
    input: Any = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    pipe = subprocess.PIPE
    stdin = subprocess.DEVNULL if input is None else pipe
    with start(
        *arguments, **{"stdin": stdin, "stdout": pipe, "stderr": pipe, **options}
    ) as process:
        try:
            out, err = process.communicate(input, TIMEOUT)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def interpreter_command() -> list[str]:
    """The words of a shell script that run `python` as a fork where forks are safe."""
    if sys.platform != "linux":
        return [sys.executable]
    relay = str(Path(__file__).with_name("fork_relay.py"))
    return [sys.executable, "-IS", relay, fork_server().address]


class RunProcess:
    """A running `python -m agent.cli`; use it as a context manager, which kills it at the end."""

    def __init__(self, process: subprocess.Popen[Any], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.pid = process.pid

    def __enter__(self) -> RunProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def status(self) -> int | None:
        """Its exit status, once it has been waited for."""
        return self._process.returncode

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
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.status is not None

    def wait(self) -> int:
        """Wait for the exit status, which is negative for a signal."""
        return self._process.wait(TIMEOUT)

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


def start_run(
    *arguments: str, cwd: Path, environment: Mapping[str, str], **options: Any
) -> RunProcess:
    """Start `python -m agent.cli` with output to files; options as for `ForkedCommand`."""
    folder = Path(tempfile.mkdtemp(dir=_output_folder()))
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = start_command(
            *("-m", "agent.cli", *arguments),
            cwd=cwd,
            env={**MACHINE, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            **options,
        )
    return RunProcess(process, folder)


@cache
def _output_folder() -> str:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class ForkServer:
    """The server process, and the socket by which it is asked for forks."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.address = str(Path(self._folder.name) / "s")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.processes", self.address],
            cwd=ROOT,
            env=MACHINE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout and self._process.stdout.readline() == b"ready\n"
        atexit.register(self.close)

    def close(self) -> None:
        """End the server process."""
        self._process.communicate(timeout=TIMEOUT)  # it ends when its standard input does
        self._folder.cleanup()

    def connect(self, request: list[Any], streams: list[int]) -> socket.socket:
        """A link to a new fork: its pid comes on a line, and its wait status when it has ended."""
        link = socket.socket(socket.AF_UNIX)
        link.connect(self.address)
        socket.send_fds(link, [b"\0"], streams)
        link.sendall(json.dumps(request).encode() + b"\n")
        return link


@cache
def fork_server() -> ForkServer:
    """The one server process of these tests, started when it is first needed."""
    return ForkServer()


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
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while listener in (ready := select.select([listener, sys.stdin], [], [])[0]):
            link, _ = listener.accept()
            if os.fork() == 0:
                try:
                    listener.close()
                    supervise(link)
                finally:
                    os._exit(0)
            link.close()
            reap_supervisors()
        assert ready
    reap_supervisors()


def reap_supervisors() -> None:
    """Wait for those that have ended: their processor time counts as that of the tests then."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def import_all() -> None:
    """Import what commands import, and build what a run builds at its first use.

    No thread may be left: threads do not survive a fork.
    """
    modules = [module.name for module in pkgutil.walk_packages(agent.__path__, "agent.")]
    for name in (*LIBRARIES, *modules):
        if not name.startswith(LEFT_OUT) and not name.endswith(".__main__"):
            importlib.import_module(name)
    from agent.documents import reading
    from agent.run.begin import research
    from agent.settings import parse_settings

    reading.warm()
    with tempfile.TemporaryDirectory() as folder:
        settings = parse_settings({"RUNS_DIR": folder, "CACHE_DIR": folder}, offline=True)
        assert research("Who won the 2022 FIFA World Cup?", settings).answer().citations
    while len(list(Path("/proc/self/task").iterdir())) > 1:
        time.sleep(0.01)  # a thread of that run imports to its end
    gc.collect()
    gc.freeze()  # else the first collection of each fork copies all pages


def supervise(link: socket.socket) -> None:
    """Fork the command, send its pid, wait for it and send its wait status."""
    streams = socket.recv_fds(link, 1, 3)[1]
    with link.makefile("rwb") as stream:
        arguments, cwd, environment, is_leader = json.loads(stream.readline())
        pid = os.fork()
        if pid == 0:
            if is_leader:
                os.setsid()
            become_command(arguments, cwd, environment, streams)
        for fd in streams:
            os.close(fd)
        stream.write(f"{pid}\n".encode())
        stream.flush()
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):
            stream.write(f"{status}\n".encode())
            stream.flush()


def become_command(
    arguments: list[str], cwd: str, environment: dict[str, str], streams: list[int]
) -> None:
    """Be `python ARGUMENTS` with these streams, in this directory. Never returns."""
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, 256)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    open_text_streams()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    own_path = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [cwd, *filter(None, own_path)]
    kind, what, *rest = arguments
    sys.argv = [kind, *rest]
    status = 1
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = main_module = ModuleType("__main__")
            exec(compile(what, "<string>", "exec"), main_module.__dict__)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(status)


def open_text_streams() -> None:
    """The standard streams as Python opens them; those of the server have its descriptors' kind."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main(sys.argv[1])
