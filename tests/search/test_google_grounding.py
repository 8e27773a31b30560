"""Google Search with Gemini's key: what is sent, whose pages are hits, what it costs a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.errors import SearchFailed, Spent
from agent.pages.address_guard import AddressGuard
from agent.run.begin import research
from agent.search.google_grounding import USD_PER_SEARCH, GoogleGrounding
from agent.search.paid_terms import PaidHits
from agent.search.providers import build_search_chain
from agent.search.search_options import SearchOptions
from agent.settings import Settings, parse_settings
from agent.state import Outcome
from tests.llm.test_gemini import REFUSALS
from tests.steps.test_slots import ended
from tests.support.catcher import Catcher
from tests.support.services import GEMINI_KEY, SERPAPI_KEY, Raw, Services

TEXT = "Zürich ist schön. 東京は首都です。 Ende 🎉."
SECOND = "東京は首都です。"
PRICE = {"from": "2026-01-01", "input": 1.0, "output": 2.0}
TOKENS_USD = (100 * 1.0 + 100 * 2.0) / 1e6  # of a grounded reply of the fake


@pytest.fixture
def google(services: Services, tmp_path: Path) -> Iterator[Settings]:
    """Settings with which Google is the first search provider, and no other one has a key."""
    prices = tmp_path / "own-prices.json"
    rows = {name: [PRICE] for name in ("gemini-3.8-flash", "gemini-3.5-flash-lite")}
    prices.write_text(json.dumps(rows))
    more = {"SEARCH_PROVIDERS": "serpapi,google", "SERPAPI_API_KEY": "", "CACHE_TTL": "0"}
    yield parse_settings(
        services.environment(tmp_path, RESEARCH_AGENT_PRICES_FILE=str(prices), **more)
    )


def search(
    settings: Settings, query: str = "q", guard: AddressGuard | None = None, **options: Any
) -> PaidHits:
    provider = GoogleGrounding(settings, SearchOptions(**options), guard)
    try:
        return provider.search(query)
    finally:
        provider.close()


def chunk(services: Services, name: str, title: str = "") -> dict[str, Any]:
    return {"web": {"uri": services.redirect(name), "title": title or name}}


# --- what is sent and read ------------------------------------------------------------------------


def test_a_query_is_one_call_with_one_tool(services: Services, google: Settings) -> None:
    services.default_hits = ["final", "other"]
    found = search(google, "Who won?", allow_domains=("a.org",))
    assert [hit.url for hit in found.hits] == [services.url("final"), services.url("other")]
    assert services.grounded_queries == ["Who won? site:a.org"]
    assert services.posted_paths == ["/gemini/v1beta/models/gemini-3.8-flash:generateContent"]
    (body,) = services.bodies
    assert body["tools"] == [{"googleSearch": {}}] and body["generationConfig"]["maxOutputTokens"]
    assert services.page_requests == [], "a page is not asked for its address"


def test_a_hit_has_the_sentences_of_its_page(services: Services, google: Settings) -> None:
    services.ground = lambda _: {
        "parts": [{"text": TEXT}],
        "groundingChunks": [chunk(services, "a"), chunk(services, "b"), {"other": {}}],
        "groundingSupports": [
            {"segment": {"text": SECOND}, "groundingChunkIndices": [0, 1, 7, -1]},
            {"segment": {"text": "Zürich ist schön."}, "groundingChunkIndices": [1]},
        ],
    }
    a, b = search(google).hits
    assert a.snippet == SECOND and b.snippet == f"{SECOND} Zürich ist schön."
    assert a.generated and b.generated


def test_a_blocked_search_fails_and_is_paid_for(services: Services, google: Settings) -> None:
    body = {
        "candidates": [{"finishReason": "SAFETY"}],
        "usageMetadata": {"promptTokenCount": 1_000_000},
    }
    services.ground = lambda _: Raw(200, json.dumps(body))
    with pytest.raises(SearchFailed, match="blocked") as caught:
        search(google)
    assert caught.value.outcome == "blocked" and caught.value.spent == Spent(1_000_000, 0, 1.0)


@pytest.mark.parametrize(("raw", "outcome", "waits"), REFUSALS[::3])
def test_refusals(
    raw: Raw, outcome: Outcome, waits: list[float], services: Services, google: Settings
) -> None:
    services.ground = lambda _: raw
    with pytest.raises(SearchFailed) as caught:
        search(google)
    assert caught.value.outcome == outcome and caught.value.message
    assert len(services.grounded_queries) == 1, "the SDK does not retry"


def test_no_redirect_is_followed_with_the_key(google: Settings) -> None:
    with Catcher() as elsewhere, Catcher(302, f"http://{elsewhere.host}/") as gateway:
        given = google.model_copy(update={"gemini_base_url": f"http://{gateway.host}"})
        with pytest.raises(SearchFailed, match="302, a redirect"):
            search(given)
        assert GEMINI_KEY in gateway.text and elsewhere.requests == []


# --- addresses ------------------------------------------------------------------------------------


def guard_of(services: Services) -> AddressGuard:
    """Allows the services alone; names have addresses of their own."""
    port = int(services.base.rpartition(":")[2])
    names = {"public.test": "93.184.216.34", "inside.test": "10.0.0.7"}
    return AddressGuard(
        allowed=frozenset({("127.0.0.1", port)}), resolver=lambda host, _: [names.get(host, host)]
    )


def test_only_addresses_of_public_pages_are_hits(services: Services, google: Settings) -> None:
    services.default_hits = "public page literal name loop twice onwards file credentials".split()
    services.redirects = {
        "public": "https://public.test/a?b=1#c",
        "literal": "http://169.254.169.254/latest/meta-data/",
        "name": "https://inside.test/",
        "loop": services.redirect("loop"),
        "twice": services.redirect("public"),
        "onwards": services.redirect("literal"),
        "file": "file:///etc/passwd",
        "credentials": "https://a:b@public.test/",
    }
    hits = search(google, guard=guard_of(services)).hits
    page = "https://public.test/a?b=1#c"
    assert [hit.url for hit in hits] == [page, services.url("page"), page]
    assert services.page_requests == []


# --- cost -----------------------------------------------------------------------------------------


def test_each_search_of_the_model_is_paid_for_once(services: Services, google: Settings) -> None:
    services.ground = lambda _: {"webSearchQueries": ["a", "", "b", "a"]}
    spent = search(google).spent
    assert spent.input_tokens == 100 and spent.output_tokens == 100
    assert spent.usd == pytest.approx(2 * USD_PER_SEARCH + TOKENS_USD)


def test_after_four_queries_the_next_provider_is_asked(
    services: Services, google: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    services.default_hits = ["final"]
    update = {"search": ("google", "serpapi"), "keys": {"serpapi": SecretStr(SERPAPI_KEY)}}
    chain = build_search_chain(google.model_copy(update=update))
    found = [chain(f"query {n}") for n in range(5)]
    chain.close()
    assert [one.provider for one in found] == ["google"] * 4 + ["serpapi"]
    assert found[0].usd and found[4].usd == 0
    skipped, _ = found[4].attempts
    assert skipped.outcome == "skipped" and "4 queries a run" in skipped.detail
    (notice,) = caplog.messages
    assert "with the Gemini key" in notice and "$0.014" in notice and "at most 4" in notice


# --- runs -----------------------------------------------------------------------------------------


def test_a_run_with_geminis_key_alone(
    world: Services, google: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    events, answer = ended(google)
    assert answer.status == "complete" and not answer.degraded
    assert [citation.url for citation in answer.citations] == [world.url("final")]
    assert answer.run and answer.run.providers == ("google",)
    searches = len(world.grounded_queries)
    assert searches and any("Google is searched" in message for message in caplog.messages)
    models = sum(
        (call["response"]["usd"] for call in journal_calls(answer.run.journal, "ask")), 0.0
    )
    assert answer.usage.usd == pytest.approx(models + searches * (USD_PER_SEARCH + TOKENS_USD))
    replayed = research("", Settings(), replay=Path(str(answer.run.journal))).answer()
    same = {"answer", "citations", "attempts", "status", "degraded"}
    assert replayed.model_dump(include=same) == answer.model_dump(include=same)
    assert replayed.usage.usd == answer.usage.usd
    assert replayed.usage.input_tokens == answer.usage.input_tokens
    assert len(world.grounded_queries) == searches, "a replay goes nowhere"


def journal_calls(path: str | None, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in Path(str(path)).read_text("utf-8").splitlines()]
    assert "grounding-api-redirect" not in Path(str(path)).read_text("utf-8")
    assert GEMINI_KEY not in Path(str(path)).read_text("utf-8")
    return [line for line in lines if line.get("call") == kind]


def test_a_cap_in_dollars_leaves_no_paid_search(world: Services, google: Settings) -> None:
    capped = google.model_copy(update={"max_usd": 0.03, "search": ("google", "searxng")})
    _, answer = ended(capped)
    assert world.grounded_queries == [] and (answer.usage.usd or 0) <= 0.03
    assert any("budget leaves too little" in attempt.detail for attempt in answer.attempts)


def test_what_gemini_writes_is_no_source(world: Services, google: Settings) -> None:
    """The snippet would replace a page that cannot be read, were it the page's words."""
    world.pages = {}
    world.ground = lambda query: {
        "parts": [{"text": "Argentina won the 2022 FIFA World Cup."}],
        "groundingChunks": [chunk(world, "final")],
        "groundingSupports": [
            {"segment": {"text": "Argentina won the 2022"}, "groundingChunkIndices": [0]},
        ],
    }
    _, answer = ended(google)
    assert answer.status == "insufficient" and not answer.citations
    assert "Argentina" not in answer.answer
    assert world.page_requests, "the page was asked for"
