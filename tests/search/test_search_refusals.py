"""Every way in which a provider says no, and that none of them tells the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests

from agent.calls.http import Endpoint, parse_retry_after
from agent.errors import SearchFailed
from agent.settings import KEY_VARIABLES
from agent.state import Outcome
from tests.support.search_wire import (
    BASE,
    KEY,
    KEYED,
    SERVICES,
    failure,
    only_request,
    search_through_chain,
    service,
    wire,
)

# --- refusals, row by row ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exa", "serpapi"])
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, "rejected"), (401, "bad_key"), (402, "no_credit"), (403, "bad_key"),
        (404, "rejected"), (408, "timeout"), (410, "rejected"), (422, "rejected"),
        (429, "rate_limited"), (432, "no_credit"), (433, "no_credit"), (500, "unavailable"),
        (502, "unavailable"), (503, "unavailable"), (504, "timeout"), (529, "unavailable"),
    ],
)  # fmt: skip
def test_status(name: str, status: int, outcome: Outcome) -> None:
    with wire(name, status=status, json={"error": "In words."}):
        error = failure(service(name))
    assert (error.outcome, error.message) == (outcome, f"HTTP {status}: In words.")


@pytest.mark.parametrize(
    ("name", "status", "reply", "outcome"),
    [
        ("serpapi", 200, {"error": "Your account has run out of searches."}, "no_credit"),
        ("serpapi", 429, {"error": "You are exceeding 1000 searches per hour."}, "rate_limited"),
        ("serpapi", 200, {"error": "Invalid API key."}, "bad_key"),
        ("serpapi", 200, {"error": "Unsupported `engine` parameter."}, "rejected"),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, "no_credit"),
        ("serper", 200, {"message": "Unauthorized.", "statusCode": 403}, "bad_key"),
        ("tavily", 432, {"detail": {"error": "This request exceeds your plan."}}, "no_credit"),
        ("exa", 402, {"error": "No more credits", "tag": "NO_MORE_CREDITS"}, "no_credit"),
        ("brave", 422, {"error": {"detail": "The subscription token is invalid."}}, "bad_key"),
        ("wikipedia", 200, {"error": {"code": "ratelimited", "info": "Slow"}}, "rate_limited"),
        ("wikipedia", 200, {"error": {"code": "badvalue", "info": "Bad"}}, "rejected"),
        ("wikipedia", 403, {"error": "User agent policy"}, "blocked"),
        ("searxng", 200, {"results": [], "unresponsive_engines": [["g", "x"]]}, "unavailable"),
        ("searxng", 403, {}, "blocked"),
    ],
)  # fmt: skip
def test_refusals_in_their_own_words(
    name: str, status: int, reply: dict[str, Any], outcome: Outcome
) -> None:
    with wire(name, status=status, json=reply):
        assert failure(service(name)).outcome == outcome


@pytest.mark.parametrize("name", KEYED)
def test_refusals_say_what_to_do(name: str) -> None:
    for status, word in ((401, "Check"), (402, "Add credit"), (429, "Wait"), (503, "Try again")):
        with wire(name, status=status, json={}):
            remedy = failure(service(name)).remedy
        assert word in remedy
        assert (KEY_VARIABLES[name] in remedy) == (status in (401, 402))


@pytest.mark.parametrize("name", list(SERVICES))
def test_no_results_is_no_failure(name: str) -> None:
    with wire(name, json=SERVICES[name].empty):
        assert service(name).search("q") == ()


@pytest.mark.parametrize("name", list(SERVICES))
@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (b"", "broken JSON or none"),
        (b"[" * 100_000, "broken JSON or none"),
        (b"<!doctype html><h1>busy</h1>", "HTML"),
        (b"{}", "without a list of results"),
        (b'{"results": "x", "organic": 1, "organic_results": {}, "query": []}', "without a list"),
    ],
)
def test_replies_that_are_not_what_was_asked_for(name: str, reply: bytes, fault: str) -> None:
    with wire(name, body=reply):
        error = failure(service(name))
    assert error.outcome == "invalid" and fault in error.message


@pytest.mark.parametrize("name", list(SERVICES))
def test_redirects_are_not_followed_with_the_key(name: str) -> None:
    with wire(name, status=307, headers={"Location": "https://elsewhere.example/"}) as asked:
        error = failure(service(name))
    assert len(asked) == 1
    assert error.outcome == "rejected"
    assert "a redirect to elsewhere.example that is not followed" in error.message


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1.5", 1.5), ("-3", 0.0), ("nan", 0.0), ("", None), ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
    ],
)  # fmt: skip
def test_retry_after_in_seconds_or_as_a_date(header: str, seconds: float | None) -> None:
    assert parse_retry_after(header, now=60.0) == seconds


# --- secrets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(
    "reply",
    [
        {"status": 401, "json": {"error": f"Invalid API key: {KEY}"}},
        {"status": 401, "json": {"error": "Bad URL /search?api_key=s3cret%2Fkey%2B42&q=1"}},
        {"status": 403, "json": {"message": "the key s3cret&#47;key+42 is not known"}},
        {"status": 500, "body": f"<html>{KEY}</html>"},
        {"body": requests.ConnectionError(f"Max retries exceeded: /search?api_key={KEY}")},
        {"body": requests.exceptions.ProxyError(f"https://user:{KEY}@proxy")},
        {"body": RuntimeError(f"unheard of: {KEY}")},
    ],
)
def test_no_failure_has_the_key(name: str, reply: dict[str, Any]) -> None:
    with wire(name, **reply):
        found = search_through_chain(service(name))
    shown = repr(found) + str(getattr(found, "attempts", "")) + getattr(found, "remedy", "")
    assert isinstance(found, SearchFailed) and "s3cret" not in shown
    assert not found.__cause__ and "s3cret" not in repr(found.__context__)


@pytest.mark.parametrize("key", ["line\nbreak", "schlüssel–\u4e2d"])
def test_a_key_that_cannot_be_sent_is_a_bad_key(key: str) -> None:
    provider = service("tavily", "http://127.0.0.1:9", key=key)
    assert failure(provider).outcome == "bad_key"


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(Endpoint(BASE, "URL", "KEY", KEY))


def test_netrc_does_not_replace_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine gate.example login me password mine\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with wire("tavily", json=SERVICES["tavily"].good) as asked:
        service("tavily").search("q")
    assert only_request(asked).headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", list(SERVICES))
def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for reply in ({"json": SERVICES[name].good}, {"status": 500, "body": "x"}):
        with wire(name, **reply):
            search_through_chain(service(name))
    assert capfd.readouterr() == ("", "")
