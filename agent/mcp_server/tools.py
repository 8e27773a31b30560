"""The tools and resources, as the protocol has them."""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import aclosing
from typing import Any

from mcp import types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from agent import __version__
from agent.answer import Answer, answer_schema, to_json
from agent.errors import AgentError, told
from agent.run import proof
from agent.serving.asked import Configure, Question
from agent.serving.runs import MOST_LISTED, Runs

Context = ServerRequestContext[Any]
PREFIX = "research://runs/"
RESEARCH = (
    "Research a question: search, read pages, check, and answer as one JSON object in which every "
    "citation is a verbatim quote of a page that was read. `status` says how far to trust it."
)
AUDIT = (
    "Check an answer object of this program again, from the run's journal alone: every page hash, "
    "offset, quote, marker and verdict. `ok` only if everything stands."
)
AUDITED = {
    "type": "object",
    "required": ["ok", "checked", "failures", "judged_by_model", "replayed"],
    "properties": {
        "ok": {"type": "boolean"},
        "checked": {"type": "object"},
        "failures": {"type": "array"},
        "judged_by_model": {"type": "array"},
        "replayed": {"type": "boolean"},
    },
}


class Tools:
    """What the protocol asks for, over the runs."""

    def __init__(self, configure: Configure, runs: Runs) -> None:
        self._configure = configure
        self._runs = runs

    def server(self) -> Server[Any]:
        """The server, for any transport."""
        return Server(
            "llm-research-agent",
            version=__version__,
            instructions="Ask `research` one question at a time; `audit` checks an answer again.",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._finished,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
        )

    async def _list(self, _: Context, __: Any) -> types.ListToolsResult:
        asked = Question.model_json_schema()
        del asked["properties"]["detach"]
        answer = {"type": "object", "properties": {"answer": {"type": "object"}}}
        reads = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name="research",
                    description=RESEARCH,
                    input_schema=asked,
                    output_schema=answer_schema(),
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=True),
                ),
                types.Tool(
                    name="audit",
                    description=AUDIT,
                    input_schema={**answer, "required": ["answer"]},
                    output_schema=AUDITED,
                    annotations=reads,
                ),
            ]
        )

    async def _call(self, ctx: Context, call: types.CallToolRequestParams) -> types.CallToolResult:
        """A failure that the caller can mend is a result that says so, as the protocol wants."""
        given = call.arguments or {}
        try:
            if call.name == "research":
                return _answered(await self._research(ctx, given))
            if call.name == "audit":
                return _structured(await asyncio.to_thread(self._audit, given))
        except AgentError as error:
            return _failed(told(error.message, error.remedy))
        except ValidationError as error:
            rows = error.errors()
            return _failed("; ".join(f"{'.'.join(map(str, r['loc']))}: {r['msg']}" for r in rows))
        raise MCPError(code=types.INVALID_PARAMS, message="There is no tool of this name.")

    async def _research(self, ctx: Context, given: dict[str, Any]) -> Answer:
        """A run, told as progress; a call that is cancelled stops it."""
        asked = Question.model_validate(given)
        chosen = asked.given(self._configure({})) | {"request_id": _name(ctx)}
        settings = self._configure(chosen)
        live = await asyncio.to_thread(self._runs.begin, asked.question, settings)
        with live.attended(0):
            async with aclosing(live.follow()) as frames:
                async for frame in frames:
                    if frame and frame.type not in ("report", "answer"):
                        message = f"{frame.type}: {frame.detail}"
                        await ctx.session.report_progress(frame.n, None, message)
        assert live.answer is not None  # it has told its end
        return live.answer

    def _audit(self, given: dict[str, Any]) -> dict[str, Any]:
        """Against the journals of this program only: the path that an answer names is not read."""
        answer = given.get("answer")
        if not isinstance(answer, dict):
            raise AgentError("`answer` is not an answer object.", "Give what `research` returned.")
        run = answer.get("run")
        name = run.get("id") if isinstance(run, dict) else None
        journal = self._runs.journal(name) if isinstance(name, str) else None
        if journal is None:
            raise AgentError("There is no journal of this run here.", "Audit it where it was made.")
        return proof.audit(answer, journal)

    async def _finished(self, _: Context, __: Any) -> types.ListResourcesResult:
        listed = await asyncio.to_thread(self._runs.listed, MOST_LISTED)
        ended = [summary for summary in listed if summary.state in ("ended", "past")]
        resources = [
            types.Resource(
                uri=PREFIX + one.id,
                name=one.id,
                title=one.question,
                mime_type="application/json",
            )
            for one in ended
        ]
        return types.ListResourcesResult(resources=resources)

    async def _templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=PREFIX + "{id}",
            name="run",
            description="The answer object of a run that has ended",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(
        self, _: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        try:
            live = await asyncio.to_thread(self._runs.find, uri.removeprefix(PREFIX))
        except AgentError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=error.message) from None
        if live is None or live.answer is None or not uri.startswith(PREFIX):
            raise MCPError(code=types.INVALID_PARAMS, message="There is no such run that ended.")
        text = to_json(live.answer)
        content = types.TextResourceContents(uri=uri, text=text, mime_type="application/json")
        return types.ReadResourceResult(contents=[content])


def _name(ctx: Context) -> str:
    """Who asks: over HTTP the name that the guard knows the request by, else one of our own."""
    return getattr(getattr(ctx.request, "state", None), "request_id", None) or uuid.uuid4().hex


def _answered(answer: Answer) -> types.CallToolResult:
    """The answer object; one without an answer is a failure that says why, in words."""
    done = _structured(answer.model_dump(mode="json"))
    if answer.error is None:
        return done
    failed = _failed(told(answer.error.message, answer.error.remedy))
    return failed.model_copy(update={"structured_content": done.structured_content})


def _structured(value: dict[str, Any]) -> types.CallToolResult:
    """The value as it is, and as text for clients that know no structured output."""
    text = types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=value)


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )
