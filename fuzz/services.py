"""Replies of search services and of models, and pages over HTTP, in their formats on the wire."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from agent.errors import ModelFailed, ReadFailed, SearchFailed
from agent.llm.anthropic import Anthropic
from agent.llm.gemini import Gemini
from agent.llm.openai_compatible import OpenAICompatible
from agent.llm.replies import parse_reply
from agent.outside.gemini_api import GeminiAccount, GeminiConnection
from agent.pages.download import Downloader, DownloadLimits
from agent.pages.guard import AddressGuard
from agent.search.duckduckgo import DuckDuckGo
from agent.search.google_grounding import GoogleGrounding
from agent.search.hits import clean_hits
from agent.search.options import SearchOptions
from agent.settings import Settings
from agent.state import Research
from agent.steps.synthesize import WriteAnswer
from agent.strategies.report.gather import Explore
from agent.strategies.report.tool_calls import find_fault
from fuzz.target import Target
from fuzz.wire import LoopbackServer
from tests.support.search_wire import SERVICES
from tests.support.search_wire import service as build_service

TIMEOUT = 30.0  # seconds; nothing here waits
#: The last byte of an input -> the status that the rest is served with; else it is a success.
STATUSES = {
    ord("3"): "302 Found",
    ord("4"): "400 Bad Request",
    ord("5"): "500 Internal Server Error",
    ord("9"): "429 Too Many Requests",
}


@functools.cache
def _server() -> LoopbackServer:
    return LoopbackServer()


@functools.cache
def _google() -> GoogleGrounding:
    settings = Settings(gemini_api_key=SecretStr("key"), gemini_base_url=_server().url)
    guard = AddressGuard(resolver=lambda *_: ["127.0.0.1"])  # so that none is connected to
    return GoogleGrounding(settings, SearchOptions(), guard)


def _read_grounding(data: bytes) -> object:
    _answer(data)
    return clean_hits(_google().search("Who won the cup?").hits, SearchOptions())


def _answer(data: bytes) -> None:
    """Serve an input as JSON."""
    status = STATUSES.get(data[-1]) if data else None
    _server().answer_json(data[:-1] if status else data, status or "200 OK")


def _search_target(name: str) -> Target:
    service = SERVICES[name]

    @functools.cache
    def provider() -> Any:
        return build_service(name, _server().url, timeout=TIMEOUT)

    def read(data: bytes) -> object:
        _answer(data)
        return clean_hits(provider().search("Who won the cup?"), SearchOptions())

    seeds = tuple(json.dumps(reply).encode() for reply in (service.good, service.empty))
    return Target(read, (SearchFailed,), seeds=seeds)


def _read_rows(data: bytes) -> object:
    """What the library of DuckDuckGo returns."""

    class Client:
        def __init__(self, timeout: int) -> None:
            self.timeout = timeout

        def text(self, **_: object) -> object:
            return json.loads(data)

    hits = DuckDuckGo(client=Client, timeout=TIMEOUT).search("Who won the cup?")
    return clean_hits(hits, SearchOptions())


@functools.cache
def _openai() -> OpenAICompatible:
    return OpenAICompatible("a-model", _server().url, "key", TIMEOUT, None)


@functools.cache
def _anthropic() -> Anthropic:
    return Anthropic("a-model", _server().url, "key", TIMEOUT, None)


@functools.cache
def _gemini() -> Gemini:
    connection = GeminiConnection(GeminiAccount("key", _server().url, "v1beta"), TIMEOUT)
    return Gemini("a-model", connection, None)


def _model_target(model: Callable[[], Any], task: Any) -> Target:
    """A reply is read, validated, and its calls of tools judged: it fits, or is ModelFailed."""

    def read(data: bytes) -> None:
        _answer(data)
        generation = model().generate(task, "")
        try:
            reply = parse_reply(generation, task)
        except ValueError:
            return
        for call in getattr(reply, "calls", ()):
            find_fault(call, Research(topic="See https://a.example/"))

    return Target(read, (ModelFailed,))


def _read_response(data: bytes) -> object:
    """A whole response, its head too; a redirect may lead back here."""
    server = _server()
    server.response = data.replace(b"PORT", str(server.port).encode())
    allowed = frozenset({("127.0.0.1", server.port)})
    guard = AddressGuard(allowed=allowed, resolver=lambda *_: ["127.0.0.1"])
    downloader = Downloader(guard, "fuzz", lambda: datetime.now(UTC))
    try:
        return downloader.get(f"{server.url}/page", DownloadLimits(TIMEOUT, 1_000_000))
    finally:
        downloader.close()


serpapi, exa, tavily = map(_search_target, ("serpapi", "exa", "tavily"))
serper, searxng, wikipedia = map(_search_target, ("serper", "searxng", "wikipedia"))
duckduckgo = Target(_read_rows, (SearchFailed,))
google = Target(_read_grounding, (SearchFailed,))
openai = _model_target(_openai, WriteAnswer(topic="Who won?"))
openai_tools = _model_target(_openai, Explore(topic="Who won?"))
anthropic = _model_target(_anthropic, WriteAnswer(topic="Who won?"))
anthropic_tools = _model_target(_anthropic, Explore(topic="Who won?"))
gemini = _model_target(_gemini, WriteAnswer(topic="Who won?"))
gemini_tools = _model_target(_gemini, Explore(topic="Who won?"))
http = Target(_read_response, (ReadFailed,), longest=100_000)
