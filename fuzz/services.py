"""Replies of search services and of models, and pages over HTTP, in their formats on the wire."""

from __future__ import annotations

import functools
import gzip
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
from fuzz.target import JSON_WORDS, Target
from fuzz.wire import LoopbackServer
from tests.support.search_wire import SERVICES

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
        return service.make(_server().url, SearchOptions(), TIMEOUT)

    def read(data: bytes) -> object:
        _answer(data)
        return clean_hits(provider().search("Who won the cup?"), SearchOptions())

    seeds = [json.dumps(reply).encode() for reply in (service.good, service.empty)]
    return Target(
        read, (*seeds, b'{"error": {"message": "run out of searches"}}4'), (SearchFailed,), WORDS
    )


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


def _model_target(model: Callable[[], Any], task: Any, *seeds: object) -> Target:
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

    replies = tuple(
        seed if isinstance(seed, bytes) else json.dumps(seed).encode() for seed in seeds
    )
    return Target(read, replies, (ModelFailed,), (*WORDS, *_MODEL_WORDS))


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


WORDS = (
    *JSON_WORDS,
    *(
        f'"{name}": '.encode()
        for name in "results organic_results link url title snippet date error "
        "message highlights text query search pages answerBox".split()
    ),
    b"https://a.example/",
    b"http://[",
)
_MODEL_WORDS = tuple(
    f'"{name}": '.encode()
    for name in "choices message content tool_calls function arguments finish_reason "
    "usage candidates "
    "input stop_reason type tool_use "
    "parts functionCall args finishReason usageMetadata thoughtSignature promptFeedback".split()
)
_TEXT = '{"answer": "A won [1].", "citations": [{"source": 1, "quote": "A won"}]}'
_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "search_web", "arguments": '{"query": "a"}'},
}
_USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 3}

serpapi, exa, tavily = map(_search_target, ("serpapi", "exa", "tavily"))
serper, searxng, wikipedia = map(_search_target, ("serper", "searxng", "wikipedia"))
duckduckgo = Target(
    _read_rows,
    (b'[{"href": "https://a.example/", "title": "T", "body": "S"}]', b"[]"),
    (SearchFailed,),
    (*WORDS, b'"href": ', b'"body": '),
)
_GROUNDING = {
    "groundingChunks": [{"web": {"uri": "https://a.example/", "title": "T"}}],
    "groundingSupports": [{"segment": {"endIndex": 5}, "groundingChunkIndices": [0]}],
    "webSearchQueries": ["q"],
}
google = Target(
    _read_grounding,
    (
        json.dumps(
            {
                "candidates": [
                    {"content": {"parts": [{"text": "A"}]}, "groundingMetadata": _GROUNDING}
                ]
            }
        ).encode(),
        b'{"promptFeedback": {"blockReason": "SAFETY"}}',
    ),
    (SearchFailed,),
    (*WORDS, b'"groundingMetadata": ', b'"segment": ', b'"web": ', b'"startIndex": -9'),
)
openai = _model_target(
    _openai,
    WriteAnswer(topic="Who won?"),
    {
        "choices": [{"message": {"role": "assistant", "content": _TEXT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    },
    {"error": {"message": "invalid api key", "code": 401}},
)
openai_tools = _model_target(
    _openai,
    Explore(topic="Who won?"),
    {"choices": [{"message": {"content": None, "tool_calls": [_CALL, _CALL]}}]},
    {"choices": [{"message": {"content": '{"calls": [], "text": "done"}'}}]},
    {"choices": [{"message": {"tool_calls": [{"function": {"name": "search_web"}}]}}]},
)
anthropic = _model_target(
    _anthropic,
    WriteAnswer(topic="Who won?"),
    {"content": [{"type": "text", "text": _TEXT}], "usage": {"input_tokens": 5}},
    {"type": "error", "error": {"type": "invalid_request_error", "message": "schema"}},
    {"content": [], "stop_reason": "refusal"},
)
anthropic_tools = _model_target(
    _anthropic,
    Explore(topic="Who won?"),
    {
        "content": [
            {"type": "thinking", "thinking": "", "signature": "s"},
            {"type": "tool_use", "id": "t", "name": "search_web", "input": {"query": "a"}},
        ],
        "stop_reason": "tool_use",
    },
    {"content": [{"type": "tool_use", "name": "search_web", "input": 7}]},
)
gemini = _model_target(
    _gemini,
    WriteAnswer(topic="Who won?"),
    {
        "candidates": [
            {"content": {"parts": [{"text": _TEXT}], "role": "model"}, "finishReason": "STOP"}
        ],
        "usageMetadata": _USAGE,
    },
    {"promptFeedback": {"blockReason": "SAFETY"}},
    {"error": {"code": 429, "message": "m", "details": [{"retryDelay": "30s"}]}},
    9999,
    b"[" * 5000,
)
gemini_tools = _model_target(
    _gemini,
    Explore(topic="Who won?"),
    {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {
                            "functionCall": {
                                "name": "fetch_page",
                                "args": {"url": "https://a.example/"},
                            },
                            "thoughtSignature": "c2lnbg==",
                        }
                    ]
                }
            }
        ]
    },
)
http = Target(
    _read_response,
    (
        b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="utf-8"\r\nContent-Length: '
        b"9\r\n\r\n<p>words\n",
        b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:PORT/other\r\nSet-Cookie: a=b;"
        b" Path=/; Max-Age=9\r\n"
        b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 429 Slow\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"
        b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Disposition: "
        b"attachment; filename*=UTF-8''a"
        b"\r\n\r\n5\r\nwords\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"<p>words", mtime=0),
    ),
    (ReadFailed,),
    tuple(
        b"\r\n|: |Content-Encoding: gzip, br\r\n|Location: //|Retry-After: 1e400\r\n|"
        b"Content-Length: -1\r\n|"
        b"Transfer-Encoding: chunked\r\n|Set-Cookie: |HTTP/1.1 103 Early\r\n\r\n|"
        b"Content-Type: |charset=|"
        b"filename*=|Location: http://127.0.0.1:PORT/|ffffffff\r\n|\xe9|\x00".split(b"|")
    ),
    100_000,
)
