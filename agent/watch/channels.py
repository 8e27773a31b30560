"""The ways to tell a notice: standard output, a file, a feed, a webhook, e-mail."""

from __future__ import annotations

import json
import os
import smtplib
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from email.message import EmailMessage
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import unquote, urlsplit

from lxml import etree

from agent import shell
from agent.characters import strip_controls
from agent.errors import NotConfigured, OutsideError, UsageError
from agent.outside.file_lock import hold_lock, lock_file
from agent.outside.input_file import read_bytes
from agent.outside.tls import load_tls_context
from agent.outside.webhook import post_event
from agent.run.changes import Known
from agent.run.watches import Notice
from agent.state.sanitizing import sanitize_for_display

if TYPE_CHECKING:
    from agent.settings import Settings

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


SMTP_TIMEOUT = 20.0  # seconds of silence
TAIL_BYTES = 2_000_000  # of a file that is appended to, in which a notice is looked for


def print_notice(stream: TextIO, notice: Notice, *, for_people: bool) -> None:
    """Print a notice: in words, or as JSON on one line. Raises OutputFailed."""
    with redirect_stdout(stream):
        shell.print_text(to_text(notice) + "\n" if for_people else _to_line(notice))


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
        raise shell.output_failure(path, error) from None


def post_notice(url: str, secret: str, notice: Notice) -> None:
    """Post a notice to a webhook. Raises OutsideError, NotConfigured."""
    data = notice.model_dump(mode="json")
    post_event(url, secret, f"watch.{notice.kind}", notice.id, data)


# --- e-mail ------------------------------------------------------------------------------------


class Mailer:
    """The user's own SMTP server: over TLS, or after STARTTLS; on this machine also without."""

    def __init__(self, url: str, sender: str) -> None:
        """Raises NotConfigured for an address that is none of SMTP."""
        try:
            parts = urlsplit(url)
            self._port = parts.port or (465 if parts.scheme == "smtps" else 587)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            fault = "RESEARCH_AGENT_SMTP_URL is not the address of a mail server."
            raise NotConfigured(fault, "Set it: smtps://user:password@mail.example.org")
        self._host, self._is_tls = parts.hostname, parts.scheme == "smtps"
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._sender = sender or (self._user if "@" in self._user else f"{self._user}@{self._host}")

    def send(self, recipient: str, notice: Notice) -> None:
        """Send a notice as a message of plain text. Raises OutsideError."""
        message = EmailMessage()
        message["Subject"] = title_of(notice)
        message["From"], message["To"] = self._sender, recipient
        message["Message-ID"] = f"<{notice.id}@{self._host}>"
        message.set_content(to_text(notice))
        try:
            with self._connect() as server:
                if self._user:
                    server.login(self._user, self._password)
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:  # whose texts may hold the password
            code = f" {error.smtp_code}" if isinstance(error, smtplib.SMTPResponseException) else ""
            fault = f"The mail server {self._host} took no message: {type(error).__name__}{code}."
            raise OutsideError(fault, "Check RESEARCH_AGENT_SMTP_URL and the address.") from None

    def _connect(self) -> smtplib.SMTP:
        """A connection that nobody else can read. Raises OSError, SMTPException."""
        place = (self._host, self._port)
        if self._is_tls:
            context = load_tls_context()
            return smtplib.SMTP_SSL(*place, timeout=SMTP_TIMEOUT, context=context)
        server = smtplib.SMTP(*place, timeout=SMTP_TIMEOUT)
        server.ehlo()
        if server.has_extn("starttls") or not _is_loopback(self._host):
            server.starttls(context=load_tls_context())
            server.ehlo()
        return server


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# --- which of them are asked for ---------------------------------------------------------------


def make_channels(
    settings: Settings,
    *,
    out: Path | None = None,
    feed: Path | None = None,
    webhook: str | None = None,
    email: str | None = None,
    for_people: bool = False,
) -> dict[str, partial[None]]:
    """The channels by their names. Raises UsageError, NotConfigured."""
    from agent.outside.webhook import check_webhook
    from agent.watch.channels import add_to_feed

    for path in (out, feed):
        shell.require_writable(path)
    channels = {"stdout": partial(print_notice, sys.stdout, for_people=for_people)}
    if out:
        channels["file"] = partial(append_notice, out)
    if feed:
        channels["feed"] = partial(add_to_feed, feed)
    if webhook:
        secret = settings.webhook_secret.get_secret_value()
        check_webhook(webhook, secret)
        channels["webhook"] = partial(post_notice, webhook, secret)
    if email:
        if "@" not in email or not email.isprintable() or " " in email:
            raise UsageError("--email is no address.", "Give one: name@example.org")
        mailer = Mailer(settings.smtp_url.get_secret_value(), settings.email_from)
        channels["email"] = partial(mailer.send, email)
    return channels


# --- an Atom feed, as a file that a feed reader or a web server takes (RFC 4287) -----------------


ATOM = "http://www.w3.org/2005/Atom"
MAX_BYTES = 20_000_000  # of a feed that is added to
MAX_ENTRIES = 200  # the newest


def add_to_feed(path: Path, notice: Notice) -> None:
    """Write the feed with a notice, unless it has it. Raises OutputFailed, UsageError.

    Commands that write one feed take turns.
    """
    try:
        with hold_lock(path.with_name(f".{path.name}.lock"), wait=True):
            _add_notice(path, notice)
    except OSError as error:
        raise shell.output_failure(path, error) from None


def _add_notice(path: Path, notice: Notice) -> None:
    feed = _read(path)
    entries = feed.findall(f"{{{ATOM}}}entry")
    key = f"urn:research-agent:{notice.id}"
    if any(entry.findtext(f"{{{ATOM}}}id") == key for entry in entries):
        return
    entry = etree.Element(f"{{{ATOM}}}entry")
    _add(entry, "id", key)
    _add(entry, "title", title_of(notice))
    _add(entry, "updated", notice.at)
    for page in notice.new.sources[:1] if notice.new else ():
        etree.SubElement(entry, f"{{{ATOM}}}link", href=strip_controls(page.link))
    _add(entry, "content", to_text(notice))
    _set_updated(feed, notice.at)
    feed.insert(len(feed) - len(entries), entry)
    for old in entries[MAX_ENTRIES - 1 :]:
        feed.remove(old)
    etree.indent(feed)
    shell.write_file(path, etree.tostring(feed, encoding="utf-8", xml_declaration=True))


def _read(path: Path) -> etree._Element:
    """The feed of a file that this program wrote, or a new one. Raises UsageError for another."""
    try:
        data = read_bytes(path, MAX_BYTES)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_blank_text=True)
        feed = etree.fromstring(data, parser)
    except FileNotFoundError:
        return _make()
    except (OSError, etree.XMLSyntaxError):
        feed = None
    if feed is None or feed.tag != f"{{{ATOM}}}feed":
        raise UsageError(f"{path} is no Atom feed.", "Name another file with --feed.")
    return feed


def _make() -> etree._Element:
    feed = etree.fromstring(f'<feed xmlns="{ATOM}"/>')
    _add(feed, "id", "urn:research-agent:watches")
    _add(feed, "title", "Watched questions")
    author = etree.SubElement(feed, f"{{{ATOM}}}author")
    _add(author, "name", "research-agent")
    _add(feed, "updated", "")
    return feed


def _set_updated(feed: etree._Element, at: str) -> None:
    updated = feed.find(f"{{{ATOM}}}updated")
    if updated is not None:
        updated.text = at


def _add(parent: etree._Element, name: str, text: str) -> None:
    etree.SubElement(parent, f"{{{ATOM}}}{name}").text = strip_controls(text)
