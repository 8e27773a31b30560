"""What is asked of all providers alike, languages, and how the chain is built."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

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
        ("2022 월드컵 우승국", "", Locale("ko", "kr")),
        ("Кто выиграл чемпионат мира", "", Locale("ru", "ru")),
        ("Хто виграв чемпіонат світу", "", Locale("uk", "ua")),
        ("من فاز بكأس العالم", "", Locale("ar", "sa")),
        ("چه کسی جام جهانی را برد", "", Locale("fa", "ir")),
        ("Ποιος κέρδισε το Μουντιάλ", "", Locale("el", "gr")),
        ("מי זכה במונדיאל", "", Locale("he", "il")),
        ("What does 侘寂 mean in Japanese design?", "", Locale("en", "us")),
        ("Wer gewann die WM", "de", Locale("de", "de")),
        ("q", "en-GB", Locale("en", "gb")),
        ("q", "sv", Locale("sv", "se")),
        ("q", "zh_TW", Locale("zh-tw", "tw")),
        ("q", "evil.com/", Locale("en", "us")),
        ("2022 ?", "", Locale("en", "us")),
        ("", "", Locale("en", "us")),
    ],
)
def test_locale_of_a_query(text: str, language: str, locale: Locale) -> None:
    assert locale_of(text, language) == locale


def test_domains_as_operators() -> None:
    some = SearchOptions(allow_domains=("a.org", "b.org"), block_domains=("c.org",))
    assert some.add_site_operators("q") == "q (site:a.org OR site:b.org) -site:c.org"
    assert SearchOptions(allow_domains=("a.org",)).add_site_operators("q") == "q site:a.org"
    assert SearchOptions().add_site_operators("q") == "q"


@pytest.mark.parametrize(
    ("since", "span"),
    [("2026-06-15", "day"), ("2026-06-10", "week"), ("2026-06-01", "month"), ("2026-01-01", "year"),
     ("2020-01-01", "")],
)  # fmt: skip
def test_the_span_reaches_back_to_the_day(since: str, span: str) -> None:
    assert SearchOptions(since=date.fromisoformat(since)).time_range(date(2026, 6, 15)) == span
    assert SearchOptions().time_range(date(2026, 6, 15)) == ""


@pytest.mark.parametrize(
    ("query", "text", "since"),
    [
        ("chip prices after:2026-06-10", "chip prices", date(2026, 6, 10)),
        ("after:2026-06-10 chip after:2026-06-12 prices", "chip prices", date(2026, 6, 12)),
        ("what happened after:lunch", "what happened after:lunch", None),
        ("life after:2026-13-40", "life after:2026-13-40", None),
        ("after:2026-06-10", "after:2026-06-10", date(2026, 6, 10)),
    ],
)
def test_a_day_in_a_query_is_an_option(query: str, text: str, since: date | None) -> None:
    found, options = SearchOptions().for_query(query)
    assert (found, options.since) == (text, since)


def test_of_two_days_the_later_one_counts() -> None:
    for own, told in (("2026-06-20", "2026-06-20"), ("2026-06-01", "2026-06-10")):
        options = SearchOptions(since=date.fromisoformat(own), block_domains=("a.org",))
        _, limited = options.for_query("q after:2026-06-10")
        assert limited == options.model_copy(update={"since": date.fromisoformat(told)})


@given(st.text(max_size=40), st.dates())
def test_any_query_keeps_its_words(text: str, day: date) -> None:
    found, options = SearchOptions().for_query(f"{text} after:{day}")
    assert options.since and options.since >= day
    assert set(found.split()) <= {*text.split(), f"after:{day}"}


# --- building ----------------------------------------------------------------------------------


def test_the_chain_is_built_in_the_order_of_the_settings() -> None:
    settings = parse_settings({"SEARCH_PROVIDERS": "Wikipedia, exa,exa,searxng"})
    assert [p.name for p in build_search_chain(settings).providers] == [
        "wikipedia",
        "exa",
        "searxng",
    ]
    everything = parse_settings({}, search=tuple(PROVIDERS))
    assert [p.name for p in build_search_chain(everything).providers] == list(PROVIDERS)


def test_an_unknown_provider_is_a_usage_error_with_the_known_names() -> None:
    with pytest.raises(UsageError) as caught:
        build_search_chain(parse_settings({"SEARCH_PROVIDERS": "exa,bing"}))
    assert "'bing'" in caught.value.message
    assert all(name in caught.value.remedy for name in PROVIDERS)


def test_without_keys_each_provider_says_which_setting_is_missing() -> None:
    settings = parse_settings({"SEARCH_PROVIDERS": "serpapi,exa,tavily,serper,searxng"})
    with pytest.raises(SearchFailed) as caught:
        build_search_chain(settings)("q")
    error = caught.value
    missing = "SERPAPI_API_KEY EXA_API_KEY TAVILY_API_KEY SERPER_API_KEY SEARXNG_URL".split()
    assert [a.detail for a in error.attempts] == [f"{name} is not set" for name in missing]
    assert all(a.outcome == "no_key" for a in error.attempts)
    assert all(f"{name} is not set" in error.message for name in missing)


def test_importing_and_building_imports_no_client() -> None:
    code = (
        "import sys; from agent.settings import parse_settings\n"
        "from agent.search.providers import build_search_chain\n"
        "names = ('serpapi', 'exa', 'duckduckgo', 'wikipedia')\n"
        "build_search_chain(parse_settings({}, search=names))\n"
        "print([m for m in ('requests', 'serpapi', 'ddgs', 'httpx2') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert out.stdout.strip() == "[]", out.stderr
