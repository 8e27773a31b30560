"""What stands before every route: who may ask, by which name, how much; headers for all.

A page of another site cannot ask on a user's behalf: the `Host` must be one of ours (which a name
that was rebound to this address is not), and an `Origin`, where there is one, must be that host.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import UsageError
from agent.state.plain import printable

MAX_BODY = 65_536  # bytes: a question of 2,000 characters as escapes, and what goes with it
BODY_TIME = 10.0  # seconds for a body to arrive
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECURITY = {
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
LOOPBACK = ("localhost", "127.0.0.1", "::1")
log = logging.getLogger("agent.server")


class Policy(NamedTuple):
    """Who may ask. Without a token anybody may; without hosts by any name."""

    token: str = ""
    hosts: frozenset[str] = frozenset()


class Guard:
    """Lets through what the policy allows, and puts the headers on every response."""

    def __init__(self, app: ASGIApp, policy: Policy, max_body: int = MAX_BODY) -> None:
        self._app = app
        self._policy = policy
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, headers, begun = scope["method"], Headers(scope=scope), time.monotonic()
        if method == "HEAD":  # probes ask so; the protocol leaves the body out
            scope = {**scope, "method": "GET"}
        name = _request_id(headers.get("x-request-id", ""))
        scope.setdefault("state", {})["request_id"] = name
        status = 0

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, name)
            await send(message)

        app = self._refusal(scope["path"], headers) or self._app
        await app(scope, bounded(receive, self._max_body), respond)
        seconds = round(time.monotonic() - begun, 3)
        told = {"request_id": name, "status": status, "seconds": seconds}
        log.info("%s %s", method, printable(scope["path"]), extra={"told": told})

    def _refusal(self, path: str, headers: Headers) -> ASGIApp | None:
        host, origin = _name(headers.get("host", "")), headers.get("origin")
        if self._policy.hosts and host not in self._policy.hosts:
            return _refused(421, "This server is not asked by this name. Name it in API_HOSTS.")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            return _refused(403, "Pages of other sites may not ask.")
        if not self._is_open(path) and not self._has_token(headers):
            challenge = {"WWW-Authenticate": "Bearer"}
            return _refused(401, "A token is needed: Authorization: Bearer ...", challenge)
        if int(headers.get("content-length", "0")) > self._max_body:
            return _refused(413, _too_long(self._max_body))
        return None

    def _is_open(self, path: str) -> bool:
        """What may be asked without a token: the page itself, and whether the server is there."""
        return path in ("/", "/api/health", "/api/status") or path.startswith("/ui/")

    def _has_token(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self._policy.token.encode())
        return not self._policy.token or (kind.lower() == "bearer" and same)


def policy(token: str, bound: str, hosts: Iterable[str]) -> Policy:
    """Who may ask a server that is bound to an address. Raises UsageError."""
    if bound not in LOOPBACK and not token:
        raise UsageError(
            f"Listening on {bound or 'any address'} needs a token.",
            "Set AGENT_API_TOKEN to a long random text, or listen on 127.0.0.1.",
        )
    if not re.fullmatch("[!-~]*", token):
        raise UsageError(
            "AGENT_API_TOKEN holds a blank or a character that is not ASCII.",
            "Use letters and digits: not every client can send others in a header.",
        )
    any_name = bound in ("0.0.0.0", "::", "") and not hosts
    names = frozenset() if any_name else frozenset(h.lower() for h in (*LOOPBACK, bound, *hosts))
    return Policy(token, names)


def _too_long(most: int) -> str:
    return f"The body is too long: at most {most} bytes are read."


def bounded(receive: Receive, most: int) -> Receive:
    """What a client sends, within `most` bytes and BODY_TIME seconds; then only its leaving."""
    size, whole, until = 0, False, time.monotonic() + BODY_TIME

    async def read() -> Message:
        nonlocal size, whole
        try:
            left = None if whole else max(0.0, until - time.monotonic())
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            raise HTTPException(408, "The body did not arrive in time.") from None
        size += len(message.get("body", b""))
        whole = whole or not message.get("more_body", False)
        if size > most:
            raise HTTPException(413, _too_long(most))
        return message

    return read


def _refused(status: int, detail: str, headers: Mapping[str, str] | None = None) -> ASGIApp:
    return JSONResponse({"detail": detail}, status, headers)


def _request_id(given: str) -> str:
    return given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _name(host: str) -> str:
    """The name in a Host header, without its port and brackets."""
    found = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::\d+)?|([^:\[\]]*)(?::\d+)?", host)
    return (found[1] or found[2] or "").lower() if found else ""


def _add_headers(message: Message, name: str) -> None:
    headers = MutableHeaders(scope=message)
    for key, value in SECURITY.items():
        headers.setdefault(key, value)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Request-ID"] = name
