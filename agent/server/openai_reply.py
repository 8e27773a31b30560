"""An answer in OpenAI's wire form: whole, and as a stream while the run goes on.

`start_index` and `end_index` are characters of the text: of the mark, not of its quote.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from fastapi.responses import JSONResponse

from agent.answer.chat_message import ChatMessage, source_title, write_chat_message
from agent.answer.messages import state_of
from agent.answer.schema import Answer
from agent.errors import format_error
from agent.server.error_bodies import openai_error
from agent.server.live_run import Frame, LiveRun
from agent.server.responses import status_of
from agent.server.stream import KEEP_ALIVE_COMMENT
from agent.state import Json


class ChatReply:
    """The reply to `POST /v1/chat/completions`."""

    def __init__(self, model: str, live: LiveRun, *, has_usage: bool = False) -> None:
        """`has_usage`: a stream ends with the usage, in a chunk of its own."""
        self._live = live
        self._has_usage = has_usage
        self._head = {"id": f"chatcmpl-{live.id}", "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> Json:
        """The reply as one object."""
        said = write_chat_message(answer)
        fields = {"content": said.text, "refusal": None, "annotations": _nest(said)}
        reply = self._chunk({}, "stop", message={"role": "assistant", **fields})
        usage = _count_tokens(answer)
        return {**reply, "object": "chat.completion", "usage": usage}

    def respond(self, answer: Answer, live: LiveRun) -> JSONResponse:
        """The reply, or an error object with the status of the answer's error."""
        status = status_of(answer)
        content = error_body(answer, status) if answer.error else self.whole(answer)
        return JSONResponse(content, status, {"X-Run-ID": live.id})

    def encode(self, frame: Frame | None) -> bytes:
        """A frame of the run as what the stream has of it."""
        if frame is None:
            return KEEP_ALIVE_COMMENT
        if frame.type == "end":
            return b"data: [DONE]\n\n"
        return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in self._chunks(frame))

    def _chunks(self, frame: Frame) -> Iterator[Json]:
        answer = self._live.answer
        if frame.type == "start":
            yield self._chunk({"role": "assistant", "content": ""})
        elif answer and frame.type == "answer":
            yield self._event("status", description=state_of(answer).name, done=True)
            yield from self._tell(write_chat_message(answer))
            yield self._chunk({}, "stop")
            if self._has_usage:
                usage = _count_tokens(answer)
                yield {**self._chunk({}), "choices": [], "usage": usage}
        elif answer and frame.type == "error":
            yield error_body(answer)
        elif frame.type != "report":
            yield self._event("status", description=f"{frame.type}: {frame.detail}", done=False)

    def _tell(self, said: ChatMessage) -> Iterator[Json]:
        for line in said.text.splitlines(keepends=True):
            yield self._chunk({"content": line})
        for quotes in said.sources:  # Open WebUI shows these quotes, and no others
            name, url = source_title(quotes[0]), quotes[0].link
            yield self._event(
                "source",
                source={"name": name, "url": url},
                document=[one.quote for one in quotes],
                metadata=[{"source": url, "name": name}] * len(quotes),
            )
        if said.marks:
            yield self._chunk({"annotations": _nest(said)})

    def _event(self, kind: str, **data: Any) -> Json:
        """A chunk without words, and beside its choices what only Open WebUI reads."""
        return self._chunk({}) | {"event": {"type": kind, "data": data}}

    def _chunk(self, delta: Json, finish_reason: str | None = None, **message: Json) -> Json:
        part = message or {"delta": delta}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}


def error_body(answer: Answer, status: int = 500) -> Json:
    """The error of a run as an error object."""
    assert answer.error
    return openai_error(status, format_error(answer.error.message, answer.error.remedy))


def _nest(said: ChatMessage) -> list[Json]:
    return [{"type": "url_citation", "url_citation": one} for one in _cite(said)]


def _cite(said: ChatMessage) -> Iterator[Json]:
    for start, end, citation in said.marks:
        page = {"title": source_title(citation), "url": citation.link}
        yield {"start_index": start, "end_index": end, **page}


def _count_tokens(answer: Answer) -> Json:
    read, written = answer.usage.input_tokens, answer.usage.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
