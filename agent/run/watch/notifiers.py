"""Where notices are sent: standard output, a file, a webhook, and what Apprise reaches."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agent.calls.file_lock import lock_file
from agent.errors import ExternalCallError, NotConfigured, UsageError
from agent.run.changes import Known
from agent.run.output_files import output_failure, print_text, require_writable
from agent.run.watch.state import Notice
from agent.run.watch.webhook import check_webhook, post_event
from agent.state import sanitize_for_display

if TYPE_CHECKING:
    from agent.settings import Settings

#: Sends a notice to one place. Raises AgentError where that is not possible now.
Notifier = Callable[[Notice], None]

# --- a notice in words ---------------------------------------------------------------------------


LONGEST_TITLE = 200  # characters


def title_of(notice: Notice) -> str:
    """What a notice is about, on one line."""
    if notice.kind == "state" or notice.new is None:
        text = f"Watching: {notice.question}"
    elif str(notice.new.value) == notice.what:  # a statement
        text = notice.what
    else:
        before = f"{notice.old.value} -> " if notice.old else ""
        text = f"{notice.what}: {before}{notice.new.value}"
    return sanitize_for_display(text)[:LONGEST_TITLE]


def to_text(notice: Notice) -> str:
    """A notice for people: what, since when, and the quotes with their addresses."""
    return "\n".join(map(sanitize_for_display, _lines(notice))) + "\n"


def _lines(notice: Notice) -> Iterator[str]:
    yield title_of(notice)
    if notice.kind == "state":
        yield f"  {notice.answer}"
        for name, known in notice.values.items():
            yield from _quote_lines(name, known)
        return
    yield f"  {notice.question}"
    if notice.old:
        yield from _quote_lines("before", notice.old)
    if notice.new:
        yield from _quote_lines("now", notice.new)


def _quote_lines(label: str, known: Known) -> Iterator[str]:
    yield f"  {label}: {known.value} (since {known.since[:10]})"
    for page in known.sources:
        yield f'    "{page.quote}"'
        yield f"    {page.url}"


TAIL_BYTES = 2_000_000  # of a file that is appended to, in which a notice is looked for


def print_notice(stream: TextIO, notice: Notice, *, for_people: bool) -> None:
    """Print a notice: in words, or as JSON on one line. Raises OutputFailed."""
    with redirect_stdout(stream):
        print_text(to_text(notice) + "\n" if for_people else _to_line(notice))


def _to_line(notice: Notice) -> str:
    return json.dumps(notice.model_dump(mode="json"), ensure_ascii=True) + "\n"


def append_notice(path: Path, notice: Notice) -> None:
    """Append a notice to a file as a line of JSON, unless it is there. Raises OutputFailed."""
    line = _to_line(notice).encode()
    try:
        with path.open("a+b") as file:
            release = lock_file(file.fileno(), path, wait=True)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read()
            if f'"id": "{notice.id}"'.encode() not in tail:
                is_torn = tail and not tail.endswith(b"\n")  # by a process that was killed
                file.write(b"\n" * bool(is_torn) + line)
                file.flush()
                os.fsync(file.fileno())
            if release:
                release()
    except OSError as error:
        raise output_failure(path, error) from None


def post_notice(url: str, settings: Settings, notice: Notice) -> None:
    """Post a notice to a webhook. Raises ExternalCallError, NotConfigured."""
    data = notice.model_dump(mode="json")
    post_event(url, settings, f"watch.{notice.kind}", notice.id, data)


# --- what Apprise reaches: mail, chats and a hundred others --------------------------------------


def make_apprise_notifier(url: str) -> Notifier:
    """A notifier for an address of Apprise, which is a secret: no text here holds it.

    Raises NotConfigured where Apprise is not installed, UsageError for an unknown address.
    """
    try:
        from apprise import Apprise
    except ImportError:
        remedy = "Install it: pip install 'llm-research-agent[notify]'."
        raise NotConfigured("--notify needs Apprise.", remedy) from None
    logging.getLogger("apprise").disabled = True  # it logs addresses
    apprise = Apprise()
    if not apprise.add(url):
        remedy = "See https://github.com/caronc/apprise for the addresses of services."
        raise UsageError("--notify is no address that Apprise knows.", remedy)

    def send(notice: Notice) -> None:
        if not apprise.notify(title=title_of(notice), body=to_text(notice)):
            fault = "The service of --notify did not accept the message."
            raise ExternalCallError(fault, "Check the address; it is tried again the next time.")

    return send


# --- which of them are asked for -----------------------------------------------------------------


def make_notifiers(
    settings: Settings,
    *,
    out: Path | None = None,
    webhook: str | None = None,
    notify: str | None = None,
    for_people: bool = False,
) -> dict[str, Notifier]:
    """The notifiers by their names. Raises UsageError, NotConfigured."""
    require_writable(out)
    notifiers: dict[str, Notifier] = {
        "stdout": partial(print_notice, sys.stdout, for_people=for_people)
    }
    if out:
        notifiers["file"] = partial(append_notice, out)
    if webhook:
        check_webhook(webhook, settings)
        notifiers["webhook"] = partial(post_notice, webhook, settings)
    if notify:
        notifiers["notify"] = make_apprise_notifier(notify)
    return notifiers
