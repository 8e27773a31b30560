"""robots.txt is respected, asked for once, and never waited for longer than a page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ReadFailed
from agent.pages.fetch import PageReader
from agent.pages.robots import RobotsRules
from tests.support.page_server import Connection, PageServer, html, reply


@pytest.fixture
def web() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


@pytest.fixture
def reader() -> Iterator[PageReader]:
    page_reader = PageReader(timeout=0.6, allow_private_network=True)
    yield page_reader
    page_reader.close()


def failure(reader: PageReader, url: str) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        reader(url)
    return caught.value


def _hang(connection: Connection) -> None:
    connection.hang()


def _reset(connection: Connection) -> None:
    connection.reset()


RULES = (
    b"User-agent: *\nDisallow: /private\nAllow: /private/but\n\nUser-agent: Other\nDisallow: /\n"
)


def test_robots_txt_is_respected_and_asked_for_once(web: PageServer, reader: PageReader) -> None:
    web.answers["/robots.txt"] = reply(RULES)
    assert reader(f"{web.url}/private/but/not").title == "A page"
    before = list(web.paths)
    error = failure(reader, f"{web.url}/private/page")
    assert error.outcome == "blocked" and "robots.txt" in error.message
    assert "RESPECT_ROBOTS" in error.remedy
    assert web.paths == before and before.count("/robots.txt") == 1  # known: not even asked for
    assert reader(f"{web.url}/other").title == "A page"


def test_what_robots_txt_disallows_is_not_used_even_if_it_came_first(
    web: PageServer, reader: PageReader
) -> None:
    def late(connection: Connection) -> None:
        connection.server.stopping.wait(0.3)
        connection.send(reply(RULES))

    web.answers["/robots.txt"] = late
    assert failure(reader, f"{web.url}/private/page").outcome == "blocked"
    assert set(web.paths) == {"/robots.txt", "/private/page"}  # at the same time


def test_each_redirect_is_checked_against_robots_txt(web: PageServer, reader: PageReader) -> None:
    web.answers["/robots.txt"] = reply(RULES)
    web.answers["/open"] = reply(b"", "302 Found", "Location: /private/page")
    assert failure(reader, f"{web.url}/open").outcome == "blocked"
    assert "/private/page" not in web.paths


@pytest.mark.parametrize(
    "answer",
    [reply(b"no", "404 Not Found"), reply(b"", "500 Oops"), _reset, _hang, reply(html())],
    ids=["404", "500", "reset", "hang", "html"],
)
def test_without_a_readable_robots_txt_pages_are_read(
    web: PageServer, reader: PageReader, answer: bytes
) -> None:
    web.answers["/robots.txt"] = answer
    assert reader(f"{web.url}/private/page").title == "A page"


def test_a_slow_robots_txt_costs_no_time_of_its_own(web: PageServer, reader: PageReader) -> None:
    both = threading.Barrier(2)

    def slow(connection: Connection) -> None:
        both.wait()  # each is answered once the other is asked for too
        connection.send(reply(html()))

    web.answers["/robots.txt"] = web.answers["/page"] = slow
    assert reader(f"{web.url}/page").title == "A page"


RULE_LINES = b"".join(b"Disallow: /a%d/*b\n" % n for n in range(25_000))
AGENT_LINES = b"".join(b"User-agent: p%d\n" % n for n in range(14_000))


def test_a_robots_txt_of_many_rules_is_respected(web: PageServer) -> None:
    web.answers["/robots.txt"] = reply(b"User-agent: *\n" + RULE_LINES)
    with closing(PageReader(timeout=5, allow_private_network=True)) as reader:
        assert failure(reader, f"{web.url}/a9/and/b").outcome == "blocked"
        assert reader(f"{web.url}/a9/and/c").title == "A page"


def test_a_robots_txt_of_many_rules_for_many_programs_is_none(web: PageServer) -> None:
    """Each rule counts for each program: 196 million of them, in 400 kB."""
    web.answers["/robots.txt"] = reply(AGENT_LINES + RULE_LINES[:200_000])
    with closing(PageReader(timeout=5, allow_private_network=True)) as reader:
        assert reader(f"{web.url}/a9/and/b").title == "A page"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [b"User-agent", b"Disallow", b"Allow", b"Crawl-delay", b"Request-rate"]
            ),
            st.sampled_from([b": ", b" ", b":"]),
            st.one_of(
                st.binary(max_size=20), st.sampled_from([b"*", b"/*a$", b"9" * 5000, b"1/%"])
            ),
        ).map(b"".join)
    ).map(b"\n".join)
)
def test_no_robots_txt_is_an_error(body: bytes) -> None:
    rules = RobotsRules(lambda _: body, "research-agent")
    assert rules.is_allowed("https://a.example", "https://a.example/page?q=%", 5) in (True, False)


def test_robots_txt_can_be_left_alone(web: PageServer) -> None:
    web.answers["/robots.txt"] = reply(RULES)
    reader = PageReader(timeout=1, allow_private_network=True, respect_robots=False)
    assert reader(f"{web.url}/private/page").title == "A page"
    reader.close()
    assert web.paths == ["/private/page"]
