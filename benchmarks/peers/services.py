"""One loopback server: a model and embeddings with OpenAI's API, two search APIs, and web pages.

It counts requests and tokens itself, so that figures do not depend on what programs report.
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

from agent.evidence import content_words, estimate_tokens
from benchmarks.peers.model import answer_chat
from benchmarks.peers.world import World

#: Characters of a page's beginning in a search result. gpt-researcher 0.15.1 takes a snippet of
#: more than 100 characters for the whole page and then reads no page.
SNIPPET = 90
DIMENSIONS = 512


class Latency(NamedTuple):
    """Seconds of each reply. `rate`: model calls a second; more are delayed (0: no limit)."""

    model: float = 1.0
    other: float = 0.5  # a search, a page, embeddings
    rate: float = 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # a hundred runs connect at once

    def handle_error(self, *_: object) -> None:
        """Ignore connections that the client has closed; raise any other error."""
        if not isinstance(sys.exception(), ConnectionError):
            raise


class Services:
    """Serves a world. `calls`, `prompt_tokens` and other figures count from the last `reset`."""

    def __init__(self, world: World, latency: Latency) -> None:
        self.world, self.latency = world, latency
        self._lock = threading.Lock()
        self._next_call_time = 0.0  # when the next model call may begin
        self._hits_by_query: dict[str, list[str]] = {}  # cached: ranking is slow
        self.reset()
        self._server = _Server(("127.0.0.1", 0), _make_handler(self))
        self.base = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Services:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        """Set all figures to zero."""
        self.calls = self.prompt_tokens = self.embedding_calls = self.embedding_tokens = 0
        self.queries: list[str] = []
        self.pages_read: list[str] = []

    def url(self, name: str) -> str:
        return f"{self.base}/web/{name}"

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        spent = estimate_tokens(_prompt_text(body))
        with self._lock:
            self.calls += 1
            self.prompt_tokens += spent
            waits = self._reserve_delay()
        time.sleep(self.latency.model + waits)
        message = answer_chat(body)
        usage = {"prompt_tokens": spent, "completion_tokens": estimate_tokens(json.dumps(message))}
        usage["total_tokens"] = sum(usage.values())
        ended = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": ended}
        return {**_response_head(body, "chat.completion"), "choices": [choice], "usage": usage}

    def _reserve_delay(self) -> float:
        """Reserve the next model call within the rate; return the seconds until it may begin."""
        if not self.latency.rate:
            return 0.0
        now = time.monotonic()
        self._next_call_time = max(self._next_call_time, now) + 1 / self.latency.rate
        return self._next_call_time - now

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        with self._lock:
            self.embedding_calls += 1
            self.embedding_tokens += sum(map(estimate_tokens, texts))
        time.sleep(self.latency.other)
        data = [
            {"object": "embedding", "index": i, "embedding": embed_text(text)}
            for i, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def search(self, query: str) -> list[dict[str, str]]:
        with self._lock:
            self.queries.append(query)
        time.sleep(self.latency.other)
        if query not in self._hits_by_query:
            self._hits_by_query[query] = self.world.search(query)
        return [
            {"url": self.url(name), "title": title, "content": text[:SNIPPET]}
            for name in self._hits_by_query[query]
            for title, text in [self.world.pages[name]]
        ]

    def page(self, name: str) -> str | None:
        time.sleep(self.latency.other)
        if name not in self.world.pages:
            return None
        with self._lock:
            self.pages_read.append(name)
        return self.world.html(name)


def embed_text(text: str) -> list[float]:
    """An embedding: words hashed into dimensions, plus a constant part.

    Texts of one language are never far apart in a neural model's space. The constant part imitates
    that, so that a threshold on the cosine (gpt-researcher: 0.35) keeps texts with common words.
    """
    counts = [0.0] * DIMENSIONS
    for word in set(content_words(text)):
        counts[1 + zlib.crc32(word.encode()) % (DIMENSIONS - 1)] += 1.0
    length = sum(value * value for value in counts) ** 0.5 or 1.0
    return [0.5, *(0.866 * value / length for value in counts[1:])]


def _prompt_text(body: dict[str, Any]) -> str:
    """The parts of a request that a model reads: messages, tools, the schema of its answer."""
    schema = (body.get("response_format") or {}).get("json_schema")
    more = [json.dumps(part) for part in (body.get("tools"), schema) if part]
    said = [json.dumps(message, ensure_ascii=False) for message in body["messages"]]
    return "\n".join([*said, *more]).replace("\\n", "\n")


def _response_head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 0, "model": body["model"]}


def format_stream(body: dict[str, Any], done: dict[str, Any]) -> str:
    """A completion as server-sent events, with the message in one chunk."""
    choice = done["choices"][0]
    head = _response_head(body, "chat.completion.chunk")
    said = {**head, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events = [said, {**head, "choices": [end]}, {**head, "choices": [], "usage": done["usage"]}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def _make_handler(services: Services) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path.endswith("/embeddings"):
                self._answer(200, json.dumps(services.embed(body)))
            elif body.get("stream"):
                self._answer(200, format_stream(body, services.chat(body)), "text/event-stream")
            else:
                self._answer(200, json.dumps(services.chat(body)))

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query).get("q", [""])[0]
            if parts.path == "/searxng/search":
                found = {"results": services.search(query), "unresponsive_engines": []}
                self._answer(200, json.dumps(found))
            elif parts.path == "/brave":
                found = [_to_brave_result(row) for row in services.search(query)]
                self._answer(200, json.dumps({"web": {"results": found}}))
            else:
                self._page(re.sub("^/web/", "", parts.path))

        def _page(self, name: str) -> None:
            page = services.page(name)
            self._answer(200 if page else 404, page or "not here", "text/html; charset=utf-8")

        def _answer(self, status: int, text: str, kind: str = "application/json") -> None:
            body = text.encode()
            with suppress(OSError):  # the client has closed the connection
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

    return Handler


def _to_brave_result(row: dict[str, str]) -> dict[str, str]:
    """A search result in the format of Brave's API."""
    return {"url": row["url"], "title": row["title"], "description": row["content"]}
