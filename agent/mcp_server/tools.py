"""The tools and resources of the MCP server."""

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
from agent.answer.check import build_check_result, check_schema
from agent.errors import AgentError, UsageError, format_error
from agent.run.audit import audit_answer
from agent.serving.request import CheckRequest, Configure, Question
from agent.serving.runs import MAX_LISTED, Runs, begin_requested
from agent.state.json_data import parse_json

Context = ServerRequestContext[Any]
URI_PREFIX = "research://runs/"


def _object_schema(fields: dict[str, str]) -> dict[str, Any]:
    """The JSON Schema of an object that has all of these fields."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "required": [*fields], "properties": properties}


RESEARCH_DESCRIPTION = (
    "Research a question: search, read pages, check, and answer as one JSON object in which every "
    "citation is a verbatim quote of a page that was read. `status` says how far to trust it. To "
    "ask on about an earlier answer, give its `run.id` as `follow`: what it read comes first."
)
AUDIT_DESCRIPTION = (
    "Check an answer object of this program again, from the run's journal alone: every page hash, "
    "offset, quote, marker and verdict. `ok` only if everything stands."
)
CHECK_DESCRIPTION = (
    "Check a report that anybody wrote against the pages that it cites: each sentence with its "
    "verdict, the quote that decides, and what is wrong. Markdown, HTML, wikitext, BibTeX, the "
    "JSON of an answer; DOCX and PDF in base64. It sees no file of yours: send the text."
)
AUDIT_INPUT = _object_schema({"answer": "object"})
AUDIT_SCHEMA = _object_schema(
    {
        "ok": "boolean",
        "checked": "object",
        "failures": "array",
        "judged_by_model": "array",
        "replayed": "boolean",
    }
)


class Tools:
    """The handlers of the protocol's requests."""

    def __init__(self, configure: Configure, runs: Runs) -> None:
        self._configure = configure
        self._runs = runs

    def make_server(self) -> Server[Any]:
        """A server of these tools, for any transport."""
        return Server(
            "llm-research-agent",
            version=__version__,
            instructions="Ask `research` one question at a time; `audit` checks an answer again; "
            "`check` checks any report against what it cites.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_finished_runs,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_answer,
        )

    async def _list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        inputs = [Question.model_json_schema(), CheckRequest.model_json_schema()]
        for schema in inputs:
            del schema["properties"]["detach"]
        rows = (
            ("research", RESEARCH_DESCRIPTION, inputs[0], answer_schema()),
            ("audit", AUDIT_DESCRIPTION, AUDIT_INPUT, AUDIT_SCHEMA),
            ("check", CHECK_DESCRIPTION, inputs[1], check_schema()),
        )
        tools = [
            types.Tool(
                name=name,
                description=description,
                input_schema=given,
                output_schema=result,
                annotations=types.ToolAnnotations(
                    read_only_hint=True, open_world_hint=name != "audit"
                ),
            )
            for name, description, given, result in rows
        ]
        return types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, ctx: Context, call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool. A failure that the caller can mend is a result, as the protocol demands."""
        arguments = call.arguments or {}
        try:
            if call.name == "research":
                answer = await self._run(ctx, Question, arguments)
                return _run_result(answer, answer.model_dump(mode="json"))
            if call.name == "check":
                answer = await self._run(ctx, CheckRequest, arguments)
                return _run_result(answer, build_check_result(answer).model_dump(mode="json"))
            if call.name == "audit":
                return _structured_result(await asyncio.to_thread(self._audit, arguments))
        except AgentError as error:
            return _failure_result(format_error(error.message, error.remedy))
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors()]
            return _failure_result("; ".join(faults))
        raise MCPError(code=types.INVALID_PARAMS, message="There is no tool of this name.")

    async def _run(
        self, ctx: Context, request: type[Question | CheckRequest], arguments: dict[str, Any]
    ) -> Answer:
        """Run to the end and report the frames as progress; cancelling the call stops the run."""
        asked = request.model_validate(_read_again(arguments)).model_copy(update={"detach": False})
        live = await asyncio.to_thread(
            begin_requested, self._runs, self._configure, asked, _request_id_of(ctx)
        )
        with live.listener(0):
            async with aclosing(live.follow()) as frames:
                async for frame in frames:
                    if frame and frame.type not in ("report", "answer"):
                        message = f"{frame.type}: {frame.detail}"
                        await ctx.session.report_progress(frame.n, None, message)
        assert live.answer is not None  # its last frame has come
        return live.answer

    def _audit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Audit an answer against its journal in the folder of journals.

        The journal's path in the answer is not read: it may name any file.
        """
        answer = _read_again(arguments).get("answer")
        if not isinstance(answer, dict):
            raise AgentError("`answer` is not an answer object.", "Give what `research` returned.")
        run = answer.get("run")
        name = run.get("id") if isinstance(run, dict) else None
        journal = self._runs.find_journal(name) if isinstance(name, str) else None
        if journal is None:
            raise AgentError("There is no journal of this run here.", "Audit it where it was made.")
        return audit_answer(answer, journal)

    async def _list_finished_runs(self, _: Context, __: Any) -> types.ListResourcesResult:
        summaries = await asyncio.to_thread(self._runs.list_newest, MAX_LISTED)
        resources = [
            types.Resource(
                uri=URI_PREFIX + summary.id,
                name=summary.id,
                title=summary.question,
                mime_type="application/json",
            )
            for summary in summaries
            if summary.state in ("ended", "past")
        ]
        return types.ListResourcesResult(resources=resources)

    async def _list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=URI_PREFIX + "{id}",
            name="run",
            description="The answer object of a run that has ended",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_answer(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            live = await asyncio.to_thread(self._runs.find, uri.removeprefix(URI_PREFIX))
        except AgentError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=error.message) from None
        if live is None or live.answer is None or not uri.startswith(URI_PREFIX):
            raise MCPError(code=types.INVALID_PARAMS, message="There is no such run that ended.")
        text = to_json(live.answer)
        content = types.TextResourceContents(uri=uri, text=text, mime_type="application/json")
        return types.ReadResourceResult(contents=[content])


def _read_again(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if they are JSON as `parse_json` reads it: the SDK reads any depth and number.

    Raises UsageError.
    """
    try:
        return dict(parse_json(json.dumps(arguments)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The arguments cannot be read: {error}.", "Send less at once.") from None


def _request_id_of(ctx: Context) -> str:
    """The name of a request: over HTTP the one that the access guard chose, else a new one."""
    return getattr(getattr(ctx.request, "state", None), "request_id", None) or uuid.uuid4().hex


def _run_result(answer: Answer, value: dict[str, Any]) -> types.CallToolResult:
    """What a run gives as structured content; where it is an error, a failure in words."""
    result = _structured_result(value)
    if answer.error is None:
        return result
    failure = _failure_result(format_error(answer.error.message, answer.error.remedy))
    return failure.model_copy(update={"structured_content": value})


def _structured_result(value: dict[str, Any]) -> types.CallToolResult:
    """The value as structured content, and as text for clients without that."""
    text = types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=value)


def _failure_result(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )
