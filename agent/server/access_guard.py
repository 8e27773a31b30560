"""The access check before every route, limits on the request, and the security headers.

A page of another site cannot send requests for a user. The `Host` must be one of the server's
names, which stops DNS rebinding, and an `Origin`, where there is one, must be that host by the same
scheme, or by a safer one.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import UsageError
from agent.server.error_bodies import fault_body
from agent.state import sanitize_for_display

#: Paths whose body may be longer. First a report as JSON, in base64 if need be.
MAX_BODIES = dict.fromkeys(("/api/check", "/api/check/stream"), 12_000_000)
#: A conversation, with all that was answered before.
MAX_BODIES["/v1/chat/completions"] = 4_000_000
MAX_BODIES["/api/documents"] = 50_100_000  # a file of MAX_BYTES, and what frames it
MAX_BODY = 65_536  # bytes: a question of 2,000 characters as JSON escapes, and the other fields
BODY_SECONDS = 10.0  # time for a body to begin; then it has to keep up with
BODY_RATE = 50_000  # bytes a second
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
HOST = re.compile(
    r"(?:\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]*))(?::(?P<port>[0-9]{1,5}))?"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
#: That need no token: the page, which asks for the token, and the probes.
OPEN_PATHS = ("/", "/api/health", "/api/status")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
log = logging.getLogger("agent.server")


class AccessPolicy(NamedTuple):
    """Who may send requests. An empty token means everybody, no hosts means any `Host`."""

    token: str = ""
    hosts: frozenset[str] = frozenset()


class AccessGuard:
    """An ASGI application that refuses requests, sets headers and logs, around another one."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, max_body: int = MAX_BODY) -> None:
        self._app = app
        self._policy = policy
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, headers, started = scope["method"], Headers(scope=scope), time.monotonic()
        if method == "HEAD":  # probes send it; uvicorn leaves the body out
            scope = {**scope, "method": "GET"}
        sent = headers.get("x-request-id", "")
        request_id = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, request_id)
            await send(message)

        app = self._find_refusal(scope["path"], scope["scheme"], headers) or self._app
        max_body = self._max_body_of(scope["path"])
        await app(scope, limit_body(receive, max_body), respond)
        seconds = round(time.monotonic() - started, 3)
        fields = {"request_id": request_id, "status": status, "seconds": seconds}
        log.info("%s %s", method, sanitize_for_display(scope["path"]), extra={"fields": fields})

    def _find_refusal(self, path: str, scheme: str, headers: Headers) -> ASGIApp | None:
        """The response to a request that is refused; None where it is not."""
        refuse = partial(_refusal_response, path)
        host, origin = _host_name(headers.get("host", "")), headers.get("origin")
        if "content-length" in headers and "transfer-encoding" in headers:
            # a proxy may take the other length, and then read our requests differently than we do
            return refuse(400, "The body has two lengths.", {"Connection": "close"})
        if not self._is_named(host, headers):
            return refuse(421, "This host name is not allowed. Add it to RESEARCH_AGENT_API_HOSTS.")
        # behind a proxy with TLS that does not say so, the scheme is http here
        own = [f"{one}://{headers.get('host')}" for one in (scheme, "https")]
        if origin is not None and origin not in own:
            return refuse(403, "Requests from other sites are not allowed.")
        is_open = path in OPEN_PATHS or path.startswith("/ui/")
        if not is_open and not self._has_token(headers):
            challenge = {"WWW-Authenticate": "Bearer"}
            return refuse(401, "A token is needed: Authorization: Bearer ...", challenge)
        max_body = self._max_body_of(path)
        if int(headers.get("content-length", "0")) > max_body:
            return _drain_first(refuse(413, _too_long_message(max_body)))
        return None

    def _max_body_of(self, path: str) -> int:
        return max(self._max_body, MAX_BODIES.get(path, 0))

    def _is_named(self, host: str, headers: Headers) -> bool:
        """Whether the name that is asked for is the server's, or at least a name."""
        if self._policy.hosts:
            return host in self._policy.hosts
        return bool(host) or not headers.get("host")

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_equal = hmac.compare_digest(token.strip().encode(), self._policy.token.encode())
        return not self._policy.token or (scheme.lower() == "bearer" and is_equal)


def make_policy(token: str, address: str, hosts: Iterable[str]) -> AccessPolicy:
    """The policy of a server that listens on an address.

    Raises UsageError for a token that cannot be used, or that is absent beyond loopback.
    """
    if address not in LOOPBACK and not token:
        raise UsageError(
            f"Listening on {address or 'any address'} needs a token.",
            "Set RESEARCH_AGENT_API_TOKEN to a long random text, or listen on 127.0.0.1.",
        )
    if not re.fullmatch("[!-~]*", token):
        raise UsageError(
            "RESEARCH_AGENT_API_TOKEN holds a blank or a character that is not ASCII.",
            "Use letters and digits: not every client can send others in a header.",
        )
    if address in ("0.0.0.0", "::", "") and not hosts:
        return AccessPolicy(token)
    return AccessPolicy(token, frozenset(name.lower() for name in (*LOOPBACK, address, *hosts)))


def _too_long_message(max_bytes: int) -> str:
    return f"The body is too long: at most {max_bytes} bytes are read."


def limit_body(receive: Receive, max_bytes: int) -> Receive:
    """A `receive` that reads at most `max_bytes` of body, which may not be slow.

    More is read for a moment and dropped: a client that is still sending would not hear the answer.
    Once the body is complete it waits without a limit, for the client to disconnect. It raises
    HTTPException 408 and 413.
    """
    size, is_complete, started = 0, False, time.monotonic()
    drain_until = math.inf

    async def read() -> Message:
        nonlocal size, is_complete, drain_until
        while True:
            deadline = min(started + BODY_SECONDS + size / BODY_RATE, drain_until)
            left = None if is_complete else max(0.0, deadline - time.monotonic())
            try:
                message = await asyncio.wait_for(receive(), left)
            except TimeoutError:
                if size > max_bytes:
                    break
                raise HTTPException(408, "The body did not arrive in time.") from None
            size += len(message.get("body", b""))
            is_complete = is_complete or not message.get("more_body", False)
            if size <= max_bytes:
                return message
            if is_complete:
                break
            drain_until = min(drain_until, time.monotonic() + BODY_SECONDS)
        raise HTTPException(413, _too_long_message(max_bytes))

    return read


def _drain_first(app: ASGIApp) -> ASGIApp:
    """An application that answers once a body that is too long has been read, or has taken long."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(HTTPException):
            while (await receive()).get("more_body", False):
                pass
        await app(scope, receive, send)

    return respond


def _refusal_response(
    path: str, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> ASGIApp:
    return JSONResponse(fault_body(path, status, detail), status, headers)


def _host_name(host: str) -> str:
    """The name in a Host header in lower case, without port and brackets; "" for a wrong one."""
    match = HOST.fullmatch(host)
    if not match or int(match["port"] or 0) > 65_535:
        return ""
    return (match["address"] or match["name"]).lower()


def _add_headers(message: Message, request_id: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Request-ID"] = request_id
