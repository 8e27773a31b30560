"""Starts and ends the Chromium that renders a page, or prints one of ours, within bounds.

Each page has a process, a profile and a relay (`relay.py`) of its own, which end with it: no page
sees what another one stored. What is printed has no connection. The browser resolves no name, loads
no picture, keeps no download and inherits no variable of ours. `browser_tab.py` gives it commands.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from agent.calls import SUPERVISOR
from agent.calls.child_environment import system_environment
from agent.calls.supervisor import find_descendants
from agent.errors import ReadFailed
from agent.pages.browser_tab import BrowserTab, Rendered
from agent.pages.cdp import Pipes
from agent.pages.relay import GuardedRelay
from agent.state import host_of

NAMES = (
    "chromium-headless-shell chrome-headless-shell headless_shell chromium chromium-browser "
    "google-chrome google-chrome-stable"
).split()
REMEDY = (
    "Install a browser, such as Debian's chromium-headless-shell, or name one with "
    "RESEARCH_AGENT_PAGE_BROWSER_PATH."
)
AT_ONCE = 2  # browsers
MAX_MEMORY = 1_500_000_000  # bytes of all processes of one
MAX_DISK = 300_000_000  # bytes of its profile and its temporary files; and of any one file
EXIT_SECONDS = 2.0  # for all that a browser started to end
FLAGS = (
    "--headless --remote-debugging-pipe --no-first-run --disable-gpu --disable-extensions "
    "--disable-sync --disable-background-networking --disable-component-update --no-pings "
    "--disable-default-apps --disable-domain-reliability --disable-breakpad --disable-quic "
    "--disable-dev-shm-usage --mute-audio --blink-settings=imagesEnabled=false "
    "--proxy-bypass-list=<-loopback> --window-size=1280,1600 "
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp "
    "--webrtc-ip-handling-policy=disable_non_proxied_udp "
    "--js-flags=--max-old-space-size=512"
).split()
#: What the browser may resolve: its proxy, or nothing, so that it reaches nothing.
PROXY_ONLY, NOTHING = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "MAP * ~NOTFOUND"
NOWHERE = "http://nowhere.invalid:1"


def find_browser(named: Path | None = None) -> str | None:
    """The browser that is named, else the first that is installed; None: there is none."""
    if os.name == "nt":
        return None  # it has no such pipes
    names = [str(named)] if named else NAMES
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """Renders pages until it is closed. Can be used from many threads at once."""

    def __init__(self, program: str, user_agent: str) -> None:
        self._program = program
        self._user_agent = user_agent
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a page is rendered, or printed, now."""
        return bool(self._running)

    def render(self, url: str, seconds: float, make_relay: Callable[[], GuardedRelay]) -> Rendered:
        """Open a page, let its scripts run, and take what it shows. Raises ReadFailed.

        `make_relay` makes the way out of the page.
        """
        with self._take_turn(host_of(url), seconds) as end, closing(make_relay()) as relay:
            relay.find_proxy(url)
            with self._start(relay.url, PROXY_ONLY) as pipes:
                return BrowserTab(pipes, host_of(url), end).read(url)

    def print_page(self, html: str, name: str, seconds: float) -> bytes:
        """A page of ours as a PDF: its scripts are off, and it loads nothing. Raises ReadFailed."""
        with self._take_turn(name, seconds) as end, self._start(NOWHERE, NOTHING) as pipes:
            return BrowserTab(pipes, name, end).print(html)

    @contextmanager
    def _take_turn(self, name: str, seconds: float) -> Iterator[float]:
        """A turn, and when it is over. What fails in it is ReadFailed of what has this name."""
        end = time.monotonic() + seconds
        if not self._slots.acquire(timeout=seconds):
            raise _timed_out(name)
        try:
            yield end
        except TimeoutError:
            raise _timed_out(name) from None
        except MemoryError as error:
            fault = f"{name}: this page needs too much {error or 'memory'} in a browser."
            raise ReadFailed(fault, outcome="invalid") from None
        except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            fault = f"{name}: the browser failed ({type(error).__name__})."
            raise ReadFailed(
                fault, "Turn it off with --browser never.", outcome="invalid"
            ) from None
        finally:
            self._slots.release()

    @contextmanager
    def _start(self, proxy: str, resolves: str) -> Iterator[Pipes]:
        """A browser with a folder of its own, ended with all that it started."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            flags = [f"--proxy-server={proxy}", f"--host-resolver-rules={resolves}"]
            flags += [f"--user-data-dir={folder}", f"--user-agent={self._user_agent}"]
            if os.geteuid() == 0:  # the sandbox refuses root, which is given up instead
                shutil.chown(folder, "nobody")
                flags += ["--no-sandbox"]
            to_read, write = os.pipe()
            read, to_write = os.pipe()
            try:
                process = self._launch(folder, (to_read, to_write), [*FLAGS, *flags])
            except OSError:
                _close(read, write)
                raise
            finally:
                _close(to_read, to_write)
            try:
                yield Pipes(read, write, lambda: _check_bounds(process.pid, folder))
            finally:
                self._end(process)
                _close(read, write)

    def _launch(
        self, folder: str, pipes: tuple[int, int], flags: list[str]
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-IS", SUPERVISOR, "browser", *map(str, pipes), str(MAX_DISK)]
            + [self._program, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=pipes,
            cwd="/",
            env={**system_environment(), "HOME": folder, "TMPDIR": folder},
            start_new_session=True,
        )
        with self._lock:
            self._running.add(process)
            if self._is_closed:
                _tell_to_end(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Let the supervisor kill all; if it cannot, kill what is in its group."""
        _tell_to_end(process)
        try:
            process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with self._lock:
            self._running.discard(process)

    def close(self) -> None:
        """End all browsers; whoever waits for a page gets ReadFailed."""
        with self._lock:
            self._is_closed = True
            for process in self._running:
                _tell_to_end(process)


def _tell_to_end(process: subprocess.Popen[bytes]) -> None:
    """End the input of the supervisor, which ends all that it started, and itself."""
    if process.stdin:
        process.stdin.close()


def _close(*pipes: int) -> None:
    for pipe in pipes:
        os.close(pipe)


def _timed_out(name: str) -> ReadFailed:
    fault = f"{name}: the browser had no time to show this page."
    return ReadFailed(fault, "Raise RESEARCH_AGENT_PAGE_TIMEOUT.", outcome="timeout")


def _check_bounds(supervisor: int, folder: str) -> None:
    if _memory_of(find_descendants(supervisor)) > MAX_MEMORY:
        raise MemoryError
    if sum(_sizes_in(folder)) > MAX_DISK:
        raise MemoryError("disk")


def _memory_of(processes: set[int]) -> int:
    """Bytes that processes have in memory; of what they share, the most of one."""
    own, shared = 0, [0]
    for process in processes:
        with suppress(OSError, ValueError):
            sizes = Path(f"/proc/{process}/statm").read_text().split()
            _, resident, of_files, *_ = map(int, sizes)
            own += resident - of_files
            shared.append(of_files)
    return (own + max(shared)) * os.sysconf("SC_PAGE_SIZE")


def _sizes_in(folder: str) -> Iterator[int]:
    for within, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                yield os.lstat(os.path.join(within, name)).st_blocks * 512  # noqa: PTH118
