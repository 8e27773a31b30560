"""What a user is asked about a question: whether a report is planned right, and what is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from agent.answer import Answer
from agent.errors import AgentError
from agent.run.plan import PlanOffer
from agent.run.plan_file import write_offer
from agent.run.request import resolve_strategy
from agent.serving.request import Configure, Question
from agent.serving.runs import plan_requested
from agent.slots.versions import is_time
from agent.state import Plan
from agent.state.json_data import Json
from agent.state.sanitizing import sanitize_line

PATIENCE = 300.0  # seconds for a reply; then the call goes on without
CALLED_AGAIN = "2026-07-28"  # the first revision of which a call is made again; they are dates
KEY = "user"


class NeedsReply(Exception):
    """The call is to be made again with the reply."""

    def __init__(self, asked: types.InputRequiredResult) -> None:
        self.asked = asked


class Dialogue:
    """What can be asked amid one call."""

    def __init__(self, ctx: ServerRequestContext[Any], call: types.CallToolRequestParams) -> None:
        self._ctx = ctx
        self._replies = call.input_responses or {}
        self.state = call.request_state or ""  # of the question that the client replied to
        told = ctx.session.client_capabilities
        form = told and told.elicitation
        self.is_open = bool(form and (form.form is not None or form.url is None))

    async def ask(self, message: str, fields: Mapping[str, Json], state: str) -> Json:
        """What the user filled in; {} where they refused, or where nobody can be asked.

        `fields` are JSON Schemas; what comes back need not fit them. `state` names the question,
        and comes back from anybody. Raises NeedsReply.
        """
        if not self.is_open:
            return {}
        if self.state == state:
            return _content_of(self._replies.get(KEY))
        schema = {"type": "object", "properties": dict(fields)}
        if self._ctx.protocol_version >= CALLED_AGAIN:
            form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
            asked: types.InputRequests = {KEY: types.ElicitRequest(params=form)}
            raise NeedsReply(types.InputRequiredResult(input_requests=asked, request_state=state))
        try:
            async with asyncio.timeout(PATIENCE):
                session, request = self._ctx.session, self._ctx.request_id
                return _content_of(await session.elicit_form(message, schema, request))
        except (MCPError, ValidationError, TimeoutError):
            return {}


def _content_of(reply: types.InputResponse | None) -> Json:
    if isinstance(reply, types.ElicitResult) and reply.action == "accept":
        return dict(reply.content or {})
    return {}


WHICH = "Sources tell of several things that your question may mean. Which one? {}"
CHANGES = "What should be different in this plan?"
LONGEST_REPLY = 1000  # characters
TEXT: Json = {"type": "string", "maxLength": LONGEST_REPLY}


async def agree_on_plan(asked: Question, configure: Configure, dialogue: Dialogue) -> Question:
    """A question of a report with the plan that its user agreed to; any other as it is.

    A refusal leaves the plan as it is. Raises NeedsReply.
    """
    if not dialogue.is_open or not await asyncio.to_thread(_is_to_plan, asked, configure):
        return asked
    try:
        offer = _read_offer(dialogue.state)
        if offer is None:
            offer = await asyncio.to_thread(plan_requested, configure, asked)
        questions = (*offer.ask, CHANGES)
        form = {f"reply{n}": {**TEXT, "title": one} for n, one in enumerate(questions)}
        reply = await dialogue.ask(write_offer(offer), form, offer.model_dump_json())
        if clarified := tuple(_list_replies(reply, questions)):
            offer = await asyncio.to_thread(plan_requested, configure, asked, clarified)
    except AgentError:  # the run tells what is wrong
        return asked
    plan = Plan(**offer.model_dump())
    return asked.model_copy(update={"plan": plan})


def _is_to_plan(asked: Question, configure: Configure) -> bool:
    settings = configure(asked.setting_overrides(configure({})))
    return not settings.plan and resolve_strategy(asked.question, settings).strategy == "report"


def _read_offer(state: str) -> PlanOffer | None:
    """The plan that the user was asked about, as the client gives it back."""
    try:
        return PlanOffer.model_validate_json(state)
    except ValidationError:
        return None


def _list_replies(reply: Mapping[str, object], questions: tuple[str, ...]) -> Iterator[str]:
    for n, question in enumerate(questions):
        if text := sanitize_line(reply.get(f"reply{n}"), LONGEST_REPLY):
            yield f"{question} {text}"


async def ask_which(answer: Answer, question: str, dialogue: Dialogue) -> str:
    """Which of several things of one name is meant; "" where none was chosen. Raises NeedsReply."""
    slots = answer.slots.values()
    named = [name for slot in slots for name in (slot.of, *(one.of for one in slot.alternatives))]
    things = list(dict.fromkeys(name for name in named if name and not is_time(name)))
    if answer.run is None or len(things) < 2:
        return ""
    form = {"meant": {"type": "string", "title": "Which one", "enum": things}}
    reply = await dialogue.ask(WHICH.format(question), form, answer.run.id)
    return next((one for one in things if one == reply.get("meant")), "")
