"""Search of code and of packages, and computations: asked, found, fused, read and cited."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import responses

from agent.answer.json_format import to_json
from agent.errors import SearchFailed
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.search.code import CODE, Code
from agent.search.providers import build_search_chain
from agent.search.search_options import SearchOptions
from agent.search.wolfram import Wolfram
from agent.settings import Settings, parse_settings
from tests.steps.test_slots import ended
from tests.support.services import Services
from tests.support.thinker import Fact, Thinker

TOKEN = "ghp_s3cret/42"
#: Each service: its address, a reply with one find, and the titles and addresses of its hits.
REPLIES: dict[str, tuple[str, Any, list[tuple[str, str]]]] = {
    "github": (
        "https://api.github.com/search/code",
        {"total_count": 1, "incomplete_results": False, "items": [{
            "name": "client.py", "path": "httpx/client.py", "sha": "a1",
            "html_url": "https://github.com/encode/httpx/blob/a1/httpx/client.py",
            "repository": {"full_name": "encode/httpx", "private": False},
            "text_matches": [{"property": "content", "fragment": "retries: int = 0,"}, {}],
        }]},
        [("encode/httpx httpx/client.py", "https://github.com/encode/httpx/blob/a1/httpx/client.py")],
    ),
    "github_issues": (
        "https://api.github.com/search/issues",
        {"items": [{"html_url": "https://github.com/encode/httpx/issues/108", "title": "Retries",
                    "body": "httpx needs retries", "created_at": "2019-07-19T10:00:00Z"}]},
        [("Retries", "https://github.com/encode/httpx/issues/108")],
    ),
    "github_repositories": (
        "https://api.github.com/search/repositories",
        {"items": [{"html_url": "https://github.com/encode/httpx", "full_name": "encode/httpx",
                    "description": "A client", "homepage": "https://www.python-httpx.org/"}]},
        [("encode/httpx", "https://github.com/encode/httpx"),
         ("encode/httpx: documentation", "https://www.python-httpx.org/")],
    ),
    "npm": (
        "https://registry.npmjs.org/-/v1/search",
        {"objects": [{"package": {
            "name": "@a/httpx", "version": "3.0.1", "description": "Requests with retries",
            "date": "2026-01-02T03:04:05Z", "links": {"homepage": "https://httpx.example/"},
        }}], "total": 1},
        [("@a/httpx 3.0.1 (npm)", "https://www.npmjs.com/package/@a/httpx"),
         ("@a/httpx 3.0.1 (npm): documentation", "https://httpx.example/")],
    ),
    "crates": (
        "https://crates.io/api/v1/crates",
        {"crates": [{"name": "httpx", "max_version": "0.1.0", "description": "HTTP",
                     "documentation": None, "updated_at": "2026-01-02T03:04:05Z"}]},
        [("httpx 0.1.0 (crates)", "https://crates.io/crates/httpx")],
    ),
    "pypi": (
        "https://pypi.org/pypi/httpx/json",
        {"info": {"name": "httpx", "version": "0.28.1", "summary": "The next HTTP client.",
                  "docs_url": None, "home_page": "",
                  "project_urls": {"Documentation": "https://www.python-httpx.org"}},
         "urls": [{"upload_time": "2024-12-06T15:37:21"}]},
        [("httpx 0.28.1 (pypi)", "https://pypi.org/project/httpx/"),
         ("httpx 0.28.1 (pypi): documentation", "https://www.python-httpx.org")],
    ),
}  # fmt: skip
NOT_FOUND = {"status": 404, "json": {"message": "Not Found"}}


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def settings_of(**more: str) -> Settings:
    """With a cache that cannot be written: nobody waits for a turn that is kept there."""
    return parse_settings({"CACHE_DIR": "/dev/null/none", "GITHUB_TOKEN": TOKEN, **more})


def add_all(wire: responses.RequestsMock) -> None:
    for url, reply, _ in REPLIES.values():
        wire.get(url, json=reply)


@pytest.mark.parametrize("name", list(CODE))
def test_what_is_asked_and_what_is_found(name: str, wire: responses.RequestsMock) -> None:
    add_all(wire)
    for word in ("retries", "x"):
        wire.get(f"https://pypi.org/pypi/{word}/json", **NOT_FOUND)
    options = SearchOptions(since="2026-06-10")
    hits = CODE[name](settings_of(), options).search("How does httpx do the retries? is:x")
    assert [(hit.title, hit.url) for hit in hits] == REPLIES[name][2]
    first = wire.calls[0].request
    assert first.headers["User-Agent"].startswith("llm-research-agent/")
    words = "httpx retries x"
    parameters = {
        "github": {"q": words, "per_page": "10"},
        "github_issues": {"q": f"{words} is:issue created:>=2026-06-10", "per_page": "10"},
        "github_repositories": {"q": f"{words} pushed:>=2026-06-10", "per_page": "10"},
        "npm": {"text": words, "size": "10"},
        "crates": {"q": words, "per_page": "10"},
        "pypi": {},
    }
    assert first.params == parameters[name]
    if name.startswith("github"):
        assert first.headers["Authorization"] == f"Bearer {TOKEN}"
        assert first.headers["Accept"] == "application/vnd.github.text-match+json"
    else:
        assert TOKEN not in str(first.headers)


@pytest.mark.parametrize("name", ["github", "pypi"])
@pytest.mark.parametrize(
    ("reply", "outcome", "wait"),
    [
        ({"status": 403, "json": {"message": f"no {TOKEN}"}}, "bad_key blocked", None),
        ({"status": 403, "json": {"message": "You have exceeded a secondary rate limit."},
          "headers": {"Retry-After": "7"}}, "rate_limited", 7),
        ({"status": 403, "json": {"message": "API rate limit exceeded for user ID 1."},
          "headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{later}"}},
         "rate_limited", 60),
        ({"status": 429, "headers": {"X-RateLimit-Remaining": "1, 0", "X-RateLimit-Reset": "1, 9"}},
         "rate_limited", 9),
        ({"status": 422, "json": {"message": "Validation Failed"}}, "rejected", None),
        ({"json": {"items": 1, "crates": {}, "info": []}}, "invalid", None),
    ],
)  # fmt: skip
def test_refusals(
    name: str, reply: dict[str, Any], outcome: str, wait: float | None,
    wire: responses.RequestsMock,
) -> None:  # fmt: skip
    later = str(int(time.time()) + 60)
    headers = {k: v.format(later=later) for k, v in reply.get("headers", {}).items()}
    wire.get(REPLIES[name][0], **reply | {"headers": headers})
    with pytest.raises(SearchFailed) as caught:
        CODE[name](settings_of(), SearchOptions()).search("httpx")
    error = caught.value
    assert error.outcome in outcome.split()
    assert name != "github" or TOKEN not in error.message
    assert error.outcome != "bad_key" or error.remedy == "Check GITHUB_TOKEN."
    assert error.retry_after == wait or (wait == 60 and 55 < (error.retry_after or 0) <= 60)


def test_all_are_asked_side_by_side_and_the_likest_is_first(
    wire: responses.RequestsMock,
) -> None:
    """A page that several found is one hit; without a token the registries answer."""
    add_all(wire)
    wire.get("https://pypi.org/pypi/client/json", **NOT_FOUND)
    found = build_search_chain(settings_of(SEARCH_PROVIDERS="code"))("httpx client")
    assert found.provider == "code" and len(found.hits) == 8
    assert found.hits[0].url == "https://www.python-httpx.org"  # which PyPI and GitHub name
    assert {one.provider for one in found.attempts if one.outcome == "ok"} == {*CODE, "code"}
    bare = Code(settings_of(GITHUB_TOKEN=""), SearchOptions()).search("httpx client")
    assert {one.provider: one.outcome for one in bare.attempts} == {
        **dict.fromkeys(CODE, "ok"),
        **dict.fromkeys((name for name in CODE if name.startswith("github")), "no_key"),
    }


# --- computations --------------------------------------------------------------------------------

COMPUTE = "https://www.wolframalpha.com/api/v1/llm-api"
APP_ID = "APP1D-S3CRET"
QUESTION = "How far is Berlin from Rome?"
ADDRESS = "https://www.wolframalpha.com/input?i=How+far+is+Berlin+from+Rome%3F"
RESULT = f'''Query:
"{QUESTION}"

Input interpretation:
distance | from | Berlin, Germany to Rome, Italy

Result:
Berlin is 1184 km (kilometers) from Rome.

Map:
image: https://www6b3.wolframalpha.com/Calculate/MSP/MSP1?MSPStoreType=image/png&s=6

Wolfram|Alpha website result for "{QUESTION}":
https://www6b3.wolframalpha.com/input?i=How+far+is+Berlin+from+Rome%3F
'''


@pytest.mark.slow
def test_a_computed_result_is_a_page_that_is_quoted_replayed_and_audited(
    wire: responses.RequestsMock, services: Services, tmp_path: Path
) -> None:
    wire.get(COMPUTE, body=RESULT, content_type="text/plain;charset=utf-8")
    services.think = Thinker([Fact("distance", "1184 km", "Berlin is 1184 km")], [QUESTION])
    more = {"SEARCH_PROVIDERS": "wolfram", "WOLFRAM_APP_ID": APP_ID}
    own = parse_settings(services.environment(tmp_path, **more))
    _, answer = ended(own, QUESTION)
    first = answer.citations[0]
    assert "1184 km" in answer.answer and (first.url, first.text_from) == (ADDRESS, "wolfram")
    assert (first.via, first.match, first.title) == ("page", "exact", f"Wolfram|Alpha: {QUESTION}")
    (asked,) = (call.request for call in wire.calls)
    assert asked.params["input"] == QUESTION
    assert asked.headers["Authorization"] == f"Bearer {APP_ID}"
    assert audit_answer(json.loads(to_json(answer)))["ok"] and answer.run
    journal = Path(answer.run.journal).read_text(encoding="utf-8")
    assert APP_ID not in journal and "distance | from | Berlin" in journal
    assert ended(own, QUESTION)[1].citations[0].quote == first.quote  # by the cache
    again = research("", Settings(), replay=Path(answer.run.journal)).answer()
    assert again.citations == answer.citations and len(wire.calls) == 1


def test_what_cannot_be_computed_is_no_result(wire: responses.RequestsMock) -> None:
    wire.get(COMPUTE, status=501, body="Wolfram|Alpha could not understand: x")
    provider = Wolfram(Settings(keys={"wolfram": APP_ID}))
    assert provider.search("x") == ()
    wire.replace(responses.GET, COMPUTE, status=403, body=f"Error 1: Invalid appid {APP_ID}")
    with pytest.raises(SearchFailed) as caught:
        provider.search("2+2")
    assert caught.value.outcome == "bad_key" and APP_ID not in caught.value.message
