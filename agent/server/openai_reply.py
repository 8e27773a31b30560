"""An answer in OpenAI's wire form: whole, and as a stream while the run goes on.

`start_index` and `end_index` are characters of the text: of the mark, not of what it stands for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from agent.answer import Answer
from agent.answer.chat_message import ChatMessage, source_title, write_chat_message
from agent.answer.phrases import STATUSES
from agent.errors import format_error
from agent.server.openai_request import RESPONSE_PREFIX
from agent.server.stream import KEEP_ALIVE_COMMENT
from agent.serving.faults import openai_error
from agent.serving.live import Frame, LiveRun
from agent.state.json_data import Json


class ChatReply:
    """The reply to `POST /v1/chat/completions`."""

    def __init__(self, model: str, live: LiveRun, *, has_usage: bool = False) -> None:
        """`has_usage`: a stream tells the usage, in a chunk of its own."""
        self._live = live
        self._has_usage = has_usage
        self._head = {"id": f"chatcmpl-{live.id}", "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> Json:
        """The reply as one object."""
        said = write_chat_message(answer)
        told = {"content": said.text, "refusal": None, "annotations": _nest(said)}
        reply = self._chunk({}, "stop", message={"role": "assistant", **told})
        usage = _count_tokens(answer, "prompt", "completion")
        return {**reply, "object": "chat.completion", "usage": usage}

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
            yield self._event("status", description=STATUSES[answer.status], done=True)
            yield from self._tell(write_chat_message(answer))
            yield self._chunk({}, "stop")
            if self._has_usage:
                usage = _count_tokens(answer, "prompt", "completion")
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
        told = message or {"delta": delta}
        choice = {"index": 0, **told, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}


class ResponsesReply:
    """The reply to `POST /v1/responses`."""

    def __init__(self, model: str, live: LiveRun) -> None:
        self._live = live
        self._sent = 0  # events
        begun: Json = {"id": f"{RESPONSE_PREFIX}{live.id}", "model": model}
        begun |= {"object": "response", "status": "in_progress", "created_at": int(time.time())}
        fixed: Json = {"tools": [], "tool_choice": "auto", "output": []}
        fixed |= {"parallel_tool_calls": False, "error": None, "incomplete_details": None}
        self._begun = begun | fixed

    def whole(self, answer: Answer) -> Json:
        """The reply as one object."""
        item = self._make_item(write_chat_message(answer))
        usage = _count_tokens(answer, "input", "output")
        return {**self._begun, "status": "completed", "output": [item], "usage": usage}

    def encode(self, frame: Frame | None) -> bytes:
        """A frame of the run as what the stream has of it."""
        if frame is None:
            return KEEP_ALIVE_COMMENT
        return b"".join(self._encode(kind, fields) for kind, fields in self._events(frame))

    def _events(self, frame: Frame) -> Iterator[tuple[str, Json]]:
        answer = self._live.answer
        if frame.type == "start":
            yield "created", {"response": self._begun}
        elif answer and frame.type == "answer":
            yield from self._tell(write_chat_message(answer))
            yield "completed", {"response": self.whole(answer)}
        elif answer and frame.type == "error":
            error = {"code": "server_error", "message": error_body(answer)["error"]["message"]}
            yield "failed", {"response": {**self._begun, "status": "failed", "error": error}}

    def _tell(self, said: ChatMessage) -> Iterator[tuple[str, Json]]:
        item = self._make_item(said)
        [part] = item["content"]
        empty, begun = {"text": "", "annotations": []}, {"status": "in_progress", "content": []}
        at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        yield "output_item.added", {"output_index": 0, "item": {**item, **begun}}
        yield "content_part.added", {**at, "part": {**part, **empty}}
        for line in said.text.splitlines(keepends=True):
            yield "output_text.delta", {**at, "delta": line, "logprobs": []}
        for n, one in enumerate(part["annotations"]):
            added = {**at, "annotation_index": n, "annotation": one}
            yield "output_text.annotation.added", added
        yield "output_text.done", {**at, "text": said.text, "logprobs": []}
        yield "content_part.done", {**at, "part": part}
        yield "output_item.done", {"output_index": 0, "item": item}

    def _make_item(self, said: ChatMessage) -> Json:
        annotations = [{"type": "url_citation", **one} for one in _cite(said)]
        part = {"type": "output_text", "text": said.text, "annotations": annotations}
        item = {"id": f"msg_{self._live.id}", "type": "message", "role": "assistant"}
        return {**item, "status": "completed", "content": [{**part, "logprobs": []}]}

    def _encode(self, kind: str, fields: Json) -> bytes:
        event = {"type": f"response.{kind}", "sequence_number": self._sent, **fields}
        self._sent += 1
        return f"event: response.{kind}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(answer: Answer, status: int = 500) -> Json:
    """The error of a run as an error object."""
    assert answer.error
    return openai_error(status, format_error(answer.error.message, answer.error.remedy))


def _cite(said: ChatMessage) -> Iterator[Json]:
    for start, end, citation in said.marks:
        told = {"title": source_title(citation), "url": citation.link}
        yield {"start_index": start, "end_index": end, **told}


def _nest(said: ChatMessage) -> list[Json]:
    return [{"type": "url_citation", "url_citation": one} for one in _cite(said)]


def _count_tokens(answer: Answer, read: str, written: str) -> Json:
    counts = (answer.usage.input_tokens, answer.usage.output_tokens)
    return dict(zip((f"{read}_tokens", f"{written}_tokens"), counts, strict=True)) | {
        "total_tokens": sum(counts)
    }
