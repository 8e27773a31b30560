"""What a user is asked about a question: whether a report is planned right, and what is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from agent.answer import Answer
from agent.errors import AgentError
from agent.mcp_server.dialogue import Dialogue
from agent.run.plan import PlanOffer
from agent.run.plan_file import write_offer
from agent.run.request import resolve_strategy
from agent.serving.request import Configure, Question
from agent.serving.runs import plan_requested
from agent.slots.versions import is_time
from agent.state import Plan
from agent.state.json_data import Json
from agent.state.sanitizing import sanitize_line

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
