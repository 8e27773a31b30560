"""Questions to the user of a client in the midst of a call, where the client can ask them.

Since revision 2026-07-28 a call ends with what is asked, and the client makes it again with the
reply; before, the server asks while the call goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from agent.state.json_data import Json

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
