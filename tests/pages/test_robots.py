"""robots.txt is respected, asked for once, and never waited for longer than a page."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ReadFailed
from agent.pages.fetch import PageReader
from agent.pages.robots import RobotsRules
from tests.support.page_server import Connection, PageServer, html, reply


def failure(reader: PageReader, url: str) -> ReadFailed:
    with pytest.raises(ReadFailed) as caught:
        reader(url)
    return caught.value


RULES = b"User-agent: *\nDisallow: /private\nAllow: /private/but\n\nUser-agent: O\nDisallow: /\n"


def test_robots_txt_is_respected_and_asked_for_once(web: PageServer, reader: PageReader) -> None:
    web.answers["/robots.txt"] = reply(RULES)
    assert reader(f"{web.url}/private/but/not").title == "A page"
    before = list(web.paths)
    error = failure(reader, f"{web.url}/private/page")
    assert error.outcome == "blocked" and "robots.txt" in error.message
    assert "RESEARCH_AGENT_RESPECT_ROBOTS" in error.remedy
    assert web.paths == before and before.count("/robots.txt") == 1  # known: not even asked for
    assert reader(f"{web.url}/other").title == "A page"


def test_what_robots_txt_disallows_late_is_not_used(web: PageServer, reader: PageReader) -> None:
    sent = threading.Event()

    def answer(connection: Connection) -> None:
        rules = "robots" in connection.head
        if rules:
            sent.wait(5)  # asked for beside the page, they come after it
        connection.send(reply(RULES if rules else html()))
        sent.set()

    web.answers |= {"/robots.txt": answer, "/private/page": answer}
    assert failure(reader, f"{web.url}/private/page").outcome == "blocked"
    assert set(web.paths) == {"/robots.txt", "/private/page"}


def test_each_redirect_is_checked_against_robots_txt(web: PageServer, reader: PageReader) -> None:
    web.answers["/robots.txt"] = reply(RULES)
    web.answers["/open"] = reply(b"", "302 Found", "Location: /private/page")
    assert failure(reader, f"{web.url}/open").outcome == "blocked"
    assert "/private/page" not in web.paths


@pytest.mark.slow
@pytest.mark.parametrize("answer", [reply(b"", "404 No"), Connection.reset, Connection.hang])
def test_without_rules_pages_are_read(web: PageServer, answer: bytes) -> None:
    """A part of the time is for robots.txt, the rest for the page."""
    web.answers["/robots.txt"] = answer
    with closing(PageReader(timeout=3, allow_private_network=True)) as reader:
        assert reader(f"{web.url}/private/page").title == "A page"


RULE_LINES = b"".join(b"Disallow: /a%d/*b\n" % n for n in range(25_000))
AGENT_LINES = b"".join(b"User-agent: p%d\n" % n for n in range(14_000))


def test_a_robots_txt_of_many_rules_is_respected(web: PageServer) -> None:
    web.answers["/robots.txt"] = reply(b"User-agent: *\n" + RULE_LINES[:100_000])
    with closing(PageReader(timeout=30, allow_private_network=True)) as reader:
        assert failure(reader, f"{web.url}/a9/and/b").outcome == "blocked"
        assert reader(f"{web.url}/a9/and/c").title == "A page"
    # each rule counts for each program: 196 million of them, in 400 kB, are none
    web.answers["/robots.txt"] = reply(AGENT_LINES + RULE_LINES[:200_000])
    with closing(PageReader(timeout=30, allow_private_network=True)) as reader:
        assert reader(f"{web.url}/a9/and/b").title == "A page"


NAMES = st.sampled_from(b"User-agent Disallow Allow Crawl-delay Request-rate".split())
VALUES = st.binary(max_size=20) | st.sampled_from([b"*", b"/*a$", b"9" * 5000, b"1/%"])
LINES = st.tuples(NAMES, st.sampled_from([b": ", b" ", b":"]), VALUES).map(b"".join)


@settings(max_examples=30, deadline=None)
@given(st.lists(LINES).map(b"\n".join))
def test_no_robots_txt_is_an_error(body: bytes) -> None:
    rules = RobotsRules(lambda _: body, "research-agent")
    try:
        rules.check_before_use("https://a.example/page?q=%", 5)
    except ReadFailed as error:
        assert error.outcome == "blocked"
