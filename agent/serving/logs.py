"""Lines about requests and runs on standard error: as text, or each as a JSON object."""

from __future__ import annotations

import json
import logging
import time
from typing import Literal

from agent.serving.live import Live

log = logging.getLogger("agent.server")


class AsJson(logging.Formatter):
    """One JSON object a line: `at` (UTC, ISO 8601), `level`, `message`, and what belongs to it."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        told = {"at": at, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[0]:
            told["error"] = record.exc_info[0].__name__  # not its text, which may hold a key
        return json.dumps(told | getattr(record, "told", {}))


class AsText(logging.Formatter):
    """The message, and what belongs to it as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        told = getattr(record, "told", {})
        return " ".join([record.getMessage(), *(f"{name}={value}" for name, value in told.items())])


def set_up(form: Literal["text", "json"]) -> None:
    """Log to standard error; called once, by the process that serves."""
    handler = logging.StreamHandler()
    handler.setFormatter(AsJson() if form == "json" else AsText())
    for name in ("agent.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)


def end_of_run(live: Live) -> None:
    """Log how a run ended; not what was asked."""
    summary = live.summary
    told = {
        "request_id": summary.request_id,
        "run": summary.id,
        "status": summary.status,
        "cancelled": summary.cancelled,
        "seconds": round(live.seconds, 3),
    }
    log.info("run ended", extra={"told": told})
