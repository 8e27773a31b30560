"""Renders a page that a script fills, and prints one of ours, with a Chromium that is installed.

Nobody drives it but CDP. Each page has a process, a profile and a way out of its own (`relay.py`),
all of which end with it: no page sees what another one stored. What is printed has no way out. The
browser is told to resolve no name, to load no picture, to keep no download; it knows none of our
variables. Chrome DevTools Protocol: https://chromedevtools.github.io/devtools-protocol/ (with
`--remote-debugging-pipe`: messages in JSON, each ended by a NUL, on file descriptors 3 and 4).
"""

from __future__ import annotations

import base64
import json
import os
import select
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
from typing import Any, NamedTuple

from agent.errors import ReadFailed
from agent.pages.relay import GuardedRelay
from agent.settings import system_environment
from agent.state.urls import host_of

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
MAX_HTML = 20_000_000  # characters
QUIET = 0.5  # seconds without a request after which a page is taken for complete
SETTLE = 6.0  # seconds after which a page that is never quiet is taken as it is,
SETTLE_AGAIN = 2.0  # and once more after each scroll
SCROLLS = 3  # how often the end of a page is shown, which may load more of it
POLL = 0.2  # seconds
EXIT_SECONDS = 1.0  # that a browser has to end by itself
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
#: What would reach the network around the proxy, and what opens a window.
HARDEN = (
    "for (const name of ['RTCPeerConnection','webkitRTCPeerConnection','WebTransport'])"
    "{try{delete globalThis[name]}catch{}}"
)
#: Gives the two pipes the numbers that the browser wants, and gives up root.
LAUNCH = """
import fcntl, os, pwd, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD_CLOEXEC, 10) for n in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([]), os.setgid(nobody.pw_gid), os.setuid(nobody.pw_uid)
os.execv(sys.argv[3], sys.argv[3:])
"""
#: What the browser may resolve: its proxy, or nothing, so that it reaches nothing.
PROXY_ONLY, NOTHING = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "MAP * ~NOTFOUND"
NOWHERE = "http://nowhere.invalid:1"
PAPER = {
    "preferCSSPageSize": True,
    "printBackground": True,
    "generateTaggedPDF": True,
    "generateDocumentOutline": True,
    "displayHeaderFooter": True,
    "headerTemplate": "<p></p>",
    "footerTemplate": "<p style='width:100%;text-align:center;font-size:8px'>"
    "<span class=pageNumber></span> / <span class=totalPages></span></p>",
}
READ = "[location.href, document.documentElement ? document.documentElement.outerHTML : '']"


class Rendered(NamedTuple):
    """What a page shows once its scripts have run, and the address at which they left it."""

    url: str
    html: str


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

    def render(self, url: str, seconds: float, make_relay: Callable[[], GuardedRelay]) -> Rendered:
        """Open a page, let its scripts run, and take what it shows. Raises ReadFailed.

        `make_relay` makes the way out of the page.
        """
        with self._take_turn(host_of(url), seconds) as end, closing(make_relay()) as relay:
            relay.find_proxy(url)
            with self._start(relay.url, PROXY_ONLY) as pipe:
                return _Tab(pipe, host_of(url), end).read(url)

    def print_page(self, html: str, name: str, seconds: float) -> bytes:
        """A page of ours as a PDF: its scripts are off, and it loads nothing. Raises ReadFailed."""
        with (
            self._take_turn(name, seconds) as end,
            self._start(NOWHERE, NOTHING) as pipe,
        ):
            return _Tab(pipe, name, end).print(html)

    @contextmanager
    def _take_turn(self, name: str, seconds: float) -> Iterator[float]:
        """A turn, and when it is over. What fails in it is ReadFailed of what has this name."""
        end = time.monotonic() + seconds
        if not self._slots.acquire(timeout=seconds):
            raise _timed_out(name)
        try:
            yield end
        except MemoryError:
            fault = f"{name}: this page needs too much memory in a browser."
            raise ReadFailed(fault, outcome="invalid") from None
        except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            fault = f"{name}: the browser failed ({type(error).__name__})."
            raise ReadFailed(
                fault, "Turn it off with --browser never.", outcome="invalid"
            ) from None
        finally:
            self._slots.release()

    @contextmanager
    def _start(self, proxy: str, resolves: str) -> Iterator[_Pipe]:
        """A browser with a profile of its own, killed with all its processes at the end."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            told = [f"--proxy-server={proxy}", f"--host-resolver-rules={resolves}"]
            yield from self._run(profile, told)

    def _run(self, profile: str, told: list[str]) -> Iterator[_Pipe]:
        told += [f"--user-data-dir={profile}"]
        told += [f"--user-agent={self._user_agent}"]
        if os.geteuid() == 0:  # the sandbox refuses root, which is given up instead
            shutil.chown(profile, "nobody")
            told += ["--no-sandbox"]
        to_read, write = os.pipe()
        read, to_write = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-ISc", LAUNCH, str(to_read), str(to_write), self._program]
                + [*FLAGS, *told],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(to_read, to_write),
                cwd="/",
                env={**system_environment(), "HOME": profile},
                start_new_session=True,
            )
        except OSError:
            _close(read, write)
            raise
        finally:
            _close(to_read, to_write)
        try:
            with self._lock:
                self._running.add(process)
                if self._is_closed:
                    _kill(process)
            pipe = _Pipe(read, write, process.pid)
            yield pipe
            with suppress(OSError, subprocess.TimeoutExpired):
                pipe.send({"id": 0, "method": "Browser.close"})
                process.wait(EXIT_SECONDS)  # it takes its own processes with it
        finally:
            with self._lock:
                self._running.discard(process)
            _kill(process)
            _close(read, write)
            process.wait()

    def close(self) -> None:
        """Kill all browsers; whoever waits for a page gets ReadFailed."""
        with self._lock:
            self._is_closed = True
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _close(*pipes: int) -> None:
    for pipe in pipes:
        os.close(pipe)


def _timed_out(name: str) -> ReadFailed:
    fault = f"{name}: the browser had no time to show this page."
    return ReadFailed(fault, "Raise RESEARCH_AGENT_PAGE_TIMEOUT.", outcome="timeout")


class _Pipe:
    """Messages to and from a browser, whose memory is watched."""

    def __init__(self, read: int, write: int, session: int) -> None:
        self._read, self._write, self._session = read, write, session
        self._buffer = b""
        os.set_blocking(write, False)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; a browser that does not take it is broken. Raises OSError."""
        data = json.dumps(message).encode() + b"\0"
        while data:
            if not select.select([], [self._write], [], EXIT_SECONDS)[1]:
                raise OSError("the browser takes nothing")
            data = data[os.write(self._write, data) :]

    def receive(self, until: float) -> dict[str, Any] | None:
        """The next message; None where there is none in time. Raises OSError and ValueError."""
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                return None
            if _memory_of(self._session) > MAX_MEMORY or len(self._buffer) > 4 * MAX_HTML:
                raise MemoryError
            if select.select([self._read], [], [], min(left, POLL))[0]:
                data = os.read(self._read, 1 << 20)
                if not data:
                    raise OSError("the browser ended")
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        return message if isinstance(message, dict) else {}


def _memory_of(session: int) -> int:
    """Bytes that the processes of a session have in memory; of what they share, the most of one."""
    own, shared = 0, [0]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = stat.read_text("latin-1").rpartition(")")[2].split()
            if int(fields[3]) == session:
                _, resident, of_files, *_ = map(int, stat.with_name("statm").read_text().split())
                own += resident - of_files
                shared.append(of_files)
    return (own + max(shared)) * os.sysconf("SC_PAGE_SIZE")


class _Tab:
    """One page in a browser, from its opening to its text."""

    def __init__(self, pipe: _Pipe, name: str, end: float) -> None:
        self._pipe, self._name, self._end = pipe, name, end
        self._count = 0
        self._session = ""
        self._open: set[str] = set()  # requests
        self._quiet_since = time.monotonic()
        self._has_loaded = False

    def read(self, url: str) -> Rendered:
        """Open the page and take what it shows. Raises ReadFailed, OSError, ValueError."""
        self._attach()
        for domain in ("Page", "Network"):
            self._call(f"{domain}.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source=HARDEN)
        opened = self._call("Page.navigate", url=url)
        if fault := opened.get("errorText"):
            message = f"{self._name}: the browser cannot open it ({fault})."
            raise ReadFailed(message, outcome="unavailable")
        self._settle(SETTLE)
        url, html = self._evaluate(READ)
        with suppress(ReadFailed):  # a script that never returns: what was shown before counts
            self._scroll()
            url, html = self._evaluate(READ)
        return Rendered(str(url), str(html)[:MAX_HTML])

    def _attach(self) -> None:
        """Begin to speak to an empty page."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = session["sessionId"]
        self._call("Browser.setDownloadBehavior", behavior="deny")

    def print(self, html: str) -> bytes:
        """The PDF of a page. Raises ReadFailed, OSError, ValueError."""
        self._attach()
        self._call("Emulation.setScriptExecutionDisabled", value=True)
        frame = self._call("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._call("Page.setDocumentContent", frameId=frame, html=html)
        return base64.b64decode(self._call("Page.printToPDF", **PAPER)["data"])

    def _scroll(self) -> None:
        """Show the end of the page, which may load more of it. Raises ReadFailed."""
        height = "document.documentElement.scrollHeight"
        for _ in range(SCROLLS):
            before = self._evaluate(height)
            self._evaluate(f"window.scrollTo(0, {height})")
            self._settle(SETTLE_AGAIN)
            if self._evaluate(height) == before:
                break

    def _evaluate(self, expression: str) -> Any:
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"]["value"]

    def _settle(self, seconds: float) -> None:
        """Wait until the page has loaded and asks for nothing more, at most so many seconds."""
        self._quiet_since = time.monotonic()
        until = min(time.monotonic() + seconds, self._end - 1.0)
        while time.monotonic() < until:
            is_quiet = self._has_loaded and not self._open
            if is_quiet and time.monotonic() - self._quiet_since >= QUIET:
                return
            if message := self._pipe.receive(min(until, time.monotonic() + POLL)):
                self._note(message)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command. Raises ReadFailed where it does not come in time."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        in_page = not method.startswith(("Target.", "Browser."))
        self._pipe.send(message | ({"sessionId": self._session} if in_page else {}))
        while found := self._pipe.receive(self._end):
            if found.get("id") == message["id"]:
                return dict(found["result"])
            self._note(found)
        raise _timed_out(self._name)

    def _note(self, message: dict[str, Any]) -> None:
        """Take note of an event: of a request that began or ended, of the page that loaded."""
        method, params = message.get("method", ""), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self._open.add(params["requestId"])
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._open.discard(params["requestId"])
            self._quiet_since = time.monotonic()
        elif method == "Page.loadEventFired":
            self._has_loaded = True
            self._quiet_since = time.monotonic()
        elif method == "Page.javascriptDialogOpening":
            self._count += 1
            dismiss = {"id": self._count, "method": "Page.handleJavaScriptDialog"}
            self._pipe.send(dismiss | {"params": {"accept": False}, "sessionId": self._session})
