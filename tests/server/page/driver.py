"""The page of the HTTP server in a tab of a real browser, for its tests."""

from __future__ import annotations

import json
import threading

from tests.support.browser import Tab
from tests.support.services import ModelRequest, Reply, Services
from tests.support.web import Web
from tests.support.worlds import World

ENDED = "document.querySelector('.run:last-child .state strong:not(.live)')?.textContent"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
FOCUSED = "document.activeElement"


class Page:
    """The page in a tab, and the services that its server asks."""

    def __init__(self, tab: Tab, web: Web, services: Services) -> None:
        self.tab, self.web, self.services = tab, web, services

    def home(self, path: str = "/") -> None:
        self.tab.open(self.web.base + path)
        assert self.tab.wait("document.querySelector('#examples li') !== null")

    def ask(self, question: str, way: str = "quick", slots: str = "") -> None:
        self.tab.run(f"document.querySelector('input[value={way}]').click()")
        for name, value in {"question": "", "slots": slots}.items():
            self.tab.run(f"document.getElementById({name!r}).value = {json.dumps(value)}")
        self.tab.click("#question")
        self.tab.type(question)
        self.tab.press("Enter")

    def finish(self, world: World, way: str = "quick") -> str:
        """Ask about a world and wait for the end; return its state in words."""
        world.set_up(self.services)
        self.home()
        self.ask(world.topic, way)
        return str(self.tab.wait(ENDED))

    def text(self, selector: str = "body") -> str:
        return str(self.tab.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def wait_for(self, selector: str) -> bool:
        return bool(self.tab.wait(f"document.querySelector({json.dumps(selector)}) !== null"))

    def is_visible(self, selector: str) -> bool:
        element = f"document.querySelector({json.dumps(selector)})"
        return bool(self.tab.run(f"Boolean({element}?.checkVisibility())"))

    def press_key(self, key: str) -> None:
        """Press a key that types a character, where no field has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.tab.call("Input.dispatchKeyEvent", type=kind, key=key)


def pause_model(services: Services, gate: threading.Event, task: str = "verify") -> threading.Event:
    """Let the model wait with a task until the gate opens; the event is set when it is asked."""
    think, reached = services.think, threading.Event()

    def slow(request: ModelRequest) -> Reply:
        if request.task == task:
            reached.set()
            gate.wait(60)
        return think(request)

    services.think = slow
    return reached
