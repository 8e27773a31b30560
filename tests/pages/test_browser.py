"""Pages that a script fills, in a real Chromium: what is read, what is refused, what is left."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from agent.answer.schema import Answer
from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.browser import MAX_DISK, find_browser
from agent.pages.fetch import PageReader
from agent.pages.relay import GuardedRelay
from agent.run.begin import research
from agent.settings import Settings
from tests.support.page_server import Connection, PageServer, reply
from tests.support.services import Raw, Services

PROGRAM = find_browser()
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")


def in_browser(test: Any) -> Any:
    return needs_browser(pytest.mark.slow(test))


SAYS = "The ferry at Holm carried 48,210 passengers in 2024, more than in any year before."
HTML = "Content-Type: text/html; charset=utf-8"


def markup(script: str, body: str = "<div id=root></div>") -> str:
    return f"<html><head><title>Ferries</title></head><body>{body}<script>{script}</script>"


def page(script: str, body: str = "<div id=root></div>") -> bytes:
    return reply(markup(script, body).encode(), "200 OK", HTML)


def read_pages(web: PageServer, **how: Any) -> PageReader:
    """A reader for which this server is the public web, and the rest of this machine is not."""
    guard = AddressGuard(
        allowed=frozenset({("127.0.0.1", web.port)}), resolver=lambda *_: ["127.0.0.1"]
    )
    how = {"timeout": 20.0, "browser": "auto", "respect_robots": False, **how}
    return PageReader(guard=guard, **how)


def browsers() -> list[str]:
    """The processes of browsers that live, whoever started them."""
    shown = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True)
    rows = [row for row in shown.stdout.splitlines() if "--remote-debugging-pipe" in row]
    return [row for row in rows if not row.startswith("Z")]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Nothing of a browser lives on after a test."""
    yield
    assert not browsers()


LOADED = "fetch('/data').then(r => r.text()).then(t => root.innerHTML = '<p>' + t + '</p>')"
ENDLESS = f"root.innerHTML = '<p>{SAYS}</p>'; setInterval(() => fetch('/data'), 50)"
EVIL = f"""
root.innerHTML = '<p>{SAYS}</p>';
Date = Promise = JSON = Array = scrollTo = undefined;
for (const of of [Element.prototype, Document.prototype]) for (const name of ['outerHTML',
'documentElement', 'scrollHeight']) Object.defineProperty(of, name, {{get() {{ throw 1 }}}});
"""
ASKING = f"alert('Cookies?'); root.innerHTML = '<p>' + (confirm('?') ? 'yes' : '{SAYS}') + '</p>'"


@in_browser
@pytest.mark.parametrize(
    ("script", "words", "path"),
    [
        (LOADED, SAYS, "/"),
        (ENDLESS, SAYS, "/"),
        (EVIL, SAYS, "/"),
        (ASKING, SAYS, "/"),
        ("location.href = '/other'", SAYS, "/other"),
    ],
    ids="client endless evil dialogs navigation".split(),
)
def test_what_scripts_show_is_read(
    web: PageServer, quiet: None, script: str, words: str, path: str
) -> None:
    web.answers["/"] = page(script)
    web.answers["/data"] = reply(SAYS.encode(), "200 OK", "Content-Type: text/plain")
    web.answers["/other"] = page("", f"<p>{SAYS}</p>")
    with closing(read_pages(web)) as reader:
        found = reader(f"{web.url}/")
    assert words in found.text and found.url == f"{web.url}{path}"
    head = next(head for head in web.request_heads[1:] if head.startswith("GET / "))
    assert "user-agent: llm-research-agent/" in head.lower() and "cookie" not in head.lower()


@in_browser
@pytest.mark.parametrize(
    ("script", "outcome"),
    [("while (true) {}", "timeout"), ("let a = []; while (a.push(new Array(1e6).fill(1.5)));", "")],
    ids=["loop", "memory"],
)
def test_a_page_that_never_ends_is_given_up(
    web: PageServer, quiet: None, script: str, outcome: str
) -> None:
    web.answers["/"] = page(script)
    with closing(read_pages(web, timeout=4.0)) as reader, pytest.raises(ReadFailed) as caught:
        reader(f"{web.url}/")
    assert not outcome or caught.value.outcome == outcome


@in_browser
@pytest.mark.parametrize("kind", ["blob:", "data:"])
def test_what_no_server_sent_is_no_page(web: PageServer, quiet: None, kind: str) -> None:
    blob = f"URL.createObjectURL(new Blob(['<p>{SAYS}</p>'], {{type: 'text/html'}}))"
    made = blob if kind == "blob:" else f"'data:text/html,{SAYS}'"
    web.answers["/"] = page(f"location.href = {made}")
    with closing(read_pages(web)) as reader, pytest.raises(ReadFailed):
        reader(f"{web.url}/")


WRITES = """
(async () => {
  const folder = await navigator.storage.getDirectory();
  const block = new Uint8Array(8e6);
  for (let n = 0; n < 4; n++) (async () => {
    const file = await folder.getFileHandle('x' + n, {create: true});
    const out = await file.createWritable();
    for (let i = 0; i < 200; i++) await out.write(block);
  })();
})();
"""


@in_browser
def test_what_a_page_stores_is_bounded(
    web: PageServer, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o755)
    web.answers["/"] = page(f"{WRITES} root.innerHTML = '<p>{SAYS}</p>'")
    most, is_over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_over.wait(0.05):
            du = subprocess.run(["du", "-s", "-B1", tmp_path], capture_output=True, text=True)
            most = max(most, int(du.stdout.split()[0]))

    thread = threading.Thread(target=watch)
    thread.start()
    with closing(read_pages(web)) as reader, suppress(ReadFailed):  # too much memory
        reader(f"{web.url}/")
    is_over.set()
    thread.join()
    assert 0 < most < MAX_DISK and not list(tmp_path.iterdir())


@in_browser
def test_who_closes_the_reader_ends_the_browser(web: PageServer, quiet: None) -> None:
    asked = threading.Event()
    web.answers["/"] = page("fetch('/data')")

    def hang(connection: Connection) -> None:
        asked.set()
        connection.hang()

    web.answers["/data"] = hang
    with closing(read_pages(web)) as reader, ThreadPoolExecutor() as pool:
        reading = pool.submit(reader, f"{web.url}/")
        assert asked.wait(20)
        reader.close()
        with pytest.raises(ReadFailed):
            reading.result(20)


TRIES = """
fetch('{0}/fetch', {{mode: 'no-cors'}}).catch(() => 0);
fetch('/redirect?{0}', {{mode: 'no-cors'}}).catch(() => 0);
navigator.sendBeacon('{0}/beacon', 'x');
new Image().src = '{0}/image';
try {{ new WebSocket('{0}/socket'.replace('http', 'ws')) }} catch {{}}
try {{ new EventSource('{0}/events') }} catch {{}}
add('iframe', {{src: '{0}/frame'}}); add('script', {{src: '{0}/script'}});
add('link', {{rel: 'stylesheet', href: '{0}/style'}});
add('link', {{rel: 'prefetch', href: '{0}/a'}});
add('link', {{rel: 'preconnect', href: '{0}'}}); add('object', {{data: '{0}/object'}});
add('video', {{src: '{0}/video'}}); window.open('{0}/window');
new Worker(URL.createObjectURL(new Blob(["fetch('{0}/worker', {{mode: 'no-cors'}})"])));
"""
STUN = """
add('iframe', {srcdoc: `<script>const p = new RTCPeerConnection({iceServers: [
{urls: "stun:127.0.0.1:PORT"}]}); p.createDataChannel("x");
p.createOffer().then(o => p.setLocalDescription(o));<\\/script>`});
"""
ADD = """
const add = (tag, set) => document.body.append(Object.assign(document.createElement(tag), set));
"""
HOSTS = "127.0.0.1 localhost [::1] 0.0.0.0 2130706433 0x7f.1 127.1 rebound.example".split()


@in_browser
def test_no_private_address_is_reached(web: PageServer, quiet: None) -> None:
    """104 tries by http and one by UDP, of this machine under eight names."""
    reached: list[str] = []
    with PageServer(host="0.0.0.0") as own, closing(socket.socket(type=socket.SOCK_DGRAM)) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        bases = [f"http://{host}:{own.port}" for host in HOSTS]
        script = ADD + "".join(TRIES.format(base) for base in bases)
        script += STUN.replace("PORT", str(udp.getsockname()[1]))
        script += f"root.innerHTML = '<p>{SAYS}</p>'"
        web.answers["/"] = page(script)
        for base in bases:
            location = f"Location: {base}/redirected"
            web.answers[f"/redirect?{base}"] = reply(b"", "302 Found", location)
        with closing(read_pages(web)) as reader:
            assert SAYS in reader(f"{web.url}/").text
        reached += own.request_heads
        assert not reached and not own.connections
        with pytest.raises(BlockingIOError):
            udp.recv(1)


@in_browser
def test_a_page_that_goes_to_a_private_address_is_not_read(web: PageServer, quiet: None) -> None:
    with PageServer({"/secret": page("", f"<p>{SAYS}</p>")}) as own:
        web.answers["/"] = page(f"location.href = '{own.url}/secret'")
        with closing(read_pages(web)) as reader, pytest.raises(ReadFailed):
            reader(f"{web.url}/")
        assert not own.connections


PROXY_AUTH = "Proxy-Authorization: Basic bWU6cEBzcw=="


def test_where_pages_go_through_a_proxy_so_does_what_a_page_asks_for(
    web: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tunnel, a request, one past the proxy; an address of this machine goes nowhere."""
    for scheme in ("http", "https"):
        monkeypatch.setenv(f"{scheme}_proxy", web.url.replace("//", "//me:p%40ss@"))
    monkeypatch.setenv("no_proxy", "direct.example")
    web.answers["a.example:443"] = lambda asked: asked.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
    web.answers["http://a.example/x"] = reply(b"found")
    guard = AddressGuard(resolver=lambda *_: ["127.0.0.1"])
    refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
    with closing(GuardedRelay(guard, through_proxy=True)) as relay:

        def ask(head: str) -> bytes:
            port = int(relay.url.rpartition(":")[2])
            with closing(socket.create_connection(("127.0.0.1", port), 10)) as browser:
                browser.sendall(f"{head}\r\nHost: x\r\nProxy-Connection: on\r\n\r\n".encode())
                got = b"?"
                while got[-5:] not in (b"hello", b"found", refused[-5:]):
                    got += browser.recv(99)
                return got[1:]

        assert ask("CONNECT a.example:443 HTTP/1.1").endswith(b"hello")
        assert ask("GET http://a.example/x?y=1 HTTP/1.1").endswith(b"found")
        first, second = web.request_heads
        assert PROXY_AUTH in first and PROXY_AUTH in second and "Proxy-Connection" not in second
        assert "GET http://a.example/x?y=1 HTTP/1.1" in second
        for target in ("http://direct.example/", "http://10.0.0.7/", "http://["):
            assert ask(f"GET {target} HTTP/1.1") == refused
        assert ask("CONNECT 169.254.169.254:443 HTTP/1.1") == refused
        assert len(web.request_heads) == 2


def scripted_world(services: Services) -> None:
    """Two plain pages, and one whose answer a script shows."""
    services.default_hits = ["plain", "other", "scripted"]
    services.pages = {
        "plain": "The ferries of the lake have timetables of their own. " * 9,
        "other": "Boats need a licence, and so do those who steer them. " * 9,
        "scripted": Raw(200, markup(f"root.innerHTML = '<p>{SAYS}</p>'"), dict([HTML.split(": ")])),
    }


def ask_of_ferries(settings: Settings, **changes: Any) -> Answer:
    changes = {"llm": ("extractive",), "patience": 1.0, "page_browser": "auto", **changes}
    topic = "How many passengers did the ferry at Holm carry in 2024?"
    return research(topic, settings.model_copy(update=changes)).answer()


@in_browser
def test_a_page_in_a_browser_is_no_straggler(services: Services, settings: Settings) -> None:
    scripted_world(services)
    answer = ask_of_ferries(settings)
    assert "48,210" in answer.answer and {one.via for one in answer.citations} == {"page"}


def test_without_a_browser_the_answer_says_which_page_needs_one(
    services: Services, settings: Settings
) -> None:
    scripted_world(services)
    answer = ask_of_ferries(settings, page_browser_path=Path("/nowhere/chromium"))
    [warning] = [one for one in answer.warnings if "JavaScript" in one]
    assert services.url("scripted") in warning and "chromium-headless-shell" in warning
