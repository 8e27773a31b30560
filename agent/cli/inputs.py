"""From the options of a command line to a topic and settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.settings import Settings


def read_topic(options: dict[str, Any]) -> str:
    """The topic from the option, the argument or stdin; "" where a journal holds it."""
    topics = [text for text in (options["topic"], options["question"]) if text is not None]
    if not topics and (options["resume"] or options["replay"]):
        return ""
    if len(topics) != 1:
        fault = "Two questions were given." if topics else "No question was given."
        raise UsageError(fault, "Give one: --topic '...', or as the argument, or - for stdin.")
    if topics[0] != "-":
        return str(topics[0])
    return sys.stdin.buffer.read(1_000_000).decode("utf-8", "replace")


def require_writable(out: Path | None) -> None:
    """Raises UsageError for a file that cannot be written, before a run spends anything."""
    if out and not (
        out.parent.is_dir() and os.access(out if out.exists() else out.parent, os.W_OK)
    ):
        raise UsageError(f"{out} cannot be written.", "Name a file in a directory of your own.")


def read_settings(options: dict[str, Any]) -> Settings:
    """Settings from the environment, `.env` and the options, which win. Raises UsageError."""
    from agent.settings import load_env_file, parse_settings

    load_env_file()
    names = "strategy depth slots llm search corpus max_rounds max_steps max_words lang verify "
    names += "on_unsupported resume replay retry_failed max_seconds max_usd max_tokens max_calls"
    overrides = {name: options[name] for name in names.split()}
    overrides["offline"] = options["offline"]
    overrides["slots_schema"] = _read_slots_schema(options["slots_schema"])
    overrides["since"] = options["since"] and options["since"].date()
    overrides["allow_domains"] = options["allow_domain"]
    overrides["block_domains"] = options["block_domain"]
    overrides["cache"] = False if options["no_cache"] else None
    return parse_settings(os.environ, **overrides)


def _read_slots_schema(text_or_file: str | None) -> Any:
    """The JSON Schema of typed slots, given as the JSON itself or as the name of its file."""
    import json

    if text_or_file is None:
        return None
    try:
        is_json = text_or_file.lstrip()[:1] == "{"
        return json.loads(text_or_file if is_json else Path(text_or_file).read_text("utf-8"))
    except OSError as error:
        fault = f"{text_or_file} cannot be read: {error.strerror}."
    except (ValueError, RecursionError) as error:
        fault = f"It is not JSON: {str(error)[:100]}."
    raise UsageError(f"--slots-schema: {fault}", "Name a file with a JSON Schema of an object.")
