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
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Any

from agent.errors import ExternalCallError, NotConfigured, ReadFailed, UsageError
from agent.pages.address_guard import AddressGuard
from agent.settings import Settings
from agent.state import Outcome, utc_now
from agent.version import USER_AGENT

TIMEOUT = 20.0  # seconds
TRIES = 2  # where the connection fails or the server is at fault
REFUSED = "it is refused as a page there would be, unless ALLOW_PRIVATE_NETWORK is 1"
FAULTS: dict[Outcome, str] = {"forbidden": REFUSED, "timeout": "it does not answer in time"}
PREFIX = "whsec_"  # of a secret that is base64


def check_webhook(url: str, settings: Settings) -> None:
    """Raises UsageError or NotConfigured for a webhook that could not be sent."""
    try:
        AddressGuard(allow_private=settings.allow_private_network).check_url(url)
    except ReadFailed:
        fault = "--webhook is no address that may be called."
        raise UsageError(fault, f"Give https://...: {REFUSED}.") from None
    secret = settings.webhook_secret.get_secret_value()
    if not secret:
        fault = "RESEARCH_AGENT_WEBHOOK_SECRET is not set: it signs what the webhook gets."
        remedy = f"Set it to a secret that the receiver knows: {PREFIX} and 24 to 64 random bytes"
        raise NotConfigured(fault, f"{remedy} in base64.")
    _key_of(secret)


def post_event(
    url: str, settings: Settings, kind: str, event_id: str, data: Mapping[str, Any]
) -> None:
    """Post `{"type", "timestamp", "data"}`. A receiver drops a second event of the same id.

    The address is looked up once, and must be as public as that of a page. Raises
    ExternalCallError, which holds neither the secret nor a part of the address.
    """
    from agent.pages.download import Downloader

    event = {"type": kind, "timestamp": utc_now(), "data": data}
    body = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
    secret = settings.webhook_secret.get_secret_value()
    guard = AddressGuard(allow_private=settings.allow_private_network)
    through_proxy, now = settings.fetch_through_proxy, partial(datetime.now, UTC)
    with closing(Downloader(guard, USER_AGENT, now, through_proxy=through_proxy)) as downloader:
        for _ in range(TRIES):
            try:
                headers = sign(body, secret, event_id, int(time.time()))
                status = downloader.post(url, body, headers, TIMEOUT)
                is_final, fault = status < 500, f"it answers with HTTP {status}"
                if 200 <= status < 300:
                    return
            except ReadFailed as error:
                is_final = error.outcome == "forbidden"
                fault = FAULTS.get(error.outcome, "it cannot be reached")
            if is_final:
                break
    raise ExternalCallError(f"The webhook: {fault}.", "It is tried again the next time.")


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
