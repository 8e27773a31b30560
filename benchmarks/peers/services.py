"""One loopback server for all: a model and embeddings in OpenAI's form, two searches, a web.

It counts what is asked of it; nothing that a program says of itself is believed.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from agent.evidence import tokens, words
from benchmarks.peers.model import reply
from benchmarks.peers.world import World

#: Characters of a page's beginning, as where a site's own description is shown. gpt-researcher
#: 0.15.1 takes a snippet of more than 100 for the whole page and then reads none.
SNIPPET = 90
DIMENSIONS = 512


class Latency(NamedTuple):
    """Seconds before an answer; `rate`: model calls a second, above which they wait (0: all)."""

    model: float = 1.0
    other: float = 0.5  # a search, a page, embeddings
    rate: float = 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # a hundred runs connect at once

    def handle_error(self, *_: object) -> None:
        """Only a connection that was given up ends here: whoever asked has gone away."""
        if not isinstance(sys.exception(), ConnectionError):
            raise


class Services:
    """A world served; `calls`, `prompt_tokens` and the rest count since the last `forget`."""

    def __init__(self, world: World, latency: Latency) -> None:
        self.world, self.latency = world, latency
        self._lock = threading.Lock()
        self._turn = 0.0  # when the next model call may begin
        self._found: dict[str, list[str]] = {}  # ranking again would take a hundred runs' time
        self.forget()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Services:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        """Count from nothing again."""
        self.calls = self.prompt_tokens = self.embedding_calls = self.embedding_tokens = 0
        self.searched: list[str] = []
        self.read: list[str] = []

    def url(self, name: str) -> str:
        return f"{self.base}/web/{name}"

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        spent = tokens(_shown(body))
        with self._lock:
            self.calls += 1
            self.prompt_tokens += spent
            waits = self._queue()
        time.sleep(self.latency.model + waits)
        message = reply(body)
        usage = {"prompt_tokens": spent, "completion_tokens": tokens(json.dumps(message))}
        usage["total_tokens"] = sum(usage.values())
        ended = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": ended}
        return {**_head(body, "chat.completion"), "choices": [choice], "usage": usage}

    def _queue(self) -> float:
        """Seconds until it is a model call's turn."""
        if not self.latency.rate:
            return 0.0
        now = time.monotonic()
        self._turn = max(self._turn, now) + 1 / self.latency.rate
        return self._turn - now

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        with self._lock:
            self.embedding_calls += 1
            self.embedding_tokens += sum(map(tokens, texts))
        time.sleep(self.latency.other)
        data = [
            {"object": "embedding", "index": i, "embedding": vector(text)}
            for i, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def search(self, query: str) -> list[dict[str, str]]:
        with self._lock:
            self.searched.append(query)
        time.sleep(self.latency.other)
        if query not in self._found:
            self._found[query] = self.world.search(query)
        return [
            {"url": self.url(name), "title": title, "content": text[:SNIPPET]}
            for name in self._found[query]
            for title, text in [self.world.pages[name]]
        ]

    def page(self, name: str) -> str | None:
        time.sleep(self.latency.other)
        if name not in self.world.pages:
            return None
        with self._lock:
            self.read.append(name)
        return self.world.html(name)


def vector(text: str) -> list[float]:
    """Words hashed into dimensions, with a part that all texts share.

    Texts of one language are never far apart in a neural model's space; the shared part stands
    for that, so that a threshold on the cosine (gpt-researcher: 0.35) keeps what shares words.
    """
    made = [0.0] * DIMENSIONS
    for word in set(words(text)):
        made[1 + zlib.crc32(word.encode()) % (DIMENSIONS - 1)] += 1.0
    length = sum(value * value for value in made) ** 0.5 or 1.0
    return [0.5, *(0.866 * value / length for value in made[1:])]


def _shown(body: dict[str, Any]) -> str:
    """What of a request a model reads: messages, tools, the schema of its answer."""
    schema = (body.get("response_format") or {}).get("json_schema")
    more = [json.dumps(part) for part in (body.get("tools"), schema) if part]
    said = [json.dumps(message, ensure_ascii=False) for message in body["messages"]]
    return "\n".join([*said, *more]).replace("\\n", "\n")


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 0, "model": body["model"]}


def stream(body: dict[str, Any], done: dict[str, Any]) -> str:
    """A completion as the events of a stream, in one piece."""
    choice = done["choices"][0]
    head = _head(body, "chat.completion.chunk")
    said = {**head, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events = [said, {**head, "choices": [end]}, {**head, "choices": [], "usage": done["usage"]}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def _handler(services: Services) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path.endswith("/embeddings"):
                self._answer(200, json.dumps(services.embed(body)))
            elif body.get("stream"):
                self._answer(200, stream(body, services.chat(body)), "text/event-stream")
            else:
                self._answer(200, json.dumps(services.chat(body)))

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query).get("q", [""])[0]
            if parts.path == "/searxng/search":
                found = {"results": services.search(query), "unresponsive_engines": []}
                self._answer(200, json.dumps(found))
            elif parts.path == "/brave":
                found = [_described(row) for row in services.search(query)]
                self._answer(200, json.dumps({"web": {"results": found}}))
            else:
                self._page(re.sub("^/web/", "", parts.path))

        def _page(self, name: str) -> None:
            page = services.page(name)
            self._answer(200 if page else 404, page or "not here", "text/html; charset=utf-8")

        def _answer(self, status: int, text: str, kind: str = "application/json") -> None:
            body = text.encode()
            with suppress(OSError):  # whoever asked has given up
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

    return Handler


def _described(row: dict[str, str]) -> dict[str, str]:
    """A search result in Brave's form."""
    return {"url": row["url"], "title": row["title"], "description": row["content"]}
