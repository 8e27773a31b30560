"""Sites that have a form for programs: GitHub, YouTube, registries of packages; over a wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from agent.errors import ReadFailed
from agent.evidence import anchor_quote
from agent.pages.fetch import PageReader
from agent.pages.guard import AddressGuard
from agent.state import Hit, Source
from agent.state.places import find_place
from tests.support.page_server import Answer, Connection, PageServer, html, reply

TEXT = "Content-Type: text/plain; charset=utf-8"
HTML = "Content-Type: text/html; charset=utf-8"
GONE = reply(b"no", "404 Not Found")
README = b"# Ferry\n\nFerry is a small library.\n\n- It has *no* dependency.\n"


class Web:
    """The public web on one port: what each host has at each path, and who was asked for what."""

    def __init__(self, server: PageServer) -> None:
        self.has: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._server = server
        guard = AddressGuard(
            allowed=frozenset({("127.0.0.1", server.port)}), resolver=lambda *_: ["127.0.0.1"]
        )
        self.reader = PageReader(guard=guard)
        server.answers = self  # type: ignore[assignment]

    def get(self, path: str, _: Answer) -> Answer:
        return self.answer

    def answer(self, asked: Connection) -> None:
        line, *fields = asked.head.split("\r\n")
        host = next(f[6:] for f in fields if f.lower().startswith("host: ")).partition(":")[0]
        where = host + line.split(" ")[1]
        self.asked += [] if where.endswith("/robots.txt") else [where]
        asked.send(self.has.get(where, GONE).replace(b"PORT", str(self._server.port).encode()))

    def url(self, where: str) -> str:
        host, _, path = where.partition("/")
        return f"http://{host}:{self._server.port}/{path}"

    def read(self, where: str) -> Any:
        return self.reader(self.url(where))


@pytest.fixture
def sites(web: PageServer) -> Iterator[Web]:
    made = Web(web)
    with closing(made.reader):
        yield made


def as_json(value: Any) -> bytes:
    return reply(json.dumps(value).encode(), "200 OK", "Content-Type: application/json")


RAW = "raw.githubusercontent.com/a/ferry"
API = "api.github.com/repos/a/ferry/issues/7"
ISSUE = {"title": "It sinks", "state": "open", "created_at": "2026-01-02", "user": {"login": "eve"},
         "body": "It sinks at **six** knots."}  # fmt: skip
COMMENT = {"user": {"login": "bob"}, "created_at": "2026-01-03", "body": "Fixed in 2.1."}
PYPI = {"info": {"name": "ferry", "version": "2.1", "summary": "Boats.", "description": "# Ferry"}}
NPM: dict[str, object] = {
    "name": "@a/ferry",
    "description": "Boats.",
    "dist-tags": {"latest": "4.1.0"},
    "readme": "# Ferry\n\nRow it.",
}


@pytest.mark.parametrize(
    ("page", "has", "title", "words"),
    [
        ("github.com/a/ferry", {f"{RAW}/HEAD/README.md": reply(README, "200 OK", TEXT)}, "Ferry",
         "Ferry is a small library."),
        ("www.github.com/a/ferry/",
         {f"{RAW}/HEAD/README.rst": reply(b"Ferry rows.", "200 OK", TEXT)}, "www.github.com",
         "Ferry rows."),
        ("github.com/a/ferry/blob/v2/src/row.py#L3",
         {f"{RAW}/v2/src/row.py": reply(b"import oars\n", "200 OK", TEXT)}, "github.com",
         "import oars"),
        ("github.com/a/ferry/issues/7", {API: as_json(ISSUE),
         f"{API}/comments?per_page=100": as_json([COMMENT])}, "It sinks",
         "open, eve, 2026-01-02:\nIt sinks at six knots.\nbob, 2026-01-03:\nFixed"),
        ("github.com/a/ferry/pull/7", {API: as_json(ISSUE)}, "It sinks", "six knots."),
        ("pypi.org/project/ferry/", {"pypi.org/pypi/ferry/json": as_json(PYPI)}, "ferry",
         "Version 2.1. Boats."),
        ("www.npmjs.com/package/@a/ferry", {"registry.npmjs.org/@a/ferry": as_json(NPM)},
         "@a/ferry", "Version 4.1.0. Boats."),
        ("crates.io/crates/ferry",
         {"docs.rs/crate/ferry/latest": reply(html("Ferry"), "200 OK", HTML)}, "Ferry",
         "enough of them for anyone"),
    ],
)  # fmt: skip
def test_the_form_for_programs_is_read(
    page: str, has: dict[str, bytes], title: str, words: str, sites: Web
) -> None:
    sites.has |= has
    found = sites.read(page)
    assert found.title == title and words in found.text
    assert found.url == sites.url(page).partition("#")[0]
    assert set(has) <= set(sites.asked) and not any(a.startswith("github") for a in sites.asked)


@pytest.mark.parametrize(
    "has", [{}, {API: reply(b"{", "200 OK")}, {API: reply(b"", "403 Forbidden")}]
)
def test_where_there_is_none_the_page_itself_is_read(has: dict[str, bytes], sites: Web) -> None:
    page = "github.com/a/ferry/issues/7"
    sites.has |= {page: reply(html("Issue"), "200 OK", HTML), **has}
    assert sites.read(page).title == "Issue"
    del sites.has[page]
    with pytest.raises(ReadFailed) as caught:
        sites.read(page)
    assert caught.value.outcome == "not_found" and caught.value.message.startswith("github.com")


# --- YouTube ---------------------------------------------------------------------------------

VIDEO = "www.youtube.com/watch?v=abc"
VTT = (
    "WEBVTT\n\n00:00:01.000 --> 00:00:04.000\n{0} one.\n\n00:12:05.500 --> 00:12:09.000\n{0} two.\n"
)
TRACKS = [
    {"baseUrl": "/api/timedtext?lang=de", "languageCode": "de"},
    {"baseUrl": "/api/timedtext?lang=en&kind=asr", "languageCode": "en", "kind": "asr"},
    {"baseUrl": "/api/timedtext?lang=en", "languageCode": "en"},
]


def video(*tracks: dict[str, str]) -> bytes:
    listed = {"playerCaptionsTracklistRenderer": {"captionTracks": tracks}}
    details = {"title": "On ferries", "author": "Holm", "shortDescription": "A talk on ferries."}
    player = json.dumps({"captions": listed, "videoDetails": details})
    script = f"var ytInitialPlayerResponse = null; ytInitialPlayerResponse = {player};var meta = 1;"
    return reply(f"<html><body><script>{script}</script></body></html>".encode(), "200 OK", HTML)


def captions(word: str) -> bytes:
    return reply(VTT.format(word).encode(), "200 OK", "Content-Type: text/vtt")


@pytest.mark.parametrize("page", [VIDEO, "youtu.be/abc", "www.youtube.com/shorts/abc"])
def test_a_video_gives_its_transcript_with_times(page: str, sites: Web) -> None:
    sites.has[VIDEO] = video(*TRACKS)
    for lang in ("de", "en&kind=asr", "en"):
        sites.has[f"www.youtube.com/api/timedtext?lang={lang}&fmt=vtt"] = captions(lang)
    found = sites.read(page)
    assert (found.title, found.url, found.partial_text) == ("On ferries", sites.url(page), "")
    quote = anchor_quote("en two.", Source(n=1, page=found, hit=Hit(url=found.url)))
    assert quote and find_place(found.text, found.places, quote.start) == "00:12:05"
    assert len([one for one in sites.asked if "timedtext" in one]) == 1


@pytest.mark.parametrize(
    "track",
    [
        None,
        {"baseUrl": "/api/timedtext?lang=en", "languageCode": "en"},  # which answers nothing
        {"baseUrl": "http://evil.example:PORT/api/timedtext?x", "languageCode": "en"},
        {"baseUrl": 7},
    ],
)
def test_without_a_transcript_the_description_is_told_as_such(track: Any, sites: Web) -> None:
    sites.has[VIDEO] = video(*([track] if track else []))
    sites.has["www.youtube.com/api/timedtext?lang=en&fmt=vtt"] = reply(b"")
    sites.has["evil.example/api/timedtext?x&fmt=vtt"] = captions("evil")
    found = sites.read(VIDEO)
    assert "A talk on ferries." in found.text and "evil" not in found.text
    assert "transcript" in found.partial_text and found.title == "On ferries"
    assert not any(one.startswith("evil") for one in sites.asked)


def test_robots_txt_holds_for_the_page_of_a_video(sites: Web) -> None:
    sites.has[VIDEO] = video(*TRACKS)
    sites.has["www.youtube.com/robots.txt"] = reply(b"User-agent: *\nDisallow: /watch")
    with pytest.raises(ReadFailed) as caught:
        sites.read(VIDEO)
    assert caught.value.outcome == "blocked" and "robots.txt" in caught.value.message
    assert not any("timedtext" in one for one in sites.asked)
