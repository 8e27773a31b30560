"""Registries of packages, which give programs another form of a page than a browser shows."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from agent.documents.body_text import Body, UnreadablePage
from agent.pages.download import FetchedBody
from agent.state import InvalidJson, get_path, parse_json

MAX_MARKDOWN = 1_000_000  # bytes
_FIELD = re.compile(r"\{([\w.-]+)\}")
#: Host and path -> where the form is, and how its JSON is written as Markdown; "": it is a page.
#: Formats: https://docs.pypi.org/api/json, https://docs.npmjs.com/about-the-public-npm-registry.
_SITES = {
    r"pypi\.org/project/(?P<name>[\w.-]+)/?": (
        "pypi.org/pypi/{name}/json",
        "# {info.name}\n\nVersion {info.version}. {info.summary}\n\n{info.description}",
    ),
    r"npmjs\.com/package/(?P<name>(?:@[\w.-]+/)?[\w.-]+)/?": (
        "registry.npmjs.org/{name}",
        "# {name}\n\nVersion {dist-tags.latest}. {description}\n\n{readme}",
    ),
    r"crates\.io/crates/(?P<name>[\w-]+)/?": ("docs.rs/crate/{name}/latest", ""),
}


class SiteForm(NamedTuple):
    """The address of a form for programs, and the template of its Markdown."""

    url: str
    template: str

    def to_body(self, fetched: FetchedBody) -> Body:
        """What is read of it. Raises UnreadablePage."""
        if not self.template:
            return Body(fetched.data, fetched.content_type, fetched.url)
        try:
            row = parse_json(fetched.data)
        except InvalidJson:
            raise UnreadablePage("it is not JSON", "invalid") from None
        text = _FIELD.sub(partial(_fill_in, row), self.template)
        data = text.encode("utf-8", "replace")[:MAX_MARKDOWN]
        return Body(data, "text/markdown; charset=utf-8", "", ".md")


def find_form(url: str) -> SiteForm | None:
    """The form for programs of an address of the table, by its scheme and port; else None."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removeprefix("www."), parts.port
    except ValueError:
        return None
    for pattern, (place, template) in _SITES.items():
        if found := re.fullmatch(pattern, host + quote(parts.path, safe="/%@")):
            site, _, path = place.format(**found.groupdict()).partition("/")
            where = f"{site}:{port}" if port else site
            return SiteForm(f"{parts.scheme}://{where}/{path}", template)
    return None


def _fill_in(row: object, field: re.Match[str]) -> str:
    value = get_path(row, *field[1].split("."))
    return str(value) if isinstance(value, str | int) else ""
