"""What is read of pages that scripts fill, with a browser and without, at what price.

Thirty pages on loopback, five of a kind, with eight sentences each: static ones; those that a
script fetches; lists that grow by scrolling; those that ask for consent first (a window above the
text, a question, a cookie and a reload, the manager of another frame, a button, which no program
presses in a person's name); endless ones (requests, changes, addresses, sockets, a loop that never
returns); and hostile ones, which try 40 times each to reach this machine, by 25 ways under eight
names. *recalled*: of the sentences. *memory*: of all processes of a browser, at its most.
*connections*: that the tries made. The seconds are those of two cores that others used too.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from agent.errors import ReadFailed
from agent.pages.browser import _memory_of
from evals.harness import Bench, Evaluation, Table, average, count, main, share, size
from tests.pages.test_browser import ADD, HOSTS, TRIES, page, read_pages
from tests.support.page_server import Connection, PageServer, reply

SENTENCES = 8
SHOW = "const show = some => some.forEach(t => root.append(Object.assign(P(), {textContent: t})));"
P = f"const P = () => document.createElement('p'); {SHOW}"
WALL = (
    "<div style='position:fixed;inset:0;background:#fff'>We use cookies. <button>OK</button></div>"
)
FETCHED = "fetch(`/data/${N}`).then(r => r.json()).then(show);"
SCRIPTS = {
    "client": [
        FETCHED,
        f"setTimeout(() => {{ {FETCHED} }}, 400);",
        "const x = new XMLHttpRequest(); x.onload = () => show(JSON.parse(x.response));"
        "x.open('GET', `/data/${N}`); x.send();",
        "import(`/module/${N}`).then(m => show(m.default));",
        "customElements.define('x-p', class extends HTMLElement {"
        "connectedCallback() { show(S); }}); root.append(document.createElement('x-p'));",
    ],
    "list": [
        f"let n = 0; const more = () => {{ show(S.slice(n, n + {step})); n += {step};"
        "root.append(Object.assign(P(), {style: 'height:1700px'})); }; more();"
        "addEventListener('scroll', () => { if (n < S.length) more(); });"
        for step in (2, 2, 3, 4, 4)
    ],
    "consent": [
        f"show(S); document.body.insertAdjacentHTML('beforeend', `{WALL}`);",
        "if (!confirm('Cookies?')) show(S);",
        "if (document.cookie.includes('ok')) show(S); else { document.cookie = 'ok=1';"
        "location.reload(); }",
        "show(S); const f = document.createElement('iframe'); f.src = '/manager'; root.append(f);",
        "root.innerHTML = '<button>Accept all</button>';"
        "root.firstChild.onclick = () => { root.innerHTML = ''; show(S); };",
    ],
    "endless": [
        "show(S); setInterval(() => fetch('/data/0'), 50);",
        "show(S); setInterval(() => root.append(document.createElement('i')), 20);",
        "show(S); let k = 0; setInterval(() => history.pushState(0, '', `?${++k}`), 100);",
        "show(S); setInterval(() => new WebSocket(`ws://${location.host}/none`), 100);",
        "show(S); setTimeout(() => { while (true); }, 1500);",
    ],
}
#: More ways out than the tests have, one a line.
MORE_TRIES = r"""
fetch('{0}/keepalive', {{method: 'POST', keepalive: true, mode: 'no-cors'}}).catch(() => 0);
{{ const x = new XMLHttpRequest(); x.open('GET', '{0}/xhr'); x.send(); }}
import('{0}/import').catch(() => 0);
document.body.style.backgroundImage = "url('{0}/css')";
add('audio', {{src: '{0}/audio'}});
add('embed', {{src: '{0}/embed'}});
{{ const a = add2('a', {{href: '#x', ping: '{0}/ping'}}); a.click(); }}
{{ const f = add2('form', {{action: '{0}/form', target: '_blank'}}); f.submit(); }}
add('iframe', {{srcdoc: "<script>location.href = '{0}/inner'</" + "script>"}});
add('link', {{rel: 'manifest', href: '{0}/manifest'}});
"""
ADD_TOO = "const add2 = (t, s) => { const e = Object.assign(document.createElement(t), s);"
ADD_TOO += "document.body.append(e); return e; };"


class Outcome(NamedTuple):
    """What was read of a page in one way."""

    kind: str
    browser: str
    recalled: float
    seconds: float
    megabytes: float | None
    tries: int
    connections: int


def list_tries(base: str) -> list[str]:
    """Each try to reach an address, as a statement."""
    lines = [*TRIES.strip().splitlines(), *MORE_TRIES.strip().splitlines()]
    parts = [p for line in lines for p in re.split(r"(?<=;) (?=add\(|window)", line)]
    return [part.format(base) for part in parts]


def make_scripts(own: PageServer) -> dict[str, list[str]]:
    """The scripts of all pages by their kinds."""
    tries = [one for h in HOSTS for one in list_tries(f"http://{h}:{own.port}")]
    hostile = [f"show(S); {ADD}{ADD_TOO}{' '.join(tries[n::5])}" for n in range(5)]
    return {"static": [""] * 5, **SCRIPTS, "hostile": hostile}


def write_pages(web: PageServer, own: PageServer) -> Iterator[tuple[str, str, list[str]]]:
    """Serve all pages; kind, path and sentences of each."""
    n = 0
    for kind, scripts in make_scripts(own).items():
        for script in scripts:
            n += 1
            said = [
                f"Boat {n} carried {1000 * n + 37 * k} passengers in {1990 + k}, all of them well."
                for k in range(SENTENCES)
            ]
            given = (
                f"{P} const N = {n}; const S = {said if kind != 'client' or n % 5 == 0 else []};"
            )
            body = "".join(f"<p>{one}</p>" for one in said) if kind == "static" else ""
            web.answers[f"/{n}"] = page(given + script, f"<div id=root>{body}</div>")
            listed = str(said).encode()
            web.answers[f"/data/{n}"] = reply(listed.replace(b"'", b'"'))
            web.answers[f"/module/{n}"] = reply(
                b"export default " + listed, "200 OK", "Content-Type: text/javascript"
            )
            for host in HOSTS:
                at = f"http://{host}:{own.port}"
                moved = f"Location: {at}/redirected"
                web.answers[f"/redirect?{at}"] = reply(b"", "302 Found", moved)
            yield kind, f"{web.url}/{n}", said


class Memory:
    """The most that browsers have in memory at once, while it is watched."""

    def __init__(self) -> None:
        self.most = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.1):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    told = file.read_bytes()
                    if b"--remote-debugging-pipe" in told and b"--type=" not in told:
                        self.most = max(self.most, _memory_of(int(file.parent.name)))


def load(_: Path) -> list[str]:
    """One question, so that nothing else runs beside a page that is timed."""
    return ["all pages"]


def measure(_: str, bench: Bench) -> Iterator[Outcome]:
    """Read every page in both ways."""
    with PageServer() as web, PageServer(host="0.0.0.0") as own:
        pages = list(write_pages(web, own))
        web.answers["/none"] = Connection.reset
        for way in ("auto", "never"):
            with closing(read_pages(web, browser=way)) as reader:
                for kind, url, said in pages:
                    before, began = own.connections, time.monotonic()
                    with Memory() as memory:
                        try:
                            text = reader(url).text
                        except ReadFailed:
                            text = ""
                    seconds = time.monotonic() - began
                    yield Outcome(
                        kind,
                        "with" if way == "auto" else "without",
                        sum(one in text for one in said) / len(said),
                        seconds,
                        memory.most / 1e6 or None,
                        40 if kind == "hostile" and way == "auto" else 0,
                        own.connections - before,
                    )


EVALUATION = Evaluation(
    title="Pages that need a browser",
    load=load,
    measure=measure,
    tables=(
        Table(
            {"kind": "kind", "browser": "browser"},
            {
                "pages": size,
                "text recalled": share("recalled"),
                "seconds a page": average("seconds"),
                "memory, MB": average("megabytes", ".0f"),
                "tries to reach this machine": count("tries"),
                "connections": count("connections"),
            },
            total=True,
        ),
    ),
    score="recalled",
)

if __name__ == "__main__":
    main("browser")
