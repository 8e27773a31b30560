"""A notice in words."""

from __future__ import annotations

from collections.abc import Iterator

from agent.run.changes import Known
from agent.run.watches import Notice
from agent.state.sanitizing import sanitize_for_display

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
