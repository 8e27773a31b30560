"""A webhook: an event that is posted to an address of the user, signed as Standard Webhooks has it.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agent.errors import NotConfigured, OutsideError, UsageError
from agent.outside.http import Endpoint
from agent.state.clock import utc_now

TIMEOUT = 20.0  # seconds
TRIES = 2  # where the connection fails or the server is at fault
PREFIX = "whsec_"  # of a secret that is base64


def check_webhook(url: str, secret: str) -> None:
    """Raises UsageError or NotConfigured for a webhook that could not be sent."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        raise UsageError("--webhook is no address of the web.", "Give one: https://...")
    if not secret:
        fault = "RESEARCH_AGENT_WEBHOOK_SECRET is not set: it signs what the webhook gets."
        remedy = f"Set it to a secret that the receiver knows: {PREFIX} and 24 to 64 random bytes"
        raise NotConfigured(fault, f"{remedy} in base64.")
    _key_of(secret)


def post_event(
    url: str,
    secret: str,
    kind: str,
    event_id: str,
    data: Mapping[str, Any],
    *,
    timeout: float = TIMEOUT,
) -> None:
    """Post `{"type", "timestamp", "data"}`. A receiver drops a second event of the same id.

    Raises OutsideError, which holds neither the secret nor the address.
    """
    event = {"type": kind, "timestamp": utc_now(), "data": data}
    body = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
    host = "://".join(urlsplit(url)[:2])
    endpoint = Endpoint(host, "--webhook", timeout=timeout, error_class=OutsideError)
    for left in range(TRIES - 1, -1, -1):
        try:
            headers = sign(body, secret, event_id, int(time.time()))
            endpoint.fetch(url.removeprefix(host), data=body, headers=headers)
        except OutsideError as error:
            if not left or error.outcome not in ("unavailable", "timeout"):
                raise OutsideError(f"The webhook: {error.message}.", error.remedy) from None
        else:
            return


def sign(body: bytes, secret: str, event_id: str, at: int) -> dict[str, str]:
    """The headers of a body: its id, its time in seconds since the epoch, and its signature."""
    signed = b".".join((event_id.encode(), str(at).encode(), body))
    digest = hmac.new(_key_of(secret), signed, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _key_of(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode("utf-8", "replace")
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        fault = "RESEARCH_AGENT_WEBHOOK_SECRET is not base64 after whsec_."
        raise NotConfigured(fault, "Take another one.") from None
