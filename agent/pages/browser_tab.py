"""Commands to a browser that shows one page: open it, let it settle, take its text, print it.

What a page shows, and the address that served it, is asked of the browser and not of the page,
whose scripts may answer what they like.
"""

from __future__ import annotations

import base64
import time
from contextlib import suppress
from typing import Any, NamedTuple

from agent.errors import ReadFailed
from agent.pages.cdp import POLL, CommandRefused, DevTools, Json, Pipes

MAX_HTML = 20_000_000  # characters
QUIET = 0.5  # seconds without a request after which a page is taken for complete
SETTLE = 6.0  # seconds after which a page that is never quiet is taken as it is,
SETTLE_AGAIN = 2.0  # and once more after each scroll
SCROLLS = 3  # how often the end of a page is shown, which may load more of it
TRIES = 3  # to take a page that goes elsewhere meanwhile
#: What would reach the network around the proxy, and what opens a window.
HARDEN = (
    "for (const name of ['RTCPeerConnection','webkitRTCPeerConnection','WebTransport'])"
    "{try{delete globalThis[name]}catch{}}"
)
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


class BrowserTab:
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
