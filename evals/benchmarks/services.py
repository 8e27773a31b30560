"""Loopback services of a world of cups: a model, a search and pages, with latency and faults.

The model speaks OpenAI's wire form and knows nothing but its prompt; the search is SearXNG's.
"""

from __future__ import annotations

import html
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

_SOURCE = re.compile(r'<source id="(\d+)"[^>]*>(.*?)</source>', re.S)
_CUP = re.compile(r"number (\d+)")


def cup_topic(n: int) -> str:
    """The question about a cup."""
    return f"Who won cup number {n}?"


class Load(NamedTuple):
    """How the services behave: seconds of a model call and of any other, and the share of faults.

    `prose`: characters of each page beside its sentence.
    """

    model: float = 0.0
    other: float = 0.0
    faults: float = 0.0
    prose: int = 0


class Services(ThreadingHTTPServer):
    """The services; `log` has the time, the kind and the subject of every request."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, load: Load, chance: Callable[[], float]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.load, self.chance = load, chance
        self.log: list[tuple[float, str, str]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def environment(self, folder: Path) -> dict[str, str]:
        """The variables of a run that asks these services alone."""
        base = f"http://127.0.0.1:{self.server_port}"
        return {
            **{
                "RESEARCH_AGENT_LLM": "openai",
                "OPENAI_BASE_URL": f"{base}/v1",
                "OPENAI_API_KEY": "none",
            },
            **{"OPENAI_MODEL": "cups", "SEARCH_PROVIDERS": "searxng", "SEARXNG_URL": base},
            **{"ALLOW_PRIVATE_NETWORK": "1", "CACHE_TTL": "0"},
            **{"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Services

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = str(body["messages"][-1]["content"])
        reply = json.dumps(think(prompt, _asked_fields(body)))
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}}
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(reply) // 4}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "cups"}
        whole |= {"choices": [choice | {"finish_reason": "stop"}], "usage": usage}
        self._send("ask", prompt, json.dumps(whole), self.server.load.model)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/search":
            query = parse_qs(url.query)["q"][0]
            self._send("search", query, json.dumps({"results": self._hits(query)}))
        elif url.path.startswith("/web/"):
            page = self._page(url.path.rpartition("/")[2])
            address = f"http://127.0.0.1:{self.server.server_port}{url.path}"
            self._send("read", address, page, form="text/html")
        else:
            self._send("", "", "{}")

    def _hits(self, query: str) -> list[dict[str, str]]:
        n = _CUP.search(query)
        names = (f"final-{n[1]}", f"other-{n[1]}") if n else ()
        base = f"http://127.0.0.1:{self.server.server_port}/web"
        return [{"url": f"{base}/{name}", "title": name, "content": name} for name in names]

    def _page(self, name: str) -> str:
        n = name.rpartition("-")[2]
        said = f"Team {n} won cup number {n}." if name.startswith("final") else "Cats sleep."
        prose = f"The canteen of hall {n} is known for soup. " * (self.server.load.prose // 45)
        return f"<html><title>{name}</title><body><p>{said} It rained. {prose}</p></body></html>"

    def _send(
        self,
        kind: str,
        subject: str,
        text: str,
        seconds: float | None = None,
        form: str = "application/json",
    ) -> None:
        load = self.server.load
        self.server.log.append((time.time(), kind, subject))
        time.sleep(load.other if seconds is None else seconds)
        is_fault = bool(kind) and self.server.chance() < load.faults
        data = b"busy" if is_fault else text.encode()
        self.send_response(503 if is_fault else 200)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


def _asked_fields(body: dict[str, Any]) -> set[str]:
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return set(schema.get("properties", {}))


def think(prompt: str, fields: set[str]) -> dict[str, Any]:
    """What the model replies: it reads the winner of the cup that is asked for."""
    cup = _CUP.search(prompt.rpartition("<source")[2] or prompt) or _CUP.search(prompt)
    n = cup[1] if cup else "0"
    if "verdicts" in fields:
        claims = re.findall(r'<claim id="(\d+)"', prompt)
        rows = [{"claim": int(one), "verdict": "supported", "source": None} for one in claims]
        return {"verdicts": rows}
    if "queries" in fields:
        slots = [{"name": "winner", "description": "who won"}]
        return {"queries": [f"cup number {n} final"], "slots": slots}
    said = f"Team {n} won cup number {n}."
    shown = ((int(at), html.unescape(text)) for at, text in _SOURCE.findall(prompt))
    source = next((at for at, text in shown if said in text), None)
    row = {"name": "winner", "value": f"Team {n}" if source else None}
    cited = [{"source": source, "quote": said}] if source else []
    return {
        "answerable": bool(source),
        "answer": f"{said[:-1]} [{source}]." if source else "",
        "citations": cited,
        "slots": [{**row, "source": source, "quote": said if source else None}],
        "need_more": not source,
        "new_queries": [],
    }


class ServiceProcess:
    """Services in a process of their own: they share no lock with what is measured."""

    def __init__(self, pipe: Connection, environment: dict[str, str]) -> None:
        self._pipe = pipe
        self.environment = environment

    def read_log(self) -> list[tuple[float, str, str]]:
        """Every request so far: its time, kind and subject."""
        self._pipe.send("log")
        requests: list[tuple[float, str, str]] = self._pipe.recv()
        return requests


@contextmanager
def run_services(folder: Path, load: Load) -> Iterator[ServiceProcess]:
    """Serve the world of cups while the block runs."""
    ours, theirs = Pipe()
    process = Process(target=_serve, args=(theirs, folder, load), daemon=True)
    process.start()
    yield ServiceProcess(ours, ours.recv())
    ours.send("end")
    process.join()


def _serve(pipe: Connection, folder: Path, load: Load) -> None:
    from random import Random

    services = Services(load, Random(7).random)
    pipe.send(services.environment(folder))
    while pipe.recv() == "log":
        pipe.send(list(services.log))
