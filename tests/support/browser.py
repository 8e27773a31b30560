"""A real browser for tests: headless Chromium over its DevTools protocol, without the network.

    with browser.tab(width=390, height=800, dark=True) as tab:
        tab.open(f"{server.url}/page")
        tab.click("button.cancel")
        assert tab.wait("document.querySelector('#answer').textContent")
        assert tab.foreign_requests() == []

The fixture `browser` is in conftest.py; it skips a test where no Chromium is installed.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses to run as root with one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--remote-debugging-port=0",
    # a host that is not served on loopback cannot be resolved
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
TIMEOUT = 60.0  # seconds for one command, or for a page to load
LOCAL_SCHEMES = ("blob", "data", "about", "chrome-error")  # without a request to a server


def find_chromium() -> str | None:
    """Return the path of this machine's Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with a profile of its own; tabs do not share cookies or storage."""

    def __init__(self, program: str) -> None:
        self._open = ExitStack()
        profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._profile = Path(self._open.enter_context(profile))
        command = [program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._open.callback(self._process.wait, TIMEOUT)
        socket = connect(self._address(), proxy=None, max_size=None, close_timeout=1)
        self._socket = self._open.enter_context(socket)
        self._sent = 0
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("Browser.close")
        self._open.close()

    def tab(self, width: int = 1280, height: int = 800, *, dark: bool = False) -> Tab:
        """Open an empty tab in its own browser context."""
        return Tab(self, width, height, dark=dark)

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send one command of the protocol; raises RuntimeError with Chromium's error message."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            received = self.hear(TIMEOUT)
            if received.get("id") == message["id"]:
                if "error" in received:
                    raise RuntimeError(f"{method}: {received['error']['message']}")
                return dict(received["result"])

    def hear(self, seconds: float) -> dict[str, Any]:
        """Receive the next message; an event goes to its tab's listener. Raises TimeoutError."""
        received = dict(json.loads(self._socket.recv(seconds)))
        listener = self._listeners.get(received.get("sessionId", ""))
        if listener and "method" in received:
            listener(received["method"], received["params"])
        return received

    def listen(self, session: str, listener: Callable[[str, dict[str, Any]], None]) -> None:
        """Set the listener of a session's events."""
        self._listeners[session] = listener

    def _address(self) -> str:
        """Return the WebSocket URL; the browser writes its port and path into its profile."""
        file = self._profile / "DevToolsActivePort"
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and self._process.poll() is None:
            if file.exists() and len(lines := file.read_text().split()) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.02)
        raise RuntimeError(f"Chromium did not start (exit status {self._process.poll()})")


class Tab:
    """A page in the browser: a user's actions on it, and the requests it makes.

    `requests` has every requested URL, `errors` what scripts threw or logged as an error.
    """

    def __init__(self, browser: Browser, width: int, height: int, *, dark: bool) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._loaded = False
        self._browser = browser
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        self._session = browser.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )["sessionId"]
        browser.listen(self._session, self._hear)
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.set_viewport(width, height, dark=dark)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the protocol to this tab."""
        return self._browser.call(method, self._session, **params)

    def set_viewport(
        self, width: int, height: int, *, dark: bool = False, motion: bool = True
    ) -> None:
        """Set the size of the viewport in CSS pixels, and the user's preferences."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        prefers = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "no-preference" if motion else "reduce",
        }
        features = [{"name": name, "value": value} for name, value in prefers.items()]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, url: str) -> None:
        """Navigate to a URL, and wait until the page and its images are loaded."""
        self._loaded = False
        done = self.call("Page.navigate", url=url)
        if "errorText" in done:
            raise RuntimeError(f"{url}: {done['errorText']}")
        end = time.monotonic() + TIMEOUT
        while not self._loaded and done.get("loaderId"):  # no loader: the same page, elsewhere
            self._browser.hear(max(0.0, end - time.monotonic()))

    def run(self, script: str) -> Any:
        """Evaluate an expression and await its promise; raises what it throws."""
        done = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if fault := done.get("exceptionDetails"):
            raise RuntimeError(fault.get("exception", fault).get("description", fault["text"]))
        return done["result"].get("value")

    def wait(self, script: str, seconds: float = 30.0) -> Any:
        """The value of an expression, as soon as it is true; else its last value."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)) and time.monotonic() < end:
            time.sleep(0.02)
        return value

    def settle(self) -> None:
        """Wait until pending changes have been painted."""
        self.run("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))")

    def click(self, selector: str) -> None:
        """Scroll an element into view and click in its middle."""
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into the focused element."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key by its name: `Tab`, `Enter`, `Escape`, `ArrowDown`."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
        given: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, **given, **text)

    def screenshot(self, file: Path | None = None, *, whole: bool = False) -> bytes:
        """Return a PNG of the viewport or of the whole page; also write it to `file` if given."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        image = base64.b64decode(shot["data"])
        if file is not None:
            file.write_bytes(image)
        return image

    def foreign_requests(self, *allowed: str) -> list[str]:
        """Return the requests to hosts other than loopback and `allowed`."""
        hosts = {"127.0.0.1", "localhost", *allowed}
        asked = (urlsplit(url) for url in self.requests)
        return [
            u.geturl() for u in asked if u.scheme not in LOCAL_SCHEMES and u.hostname not in hosts
        ]

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(str(details.get("exception", details).get("description", details)))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(arg.get("value")) for arg in params["args"]))
