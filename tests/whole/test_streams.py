"""Output is whole or an error: full disks, closed streams, readers that go away, interrupts.

Each command is a real process with real streams.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import OutputFailed, UsageError
from agent.run.output_files import require_writable, write_all, write_file
from tests.support.processes import interpreter_command, start_command
from tests.support.services import HANGS, Services
from tests.support.thinker import Fact, Thinker
from tests.support.web import wait_until

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"
ASKED = ("cli", "--offline", TOPIC)
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")


class Ended(subprocess.CompletedProcess[bytes]):
    """A finished command."""

    def lines(self) -> list[str]:
        """What it wrote on standard error, without blank lines."""
        assert b"Traceback" not in self.stderr, self.stderr.decode()
        return [line for line in self.stderr.decode().splitlines() if line.strip()]


def begin(
    folder: Path,
    arguments: Sequence[str],
    *,
    shut: str = "",
    prepare: Callable[[], None] | None = None,
    environment: dict[str, str] | None = None,
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """Start a command by `python -m agent.cli`. `shut`: redirections of a shell, such as `>&-`.

    What changes how Python opens its streams is for a real interpreter, the rest for a fork.
    """
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    clean["PYTHONDONTWRITEBYTECODE"] = "1"  # with `limit_files`, Python would leave torn .pyc files
    clean |= {"RUNS_DIR": "runs", "CACHE_DIR": "cache"}
    name, *rest = arguments
    defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {"cwd": folder, "env": {**clean, **(environment or {})}, **defaults, **streams}
    words = ["-m", "agent.cli", *([] if name == "cli" else [name]), *rest]
    is_real = "&-" in shut or prepare or "PYTHONUNBUFFERED" in (environment or {})
    if not (is_real or shut or name == "mcp"):
        return start_command(*words, **options)
    python = [sys.executable] if is_real else interpreter_command()
    shell = ["/bin/sh", "-c", f'exec "$@" {shut}', "sh", *python, *words]
    return subprocess.Popen(shell, preexec_fn=prepare, **options)


def run(folder: Path, arguments: Sequence[str], **options: Any) -> Ended:
    process = begin(folder, arguments, **options)
    out, err = process.communicate(timeout=60)
    return Ended(process.args, process.returncode, out or b"", err or b"")


def limit_files(size: int) -> Callable[[], None]:
    """Files may have so many bytes: writing more fails, after a part was written."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a journal, a set of questions and a file of topics."""
    made = tmp_path_factory.mktemp("streams")
    done = run(made, [*ASKED, "--resume", "monday"])
    assert done.returncode == 0 and not done.stderr
    (made / "topics.txt").write_text(f"{TOPIC}\n", "utf-8")
    (made / "set.jsonl").write_text(json.dumps({"prompt": TOPIC, "answer": "Argentina"}), "utf-8")
    return made


BATCH = ("batch", "topics.txt", "--offline", "--concurrency", "1", "--out")
EVALUATE = ("evaluate", "set.jsonl", "--offline", "--results")
COMMANDS: dict[str, tuple[str, ...]] = {
    "json": ASKED,
    "error": ("cli", "--nonsense"),
    "schema": ("cli", "--schema"),
    "trace": ("runs", "trace", "monday"),
    "batch": (*BATCH, "rows.jsonl"),
    "evaluate": (*EVALUATE, "results"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["json", "error", "schema", "trace"])
def test_output_that_is_cut_short_is_an_error_of_one_line(command: str, folder: Path) -> None:
    """A raw stream takes a part of what it is given: with PYTHONUNBUFFERED, this was status 0."""
    size = 1000 if command in ("schema", "json") else 10
    out = folder / f"{command}.out"
    environment = {"PYTHONUNBUFFERED": "1"}
    with out.open("wb") as file:
        limit = limit_files(size)
        done = run(folder, COMMANDS[command], environment=environment, stdout=file, prepare=limit)
    assert done.returncode not in (0, 130) and out.stat().st_size == size
    assert len([line for line in done.lines() if "put could not be written: " in line]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_closed_output_is_an_error_of_one_line(command: str, folder: Path) -> None:
    done = run(folder, COMMANDS[command], shut=">&-")
    assert done.returncode not in (0, 130)
    assert len([line for line in done.lines() if "standard output is closed" in line]) == 1


@pytest.mark.slow
def test_a_reader_that_goes_away_after_a_byte(folder: Path) -> None:
    read, write = os.pipe()
    fcntl(write, F_SETPIPE_SZ, 4096)
    process = begin(
        folder, ("cli", "--schema"), stdout=write, environment={"PYTHONUNBUFFERED": "1"}
    )
    os.close(write)
    assert os.read(read, 1) == b"{"
    os.close(read)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err == b""  # whoever closed the pipe knows


def test_a_reader_that_is_slow_and_a_stream_that_never_waits_get_every_byte(folder: Path) -> None:
    """Another process may have set the pipe that both share to non-blocking."""
    whole = run(folder, ("cli", "--schema")).stdout
    read, write = os.pipe()
    fcntl(write, F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    process = begin(folder, ("cli", "--schema"), stdout=write)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as stream:
        pieces = iter(lambda: stream.read(700), b"")
        assert b"".join(pieces) == whole
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not err


@needs_full
def test_what_could_not_be_printed_is_printed_again_from_the_journal(folder: Path) -> None:
    with FULL.open("wb") as full:
        done = run(folder, ASKED, stdout=full)
    assert done.returncode == 1
    flag, journal = done.lines()[0].rpartition("print it again with ")[2].split()
    again = run(folder, ("cli", flag, journal))
    assert again.returncode == 0 and json.loads(again.stdout)["status"] == "complete"


# --- standard error -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flag", "shut"),
    [("--verbose", "2>&-"), pytest.param("--events", "2>/dev/full", marks=needs_full)],
)
def test_a_broken_standard_error_costs_no_answer(flag: str, shut: str, folder: Path) -> None:
    done = run(folder, (*ASKED, flag, "--compact"), shut=shut)
    assert done.returncode == 0 and not done.stderr
    assert json.loads(done.stdout)["status"] == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("shut", ["<&- >&- 2>&-", "2>&-"])
def test_no_other_file_gets_the_number_of_a_closed_stream(shut: str, folder: Path) -> None:
    """Else what is meant for a terminal would be written into a journal."""
    name = f"closed-{len(shut)}"
    done = run(folder, (*ASKED, "--verbose", "--resume", name, "--out", f"{name}.json"), shut=shut)
    lines = (folder / "runs" / f"{name}.jsonl").read_text("utf-8").splitlines()
    assert len(lines) > 3 and all(isinstance(json.loads(line), dict) for line in lines)
    assert json.loads((folder / f"{name}.json").read_bytes())["status"] == "complete"
    assert bool(done.returncode) == (">&- 2" in shut) and not done.stderr


@pytest.mark.parametrize(
    ("command", "shut", "status"), [("cli", "<&-", 2), ("mcp", "<&-", 2), ("mcp", ">&-", 1)]
)
def test_closed_standard_input_is_wrong_usage(
    command: str, shut: str, status: int, folder: Path
) -> None:
    if command == "mcp":
        pytest.importorskip("mcp")
    done = run(folder, (command, "--offline", *("-",) * (command == "cli")), shut=shut)
    assert done.returncode == status
    message = done.lines()[0] if command != "cli" else json.loads(done.stdout)["error"]["message"]
    assert "is closed" in message


@pytest.mark.slow
@pytest.mark.parametrize("what", ["SIGINT", "reader"])
def test_a_tool_server_ends_while_its_client_says_nothing(what: str, folder: Path) -> None:
    """Its standard input stays open: an interrupt ends it, and so does a client that left."""
    pytest.importorskip("mcp")
    process = begin(folder, ("mcp", "--offline"), stdin=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    process.stdin.write(json.dumps(call).encode() + b"\n")
    process.stdin.flush()
    assert b'"result"' in process.stdout.readline()
    if what == "reader":
        process.stdout.close()
    else:
        process.send_signal(signal.Signals[what])
    assert process.wait(60) == (1 if what == "reader" else 130)
    assert b"Traceback" not in process.stderr.read()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


# --- files ----------------------------------------------------------------------------------------


@given(st.binary(max_size=200), st.lists(st.one_of(st.none(), st.integers(1, 50)), max_size=9))
def test_every_byte_is_written_however_few_a_stream_takes(
    data: bytes, counts: list[int | None]
) -> None:
    got, left = bytearray(), [count for count in counts if count][:8]

    def write(rest: memoryview) -> int | None:
        if len(left) % 3 == 2:
            left.append(1)
            raise BlockingIOError
        piece = rest[: left.pop() if left else len(rest)]
        got.extend(piece)
        return len(piece)

    write_all(write, data)
    assert bytes(got) == data
    with pytest.raises(OSError):
        write_all(lambda _: 0, b"x")


@pytest.mark.slow
def test_a_file_on_a_full_disk_stays_as_it_was(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_text("of yesterday", "utf-8")
    done = run(folder, (*ASKED, "--out", str(file)), prepare=limit_files(100))
    assert done.returncode == 1 and file.read_text("utf-8") == "of yesterday"
    assert f"{file} could not be written: File too large" in done.lines()[0]
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert done.stdout.endswith(b"}\n")


def test_a_file_keeps_its_mode_and_a_link_and_a_pipe_stay_such(tmp_path: Path) -> None:
    file, link, fifo = (tmp_path / name for name in ("file", "link", "pipe"))
    write_file(file, "new \ud800")
    mask = os.umask(0)
    os.umask(mask)
    assert file.read_bytes() == b"new ?" and stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    file.chmod(0o640)
    link.symlink_to("file")
    write_file(link, "again")
    assert link.is_symlink() and file.read_text() == "again"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_file(fifo, "through")
    assert os.read(reader, 100) == b"through" and stat.S_ISFIFO(fifo.stat().st_mode)
    os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "pipe"]
    for path in (tmp_path, tmp_path / "none" / "file"):
        with pytest.raises(UsageError, match="cannot be written|There is no folder"):
            require_writable(path)
        with pytest.raises(OutputFailed, match="could not be written"):
            write_file(path, "x")
    require_writable(None)
    require_writable(file)


# --- a small disk ---------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no disk can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_is_a_mount_point_is_written_in_place(small_disk: Path, tmp_path: Path) -> None:
    """As a file that is mounted into a container: nothing can be renamed over it."""
    file, mounted = small_disk / "file", small_disk / "mounted"
    file.write_text("of yesterday" * 10, "utf-8")
    mounted.touch()
    subprocess.run(["mount", "--bind", str(file), str(mounted)], check=True)
    try:
        write_file(mounted, "new")
        assert file.read_text("utf-8") == "new"
        with pytest.raises(OutputFailed, match="No space left"):
            write_file(mounted, "x" * 70_000)
        assert file.read_text("utf-8").rstrip("\0") == "new"
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


@pytest.mark.slow
def test_a_batch_on_a_full_disk_keeps_whole_rows_and_goes_on(
    folder: Path, small_disk: Path
) -> None:
    (folder / "many.txt").write_text(f"{TOPIC}\n" * 3, "utf-8")
    rows = small_disk / "rows.jsonl"
    batch = ("batch", "many.txt", *BATCH[2:], str(rows))
    (small_disk / "ballast").write_bytes(b"x" * (40 * 1024))
    done = run(folder, batch)
    assert done.returncode == 1 and "No space left" in done.lines()[-2]
    kept = rows.read_text("utf-8").splitlines(keepends=True)
    assert 0 < len(kept) < 3
    assert all(line.endswith("\n") and json.loads(line)["status"] for line in kept)
    (small_disk / "ballast").unlink()
    assert run(folder, batch).returncode == 0
    after = rows.read_text("utf-8").splitlines(keepends=True)
    assert after[: len(kept)] == kept and len(after) == 3


# --- interrupts -----------------------------------------------------------------------------------


def hang(world: Services, what: str) -> Callable[[], object]:
    """Let one service hang until the test ends; returns a test of whether it was asked."""
    if what == "model":
        world.think = lambda _: HANGS
        return lambda: world.model_requests
    if what == "search":
        world.hits = lambda _: HANGS
        return lambda: world.search_queries
    world.pages = {"final": HANGS}
    return lambda: world.page_requests


@pytest.mark.parametrize("what", ["model", "search", "page"])
def test_the_first_interrupt_works_while_a_service_hangs(
    what: str, services: Services, tmp_path: Path
) -> None:
    """As a terminal sends it: to the command and to every process that it started."""
    services.pages = {"final": "Argentina won the cup."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup winner"])
    is_asked = hang(services, what)
    process = begin(
        tmp_path, ("cli", TOPIC), environment=services.environment(tmp_path), start_new_session=True
    )
    wait_until(is_asked, 60)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    answer = json.loads(out)
    assert process.returncode in (0, 3) and b"Stopping" in err and b"Traceback" not in err
    assert "stopped" in " ".join(answer["warnings"]) or answer["status"] != "complete"
