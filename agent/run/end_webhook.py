"""The webhook of the end of a run: `run.ended`, signed as that of a watch.

What it gets is the outcome, not the pages. That it failed is a warning, and costs no answer.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from agent.answer import Answer
from agent.errors import AgentError
from agent.outside.webhook import check_webhook, post_event
from agent.pages.guard import DEFAULT_PORTS, AddressGuard
from agent.settings import Settings

NAME = "RUN_WEBHOOK"
SECONDS = 5.0  # for the whole of a try


def check_run_webhook(settings: Settings) -> None:
    """Raises UsageError or NotConfigured for settings whose webhook could not be sent."""
    if settings.run_webhook:
        check_webhook(settings.run_webhook, settings.webhook_secret.get_secret_value(), NAME)


def tell_end(answer: Answer, settings: Settings) -> str:
    """Tell the webhook of the settings, if there is one, of an end; why it was not told, or "".

    A private address is refused unless the settings allow the private network.
    """
    url, run = settings.run_webhook, answer.run
    if not (url and run):
        return ""
    data = {"run": run.id, "question": answer.topic, "status": answer.status}
    data |= {"answer": answer.answer, "error": answer.error.message if answer.error else ""}
    event = {**data, "usage": answer.usage.model_dump(mode="json")}
    secret = settings.webhook_secret.get_secret_value()
    try:
        parts = urlsplit(url)
        guard = AddressGuard(allow_private=settings.allow_private_network)
        guard.check_url(url)
        guard.resolve_and_check(parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])
        post_event(url, secret, "run.ended", run.id, event, name=NAME, timeout=SECONDS)
    except AgentError as error:
        return f"The end of the run was not told. {error.message}"
    except OSError:
        return "The end of the run was not told: its host is not known."
    return ""
