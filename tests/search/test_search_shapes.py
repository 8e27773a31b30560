"""No reply of any shape raises past the chain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.search.provider_chain import Provider
from agent.state import SearchResults
from tests.support.search_wire import (
    SERVICES,
    search_through_chain,
    service,
    wire,
)

WORDS = st.sampled_from(
    "results organic organic_results query search error message detail link url title snippet "
    "content text highlights answer_box answerBox knowledge_graph ai_overview text_blocks list "
    "references reference_indexes index source infoboxes urls answers unresponsive_engines code "
    "search_metadata publishedDate date".split()
)
ODD = ["https://a.org/", "http://[", "\ud800", "<b>x</b>", "javascript:1", "\x00", "&#x110000;"]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(ODD)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=25,
)
MANY = settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
each = pytest.mark.parametrize("name", list(SERVICES))


def ends_well(provider: Provider) -> None:
    """The chain gives hits that can be written as JSON, or the one error that it has."""
    found = search_through_chain(provider)
    if isinstance(found, SearchResults):
        found.model_dump_json().encode()
        for hit in found.hits:
            assert hit.url.startswith("http") and len(hit.title) <= 300 and len(hit.snippet) <= 1000
    assert found.attempts
    assert "could not be read" not in found.attempts[-1].detail  # the last net is not needed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exa", "serpapi", "wikipedia"])
@MANY
@given(value=JSON | st.dictionaries(WORDS, JSON, max_size=8), status=st.sampled_from([200, 400]))
def test_any_json(name: str, value: Any, status: int) -> None:
    with wire(name, status=status, body=json.dumps(value)):
        ends_well(service(name))


@each
@MANY
@given(reply=st.binary(max_size=60), status=st.integers(200, 599))
def test_any_bytes(name: str, reply: bytes, status: int) -> None:
    with wire(name, status=status, body=reply):
        ends_well(service(name))


def mutate(value: Any, draw: st.DataObject) -> Any:
    """The value with something, somewhere in it, put in place of what belongs there."""
    inside = draw.draw(st.integers(0, 5)) > 0
    if inside and isinstance(value, dict) and value:
        key = draw.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutate(value[key], draw)}
    if inside and isinstance(value, list) and value:
        index = draw.draw(st.integers(0, len(value) - 1))
        return [*value[:index], mutate(value[index], draw), *value[index + 1 :]]
    return draw.draw(JSON)


@each
@MANY
@given(draw=st.data())
def test_mutated_replies(name: str, draw: st.DataObject) -> None:
    value = SERVICES[name].good
    for _ in range(3):
        value = mutate(value, draw)
    with wire(name, body=json.dumps(value)):
        ends_well(service(name))
