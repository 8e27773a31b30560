"""Follow-up questions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.follower import FOLLOW_UP, PARENT, forget, set_up
from tests.support.services import Services
from tests.support.web import Web, configure_from, parse_frames

ROOT = Path(__file__).parents[2]


@pytest.fixture
def world(services: Services) -> Services:
    return set_up(services)


@pytest.fixture
def web(world: Services, tmp_path: Path) -> Iterator[Web]:
    with Web(configure_from(world.environment(tmp_path, CACHE_TTL="0"))) as running:
        yield running


def ask_parent(web: Web, world: Services) -> str:
    """The path at which the run can be followed; the services forget its requests."""
    name = web.ask(PARENT).headers["x-run-id"]
    forget(world)
    return f"/api/runs/{name}/follow"


def test_a_run_is_followed_by_its_name(web: Web, world: Services) -> None:
    path = ask_parent(web, world)
    response = web.client.post(path, json={"question": FOLLOW_UP, "max_words": 30})
    assert response.status_code == 200 and response.headers["x-run-id"]
    answer = response.json()
    assert answer["question"] == FOLLOW_UP and "1931" in answer["report"]
    assert answer["run"]["follows"]["run"] in path and answer["usage"]["searches"] == 0
    assert not world.search_queries and not world.page_requests


def test_a_follow_up_is_streamed_if_a_stream_is_accepted(web: Web, world: Services) -> None:
    path, accept = ask_parent(web, world), {"Accept": "text/event-stream"}
    body = {"question": FOLLOW_UP}
    with web.client.stream("POST", path, json=body, headers=accept) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        frames = list(parse_frames(response.iter_lines()))
    assert frames[-1] == {"id": len(frames), "type": "end", "detail": "complete"}
    name = path.split("/")[3]
    streamed = web.stream(FOLLOW_UP, follow=name)[-2]["detail"]  # named in the body
    assert streamed["run"]["follows"]["run"] == name


def test_what_cannot_be_followed_over_http(web: Web, world: Services) -> None:
    path = ask_parent(web, world)
    for name in ("nobody", "..%2f..%2fetc%2fpasswd", "%2Fetc%2Fpasswd.jsonl", "a" * 101):
        refused = web.client.post(f"/api/runs/{name}/follow", json={"question": FOLLOW_UP})
        assert refused.status_code in (404, 422), name
    assert web.client.post(path, json={"question": ""}).status_code == 400
    assert web.client.post(path, json={"question": FOLLOW_UP, "corpus": "/"}).status_code == 422
    for name in ("nobody", "../parent", "/etc/passwd", ""):
        assert web.ask(FOLLOW_UP, follow=name).status_code == 422, name
    assert not world.model_requests
