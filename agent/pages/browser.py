"""Renders a page that a script fills, and prints one of ours, with a Chromium that is installed.

Nobody drives it but CDP (`cdp.py`). Each page has a process, a profile and a way out of its own
(`relay.py`), all of which end with it: no page sees what another one stored. What is printed has no
way out. The browser is told to resolve no name, to load no picture, to keep no download; it knows
none of our variables, and what it may use is bounded. What a page shows is asked of the browser,
not of the page, whose scripts may answer what they like; so is the address that it came from.
"""

from __future__ import annotations

import base64
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
from typing import Any, NamedTuple

from agent.calls import SUPERVISOR
from agent.calls.child_environment import system_environment
from agent.calls.supervisor import find_descendants
from agent.errors import ReadFailed
from agent.pages.cdp import POLL, CommandRefused, DevTools, Json, Pipes
from agent.pages.relay import GuardedRelay
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
MAX_DISK = 300_000_000  # bytes of its profile and its temporary files; and of any one file
MAX_HTML = 20_000_000  # characters
QUIET = 0.5  # seconds without a request after which a page is taken for complete
SETTLE = 6.0  # seconds after which a page that is never quiet is taken as it is,
SETTLE_AGAIN = 2.0  # and once more after each scroll
SCROLLS = 3  # how often the end of a page is shown, which may load more of it
TRIES = 3  # to take a page that goes elsewhere meanwhile
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
#: What would reach the network around the proxy, and what opens a window.
HARDEN = (
    "for (const name of ['RTCPeerConnection','webkitRTCPeerConnection','WebTransport'])"
    "{try{delete globalThis[name]}catch{}}"
)
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


class Rendered(NamedTuple):
    """What a page shows once its scripts have run, and the address that it was served from."""

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
                return _Tab(pipes, host_of(url), end).read(url)

    def print_page(self, html: str, name: str, seconds: float) -> bytes:
        """A page of ours as a PDF: its scripts are off, and it loads nothing. Raises ReadFailed."""
        with self._take_turn(name, seconds) as end, self._start(NOWHERE, NOTHING) as pipes:
            return _Tab(pipes, name, end).print(html)

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
    """Raise MemoryError where a browser uses too much memory or disk."""
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
    """Bytes that each file in a folder has on disk."""
    for within, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                yield os.lstat(os.path.join(within, name)).st_blocks * 512  # noqa: PTH118


class _Tab:
    """One page in a browser, from its opening to its text."""

    def __init__(self, pipes: Pipes, name: str, end: float) -> None:
        self._tools = DevTools(pipes, end, self._note)
        self._call, self._name, self._end = self._tools.call, name, end
        self._frame = ""  # the main one
        self._served: dict[str, str] = {}  # by the loading of a document: the address of it
        self._open: set[str] = set()  # requests
        self._quiet_since = time.monotonic()
        self._has_loaded = False

    def read(self, url: str) -> Rendered:
        """Open the page and take what it shows. Raises ReadFailed, OSError, ValueError."""
        self._attach()
        for domain in ("Page", "Network"):
            self._call(f"{domain}.enable")
        self._call("Network.setBypassServiceWorker", bypass=True)  # they answer what they like
        self._call("Page.addScriptToEvaluateOnNewDocument", source=HARDEN)
        opened = self._call("Page.navigate", url=url)
        if fault := opened.get("errorText"):
            message = f"{self._name}: the browser cannot open it ({fault})."
            raise ReadFailed(message, outcome="unavailable")
        self._settle(SETTLE)
        shown = self._take()
        with suppress(TimeoutError, CommandRefused):  # what was shown before counts
            self._scroll()
            shown = self._take()
        return shown

    def print(self, html: str) -> bytes:
        """The PDF of a page. Raises ReadFailed, OSError, ValueError."""
        self._attach()
        self._call("Emulation.setScriptExecutionDisabled", value=True)
        self._call("Page.setDocumentContent", frameId=self._frame, html=html)
        return base64.b64decode(self._call("Page.printToPDF", **PAPER)["data"])

    def _attach(self) -> None:
        """Begin to speak to an empty page, whose storage is kept in memory."""
        context = self._call("Target.createBrowserContext", disposeOnDetach=True)
        own = {"browserContextId": context["browserContextId"]}
        target = self._call("Target.createTarget", url="about:blank", **own)["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._call("Browser.setDownloadBehavior", behavior="deny", **own)
        self._tools.session = session["sessionId"]
        self._frame = self._document()["id"]

    def _document(self) -> Json:
        """The document that the page shows now: its frame, and its loading."""
        return dict(self._call("Page.getFrameTree")["frameTree"]["frame"])

    def _take(self) -> Rendered:
        """What the page shows, and from where it was served: a script may say otherwise."""
        for _ in range(TRIES):
            loading = self._document()["loaderId"]
            with suppress(CommandRefused):
                root = self._call("DOM.getDocument", depth=0)["root"]["nodeId"]
                found = self._call("DOM.getOuterHTML", nodeId=root, includeShadowDOM=True)
                if self._document()["loaderId"] != loading:
                    continue
                if loading not in self._served:
                    break
                return Rendered(self._served[loading], str(found["outerHTML"])[:MAX_HTML])
        raise ReadFailed(f"{self._name}: its scripts show what no server sent.", outcome="invalid")

    def _scroll(self) -> None:
        """Show the end of the page, which may load more of it; in a world without its scripts."""
        world = self._call("Page.createIsolatedWorld", frameId=self._frame)["executionContextId"]
        height = self._measure()
        for _ in range(SCROLLS):
            self._call("Runtime.evaluate", expression="scrollTo(0, 1e9)", contextId=world)
            self._settle(SETTLE_AGAIN)
            if height == (height := self._measure()):
                break

    def _measure(self) -> Any:
        return self._call("Page.getLayoutMetrics")["cssContentSize"]["height"]

    def _settle(self, seconds: float) -> None:
        """Wait until the page has loaded and asks for nothing more, at most so many seconds."""
        self._quiet_since = time.monotonic()
        until = min(time.monotonic() + seconds, self._end - 1.0)
        while time.monotonic() < until:
            is_quiet = self._has_loaded and not self._open
            if is_quiet and time.monotonic() - self._quiet_since >= QUIET:
                return
            self._tools.listen(min(until, time.monotonic() + POLL))

    def _note(self, method: str, params: Json) -> None:
        """Note a request that began or ended, a document that came, the page that loaded."""
        if method == "Network.requestWillBeSent":
            self._open.add(params["requestId"])
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._open.discard(params["requestId"])
            self._quiet_since = time.monotonic()
        elif method == "Network.responseReceived":
            if params.get("frameId") == self._frame and params["type"] == "Document":
                self._served[params["loaderId"]] = str(params["response"]["url"])
        elif method == "Page.loadEventFired":
            self._has_loaded = True
            self._quiet_since = time.monotonic()
        elif method == "Page.javascriptDialogOpening":
            self._tools.send("Page.handleJavaScriptDialog", accept=False)
