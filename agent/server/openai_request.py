"""What a chat program asks in OpenAI's wire form, as a question.

The question is the last message of the user. Of those before it the run is followed that gave the
last answer, which ends with its name; else they only show what the question means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from agent.answer.chat_message import find_run_name
from agent.evidence.markers import strip_markers
from agent.server.research_request import Question
from agent.state import LONGEST_EARLIER, MAX_EARLIER, EarlierAnswer, sanitize_line

#: Each model, and the settings that it selects.
MODELS: dict[str, dict[str, Any]] = {
    "research": {},
    "research-quick": {"depth": "quick"},
    "research-deep": {"depth": "deep"},
    "research-report": {"strategy": "report"},
}
TEXT_PARTS = ("text", "input_text", "output_text")


class Refused(HTTPException):
    """A refusal with the code that OpenAI's API has for it."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(status, message)
        self.code = code


class MessagePart(BaseModel):
    """A part of a message; only text is read."""

    type: str = ""
    text: str = ""


class Message(BaseModel):
    """A message of a conversation. An item of another kind has no role."""

    role: str = ""
    content: str | tuple[MessagePart, ...] | None = None

    @property
    def parts(self) -> Sequence[MessagePart]:
        """Its parts; a text is one."""
        text = self.content or ""
        return (MessagePart(type="text", text=text),) if isinstance(text, str) else text

    @property
    def text(self) -> str:
        """Its words."""
        return "\n".join(part.text for part in self.parts if part.type in TEXT_PARTS)


class StreamOptions(BaseModel):
    """What a stream is to have besides."""

    include_usage: bool | None = False


class ChatRequest(BaseModel):
    """A conversation. Fields that this program does not know are ignored: every program has some.

    `documents` are ours, as in a question.
    """

    model: str
    messages: tuple[Message, ...] = ()
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    documents: tuple[str, ...] | None = None

    def make_question(self, knows: Callable[[str], bool]) -> Question:
        """The question. `knows`: whether there is a run of a name. Raises Refused."""
        settings = settings_of(self.model)
        turns = _split_turns(self.messages)
        question = turns[-1][0] if turns else Message()
        if any(part.type not in TEXT_PARTS for part in question.parts):
            raise Refused(400, "Only text is read: leave pictures, sounds and files out.")
        if not question.text.strip():
            raise Refused(400, "There is no question: no message of the user has text.")
        context = _find_context(turns[:-1], knows)
        try:
            return Question(question=question.text, documents=self.documents, **settings, **context)
        except ValidationError as error:
            fault = error.errors()[0]
            code = "context_length_exceeded" if fault["type"] == "string_too_long" else None
            raise Refused(400, f"{fault['loc'][0]}: {fault['msg']}", code) from None


def settings_of(model: str) -> dict[str, Any]:
    """The settings that a model selects. Raises Refused."""
    if model in MODELS:
        return MODELS[model]
    fault = f"There is no model {model!r}. Choose from: {', '.join(MODELS)}."
    raise Refused(404, fault, "model_not_found")


def _find_context(
    before: Sequence[Sequence[Message]], knows: Callable[[str], bool]
) -> dict[str, Any]:
    """What the question follows: a run, or else questions and answers."""
    name = find_run_name(_answer_of(before[-1])) if before else None
    if name and knows(name):
        return {"follow": name}
    return {"earlier": tuple(map(_make_earlier, before[-MAX_EARLIER:]))}


def _split_turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Each message of the user, with the answers after it."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user":
            turns.append([message])
        elif turns and message.role == "assistant":
            turns[-1].append(message)
    return turns


def _answer_of(turn: Sequence[Message]) -> str:
    return turn[-1].text if len(turn) > 1 else ""


def _make_earlier(turn: Sequence[Message]) -> EarlierAnswer:
    texts = (turn[0].text, strip_markers(_answer_of(turn)))
    question, answer = (sanitize_line(text, LONGEST_EARLIER) for text in texts)
    return EarlierAnswer(question=question, answer=answer)
