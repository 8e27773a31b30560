"""What is asked of all providers alike, languages, and how the chain is built."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SearchFailed, UsageError
from agent.search.providers import PROVIDERS, build_search_chain
from agent.search.search_options import Locale, SearchOptions, locale_of
from agent.settings import parse_settings

# --- options and languages ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language", "locale"),
    [
        ("Who won the 2022 World Cup?", "", Locale("en", "us")),
        ("谁赢得了2022年世界杯？", "", Locale("zh-cn", "cn")),
        ("2022年ワールドカップの優勝国", "", Locale("ja", "jp")),
        ("Кто выиграл чемпионат мира", "", Locale("ru", "ru")),
        ("Хто виграв чемпіонат світу", "", Locale("uk", "ua")),
        ("چه کسی جام جهانی را برد", "", Locale("fa", "ir")),
        ("What does 侘寂 mean in Japanese design?", "", Locale("en", "us")),
        ("Wer gewann die WM", "de", Locale("de", "de")),
        ("q", "en-GB", Locale("en", "gb")),
        ("q", "zh_TW", Locale("zh-tw", "tw")),
        ("q", "evil.com/", Locale("en", "us")),
        ("", "", Locale("en", "us")),
    ],
)
def test_locale_of_a_query(text: str, language: str, locale: Locale) -> None:
    assert locale_of(text, language) == locale


@pytest.mark.parametrize(
    ("query", "text", "since"),
    [
        ("chip prices after:2026-06-10", "chip prices", date(2026, 6, 10)),
        ("after:2026-06-10 chip after:2026-06-12 prices", "chip prices", date(2026, 6, 12)),
        ("what happened after:lunch", "what happened after:lunch", None),
    ],
)
def test_a_day_in_a_query_is_an_option(query: str, text: str, since: date | None) -> None:
    found, options = SearchOptions().for_query(query)
    assert (found, options.since) == (text, since)


@given(st.text(max_size=40), st.dates())
def test_any_query_keeps_its_words(text: str, day: date) -> None:
    found, options = SearchOptions().for_query(f"{text} after:{day}")
    assert options.since and options.since >= day
    assert set(found.split()) <= {*text.split(), f"after:{day}"}


# --- building ----------------------------------------------------------------------------------


def test_the_chain_is_built_in_the_order_of_the_settings() -> None:
    settings = parse_settings({"SEARCH_PROVIDERS": "Wikipedia, exa,exa,searxng"})
    names = [provider.name for provider in build_search_chain(settings).providers]
    assert names == ["wikipedia", "exa", "searxng"]
    everything = parse_settings({}, search=tuple(PROVIDERS))
    assert [p.name for p in build_search_chain(everything).providers] == list(PROVIDERS)
    with pytest.raises(UsageError, match="'bing'"):
        build_search_chain(parse_settings({"SEARCH_PROVIDERS": "exa,bing"}))


def test_without_keys_each_provider_says_which_setting_is_missing() -> None:
    settings = parse_settings({"SEARCH_PROVIDERS": "serpapi,exa,tavily,serper,searxng"})
    with pytest.raises(SearchFailed) as caught:
        build_search_chain(settings)("q")
    error = caught.value
    missing = "SERPAPI_API_KEY EXA_API_KEY TAVILY_API_KEY SERPER_API_KEY SEARXNG_URL".split()
    assert [a.detail for a in error.attempts] == [f"{name} is not set" for name in missing]
    assert all(a.outcome == "no_key" for a in error.attempts)
    assert all(f"{name} is not set" in error.message for name in missing)
