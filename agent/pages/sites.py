"""Addresses that are read in another form than a browser shows: the table of sites.

Each form is one that the site itself gives to programs without a login: a raw file, a documented
API, the captions that the page of a video loads. Where none can be read, the page itself is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from agent.documents.body_text import Body
from agent.errors import ReadFailed
from agent.pages.download import FetchedBody
from agent.state.json_data import InvalidJson, Json, get_objects, get_path, parse_first_json
from agent.state.json_data import parse_json as parse
from agent.state.urls import host_of

MAX_RECORDS = 100  # of a list, such as the comments of an issue
MAX_MARKDOWN = 1_000_000  # bytes
ONLY_DESCRIBED = "only the video's description: it gave no transcript"
_PLAYER = re.compile(r"ytInitialPlayerResponse\s*=\s*(?=\{)")
_FIELD = re.compile(r"\{([\w.-]+)\}")

#: A body by its address. The rules of robots.txt hold for a page, not for a form made for programs.
Get = Callable[[str, bool], FetchedBody]


class SiteForm(NamedTuple):
    """What a site gives instead of a page. `note` says why it is not all of it, if it is not."""

    body: Body
    title: str = ""
    note: str = ""


class Address(NamedTuple):
    """An address of a site, and the parts of it that its pattern names."""

    url: str
    parts: dict[str, str]

    def fill(self, place: str) -> str:
        """The address at a place of the table, by the scheme and port of this one."""
        parts = urlsplit(self.url)
        host, _, path = place.format(**self.parts).partition("/")
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}/{path}"


def read_first(get: Get, at: Address, places: str) -> SiteForm:
    """The file at the first of several places that has one. Raises ReadFailed."""
    failures: list[ReadFailed] = []
    for place in places.split():
        try:
            body = get(at.fill(place), False)
        except ReadFailed as error:
            failures.append(error)
        else:
            suffix = ".md" if place.endswith(".md") else ""
            data = body.data[:MAX_MARKDOWN] if suffix else body.data
            return SiteForm(Body(data, body.content_type, body.url, suffix))
    raise failures[0]


def read_records(get: Get, at: Address, *forms: tuple[str, str]) -> SiteForm:
    """Records in JSON, each written as Markdown by its form. The first place must have one."""
    texts: list[str] = []
    for place, form in forms:
        with suppress(*((ReadFailed, InvalidJson) if texts else ())):
            value = parse(get(at.fill(place), False).data)
            rows = value[:MAX_RECORDS] if isinstance(value, list) else [value]
            texts += [_FIELD.sub(partial(_fill_in, row), form) for row in rows]
    return _write("\n\n".join(texts))


def _fill_in(row: object, field: re.Match[str]) -> str:
    value = get_path(row, *field[1].split("."))
    return str(value) if isinstance(value, str | int) else ""


def _write(text: str, note: str = "") -> SiteForm:
    data = text.encode("utf-8", "replace")[:MAX_MARKDOWN]
    return SiteForm(Body(data, "text/markdown; charset=utf-8", "", ".md"), note=note)


def read_captions(get: Get, at: Address, page: str = "") -> SiteForm:
    """The transcript of a video, each piece at its time; its description where it has none.

    Captions are those of the language that is spoken, by people rather than by a program.
    """
    found = get(at.fill(page) if page else at.url, True)
    player = _find_player(found.data.decode("utf-8", "replace"))
    title = str(get_path(player, "videoDetails", "title") or "")
    for address in _find_tracks(player, found.url):
        with suppress(ReadFailed):
            track = get(address, False)
            if b"-->" in track.data:  # an empty answer is a refusal
                return SiteForm(Body(track.data, "text/vtt; charset=utf-8", "", ".vtt"), title)
    told = (get_path(player, "videoDetails", name) for name in ("author", "shortDescription"))
    return _write("\n\n".join((f"# {title}", *(str(one or "") for one in told))), ONLY_DESCRIBED)


def _find_player(html: str) -> Json:
    for match in _PLAYER.finditer(html):
        with suppress(InvalidJson):
            player = parse_first_json(html, match.end())
            if get_path(player, "videoDetails", "title"):
                return dict(player)
    raise ReadFailed("The page tells of no video.", outcome="invalid")


def _find_tracks(player: Json, page: str) -> Iterator[str]:
    """The address of the captions, at the page's own site; none where there are none."""
    path = ("captions", "playerCaptionsTracklistRenderer", "captionTracks")
    tracks = [one for one in get_objects(player, *path) if isinstance(one.get("baseUrl"), str)]
    made = [one.get("languageCode") for one in tracks if one.get("kind") == "asr"]
    tracks.sort(key=lambda one: (one.get("languageCode") not in made, one.get("kind") == "asr"))
    for track in tracks[:1]:
        address = urljoin(page, track["baseUrl"])
        if host_of(address) == host_of(page):
            yield f"{address}&fmt=vtt"


_REPOSITORY, _RAW = r"github\.com/(?P<repo>[\w.-]+/[\w.-]+)", "raw.githubusercontent.com/{repo}"
_API = "api.github.com/repos/{repo}/issues/{n}"
_ISSUE = "# {title}\n\n{state}, {user.login}, {created_at}:\n\n{body}"
_PYPI = "# {info.name}\n\nVersion {info.version}. {info.summary}\n\n{info.description}"
_WATCH = "www.youtube.com/watch?v={id}"
#: Host and path -> how it is read. Formats: https://docs.github.com/rest/issues,
#: https://docs.pypi.org/api/json, https://docs.npmjs.com/about-the-public-npm-registry.
_SITES: dict[str, Callable[[Get, Address], SiteForm]] = {
    rf"{_REPOSITORY}/?": partial(
        read_first,
        places=" ".join(
            f"{_RAW}/HEAD/{name}" for name in ("README.md", "README.rst", "readme.md", "README")
        ),
    ),
    rf"{_REPOSITORY}/(?:blob|raw)/(?P<file>.+)": partial(read_first, places=f"{_RAW}/{{file}}"),
    rf"{_REPOSITORY}/(?:issues|pull)/(?P<n>\d+)": lambda get, at: read_records(
        get,
        at,
        (_API, _ISSUE),
        (f"{_API}/comments?per_page=100", "{user.login}, {created_at}:\n\n{body}"),
    ),
    r"pypi\.org/project/(?P<name>[\w.-]+)/?": lambda get, at: read_records(
        get, at, ("pypi.org/pypi/{name}/json", _PYPI)
    ),
    r"npmjs\.com/package/(?P<name>(?:@[\w.-]+/)?[\w.-]+)/?": lambda get, at: read_records(
        get,
        at,
        (
            "registry.npmjs.org/{name}",
            "# {name}\n\nVersion {dist-tags.latest}. {description}\n\n{readme}",
        ),
    ),
    r"crates\.io/crates/(?P<name>[\w-]+)/?": partial(
        read_first, places="docs.rs/crate/{name}/latest"
    ),
    r"youtube\.com/watch": read_captions,
    r"youtu\.be/(?P<id>[\w-]+)": partial(read_captions, page=_WATCH),
    r"youtube\.com/(?:shorts|live|embed)/(?P<id>[\w-]+)": partial(read_captions, page=_WATCH),
}
_PATTERNS = [(re.compile(pattern), read) for pattern, read in _SITES.items()]


def _bind(read: Callable[[Get, Address], SiteForm], at: Address) -> Callable[[Get], SiteForm]:
    return lambda get: read(get, at)


def find_site(url: str) -> Callable[[Get], SiteForm] | None:
    """How an address is read, where it is one of the table; None for any other page."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        return None
    where = host + quote(parts.path, safe="/%@")
    for pattern, read in _PATTERNS:
        if found := pattern.fullmatch(where):
            at = Address(url.partition("#")[0], found.groupdict())
            return _bind(read, at)
    return None
