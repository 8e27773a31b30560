"""Log lines about requests and runs on standard error, as text or as JSON.

A record may carry `fields`, which are written after the message. No line holds a topic.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal

from agent.server.live_run import LiveRun
from agent.state import format_utc

log = logging.getLogger("agent.server")


class JsonFormatter(logging.Formatter):
    """A JSON object a line: `at` (UTC, ISO 8601), `level`, `message` and the record's fields."""

    def format(self, record: logging.LogRecord) -> str:
        at = format_utc(datetime.fromtimestamp(record.created, UTC))
        line = {"at": at, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__  # not its text, which may hold a key
        return json.dumps(line | getattr(record, "fields", {}))


class TextFormatter(logging.Formatter):
    """The message, then the record's fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        pairs = (f"{name}={value}" for name, value in fields.items())
        return " ".join([record.getMessage(), *pairs])


def configure_logging(log_format: Literal["text", "json"]) -> None:
    """Log to standard error. The server process calls this once."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    for name in ("agent.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)


def log_end_of_run(live: LiveRun) -> None:
    """Log how a run ended."""
    summary = live.summary
    fields = {
        "request_id": summary.request_id,
        "run": summary.id,
        "status": summary.status,
        "cancelled": summary.cancelled,
        "seconds": round(live.seconds, 3),
    }
    log.info("run ended", extra={"fields": fields})
