"""An Atom feed of notices, as a file that a feed reader or a web server takes (RFC 4287)."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from agent import shell
from agent.characters import strip_controls
from agent.errors import UsageError
from agent.outside.file_lock import hold_lock
from agent.outside.input_file import read_bytes
from agent.run.watches import Notice
from agent.watch.wording import title_of, to_text

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
