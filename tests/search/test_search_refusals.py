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


@pytest.mark.parametrize("name", KEYED)
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
        ("serpapi", 429, {"error": "Your account has run out of searches."}, "no_credit"),
        ("serpapi", 200, {"error": "Your account has run out of searches."}, "no_credit"),
        ("serpapi", 429, {"error": "You are exceeding 1000 searches per hour."}, "rate_limited"),
        ("serpapi", 401, {"error": "Invalid API key. Your API key should be here."}, "bad_key"),
        ("serpapi", 200, {"error": "Invalid API key."}, "bad_key"),
        ("serpapi", 200, {"error": "Unsupported `engine` parameter."}, "rejected"),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, "no_credit"),
        ("serper", 403, {"message": "Unauthorized.", "statusCode": 403}, "bad_key"),
        ("serper", 200, {"error": "Something else"}, "rejected"),
        ("serper", 200, {"message": "Unauthorized.", "statusCode": 403}, "bad_key"),
        ("tavily", 432, {"detail": {"error": "This request exceeds your plan."}}, "no_credit"),
        ("tavily", 433, {"detail": {"error": "Pay-as-you-go limit."}}, "no_credit"),
        ("tavily", 401, {"detail": {"error": "Unauthorized: missing API key."}}, "bad_key"),
        ("tavily", 429, {"detail": {"error": "Excessive requests."}}, "rate_limited"),
        ("exa", 402, {"error": "No more credits", "tag": "NO_MORE_CREDITS"}, "no_credit"),
        ("exa", 429, {"error": "Too fast", "requestId": "1"}, "rate_limited"),
        ("brave", 422, {"error": {"detail": "The subscription token is invalid."}}, "bad_key"),
        ("wikipedia", 200, {"error": {"code": "ratelimited", "info": "Slow"}}, "rate_limited"),
        ("wikipedia", 200, {"error": {"code": "maxlag", "info": "Waiting"}}, "unavailable"),
        ("wikipedia", 200, {"error": {"code": "badvalue", "info": "Bad"}}, "rejected"),
        ("wikipedia", 403, {"error": "User agent policy"}, "blocked"),
        ("searxng", 200, {"results": [], "unresponsive_engines": [["g", "x"]]}, "unavailable"),
        ("searxng", 429, {}, "rate_limited"),
    ],
)  # fmt: skip
def test_refusals_in_their_own_words(
    name: str, status: int, reply: dict[str, Any], outcome: Outcome
) -> None:
    with wire(name, status=status, json=reply):
        assert failure(service(name)).outcome == outcome


def test_searxng_without_json_says_what_to_change() -> None:
    with wire("searxng", status=403, body="<h1>Forbidden</h1>"):
        error = failure(service("searxng"))
    assert (error.outcome, error.message) == ("blocked", "HTTP 403")
    assert "settings.yml" in error.remedy


@pytest.mark.parametrize("name", KEYED)
def test_refusals_say_what_to_do(name: str) -> None:
    for status, word in (
        (401, "Check"),
        (402, "Add credit"),
        (429, "Wait"),
        (503, "Try again later"),
    ):
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
    ("reply", "told"),
    [
        (b"", "broken JSON or none"),
        (b"   ", "broken JSON or none"),
        (b'{"results": [{"url": "https://', "broken JSON or none"),
        (b"\xff\xfe\x00garbage", "broken JSON or none"),
        (b"Sorry, no.", "broken JSON or none"),
        (b"[" * 100_000, "broken JSON or none"),
        (b"<!doctype html><h1>busy</h1>", "HTML"),
        (b"[1, 2]", "a JSON list instead of an object"),
        (b'"text"', "a JSON str instead of an object"),
        (b"null", "broken JSON or none"),
        (b"{}", "without a list of results"),
        (b'{"results": "x", "organic": 1, "organic_results": {}, "query": []}', "without a list"),
    ],
)
def test_replies_that_are_not_what_was_asked_for(name: str, reply: bytes, told: str) -> None:
    with wire(name, body=reply):
        error = failure(service(name))
    assert error.outcome == "invalid" and told in error.message


@pytest.mark.parametrize("name", list(SERVICES))
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed_with_the_key(name: str, status: int) -> None:
    with wire(name, status=status, headers={"Location": "https://elsewhere.example/"}) as asked:
        error = failure(service(name))
    assert len(asked) == 1
    assert error.outcome == "rejected"
    assert "a redirect to elsewhere.example that is not followed" in error.message


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0), ("0", 0.0), ("1.5", 1.5), ("-3", 0.0), ("", None), ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("nan", 0.0),
    ],
)  # fmt: skip
def test_retry_after_in_seconds_or_as_a_date(header: str, seconds: float | None) -> None:
    assert parse_retry_after(header, now=60.0) == seconds


@pytest.mark.parametrize("name", list(SERVICES))
def test_retry_after_is_handed_to_the_chain(name: str) -> None:
    with wire(name, status=429, headers={"Retry-After": "7"}):
        assert failure(service(name)).retry_after == 7.0


# --- secrets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(
    "reply",
    [
        {"status": 401, "json": {"error": f"Invalid API key: {KEY}"}},
        {"status": 401, "json": {"error": "Bad URL /search?api_key=s3cret%2Fkey%2B42&q=1"}},
        {"status": 403, "json": {"message": "the key s3cret&#47;key+42 is not known"}},
        {"status": 500, "body": f"<html>{KEY}</html>"},
        {"status": 200, "json": {"error": f"what is {KEY}?"}},
        {"body": requests.ConnectionError(f"Max retries exceeded: /search?api_key={KEY}")},
        {"body": requests.ReadTimeout(f"/search?api_key={KEY}")},
        {"body": requests.exceptions.InvalidURL(f"/search?api_key={KEY}")},
        {"body": requests.exceptions.ProxyError(f"https://user:{KEY}@proxy")},
        {"body": RuntimeError(f"unheard of: {KEY}")},
    ],
)
def test_no_failure_tells_the_key(name: str, reply: dict[str, Any]) -> None:
    with wire(name, **reply):
        found = search_through_chain(service(name))
    told = repr(found) + str(getattr(found, "attempts", "")) + getattr(found, "remedy", "")
    assert isinstance(found, SearchFailed) and "s3cret" not in told
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


@pytest.mark.parametrize("base", ["no-scheme.example", "ftp://x.example", "http://", "http://[::1"])
def test_a_base_url_that_is_none(base: str) -> None:
    error = failure(service("exa", base))
    assert error.outcome == "rejected" and "EXA_BASE_URL" in error.remedy


@pytest.mark.parametrize("name", list(SERVICES))
def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for reply in (
        {"json": SERVICES[name].good},
        {"status": 500, "body": "x"},
        {"body": requests.HTTPError("x")},
    ):
        with wire(name, **reply):
            search_through_chain(service(name))
    assert capfd.readouterr() == ("", "")
