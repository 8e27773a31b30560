"""Every setting with its default and its environment variable.

Nothing else in the program reads the environment, doors apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal

from platformdirs import PlatformDirs
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from agent.errors import UsageError
from agent.state import Frozen

DEFAULT_PROVIDERS = ("serpapi", "exa", "tavily", "serper", "duckduckgo", "wikipedia")


class Settings(Frozen):
    """What a run may use and how far it may go. Times are in seconds, sizes in bytes."""

    # models
    #: In order: gemini, gemini:MODEL, openai, openai:MODEL, extractive. Empty: gemini, or openai
    #: where a model is named for it and no key for Gemini is set.
    llm: tuple[str, ...] = ()
    gemini_api_key: SecretStr = SecretStr("")
    gemini_model: str = "gemini-3.8-flash"
    gemini_fallback_models: tuple[str, ...] = ("gemini-3.5-flash-lite",)
    gemini_base_url: str = ""
    gemini_api_version: str = ""
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = "https://api.openai.com/v1"
    openai_model: str = ""
    prices_file: Path | None = None  # overrides the prices that the program knows
    llm_timeout: float = Field(default=60.0, gt=0)  # of one attempt at a model
    llm_retry_waits: tuple[float, ...] = (2.0, 4.0, 8.0)

    # search
    search: tuple[str, ...] = DEFAULT_PROVIDERS
    serpapi_api_key: SecretStr = SecretStr("")
    exa_api_key: SecretStr = SecretStr("")
    tavily_api_key: SecretStr = SecretStr("")
    serper_api_key: SecretStr = SecretStr("")
    serpapi_base_url: str = "https://serpapi.com"
    exa_base_url: str = "https://api.exa.ai"
    tavily_base_url: str = "https://api.tavily.com"
    serper_base_url: str = "https://google.serper.dev"
    wikipedia_base_url: str = ""  # empty: the Wikipedia of the topic's language
    searxng_url: str = ""
    search_timeout: float = Field(default=20.0, gt=0)
    since: date | None = None  # pages not older than this, where a service can tell
    allow_domains: tuple[str, ...] = ()  # pages of these only, and of their subdomains
    block_domains: tuple[str, ...] = ()
    corpus: Path | None = None  # search and read this, and nothing else

    # pages
    page_timeout: float = Field(default=15.0, gt=0)
    page_max_bytes: int = Field(default=5_000_000, gt=0)
    allow_private_network: bool = False
    fetch_through_proxy: bool = False
    respect_robots: bool = True
    user_agent: str = ""  # sent to pages and Wikipedia; empty: the program's name

    # how far to go
    strategy: Literal["slots", "report", "loop", "auto"] = "slots"
    baseline: Literal["", "closed_book", "single_search"] = ""  # replaces it in evaluations
    depth: Literal["quick", "normal", "deep"] = "normal"  # sets fields: `DEPTHS`
    offline: bool = False
    slots: tuple[str, ...] = ()
    slots_schema: dict[str, Any] | None = None  # a JSON Schema whose leaves are the slots
    max_rounds: int = Field(default=2, ge=1, le=10)  # of `slots` and `report`
    max_words: int = Field(default=80, ge=10, le=2000)
    max_steps: int = Field(default=5, ge=1, le=20)  # decisions of strategy `loop`
    pages_per_query: int = Field(default=3, ge=1, le=10)
    pages_per_step: int = Field(default=9, ge=1, le=30)  # for all queries of a step of `loop`
    double_check: bool = False  # `loop` looks at its answer once more before it returns it
    browse_with_model: bool = False  # `loop` asks a model what helps where ranking finds nothing
    evidence_tokens: int = Field(default=3000, ge=200)  # what a prompt shows of the pages
    report_tokens: int = Field(default=8000, ge=200)  # the same for the gaps and draft of a report
    max_iterations: int = Field(default=10, ge=2, le=100)  # turns of a report, all rounds
    min_credibility: float = Field(default=0.5, ge=0, le=1)  # a report reads pages above it
    patience: float = Field(default=2.0, gt=0)  # longest wait for the last third of a group
    lang: str = ""  # empty: the topic's own
    verify: Literal["unsure", "all", "rules"] = "unsure"  # which claims a model is asked to judge
    on_unsupported: Literal["drop", "flag"] = "drop"

    # caps of a run; None: no limit
    max_seconds: float | None = Field(default=None, gt=0)
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=1)

    #: Calls in a window, of all runs together: gemini=300, gemini:MODEL=60, serpapi=60; with tokens
    #: gemini=300/1000000. A provider that is not named has no limit.
    rate_limits: tuple[str, ...] = ()
    rate_window: float = Field(default=60.0, gt=0)  # length of that window

    # an earlier run
    resume: str = ""  # a run's name or journal to go on with; a new name begins a run
    replay: Path | None = None  # a journal to repeat without outside calls
    retry_failed: bool = False  # on resume, repeat the calls that failed
    request_id: str = ""  # the name of a server's request, for the journal's header

    # where files are kept; None: in the folders of `user_folder`
    runs_dir: Path | None = None
    cache_dir: Path | None = None
    cache: bool = True  # of searches and pages, across runs
    cache_url: SecretStr = SecretStr("")  # redis:// or rediss://; empty: SQLite in `cache_dir`
    cache_ttl: float = Field(default=86_400.0, ge=0, allow_inf_nan=False)  # seconds; 0: no cache
    otel_endpoint: SecretStr = SecretStr("")  # where a run's spans go; empty: nowhere

    # the HTTP server, and the MCP server over HTTP
    api_token: SecretStr = SecretStr("")  # that requests carry; required beyond loopback
    api_hosts: tuple[str, ...] = ()  # host names of the server, besides its own address
    api_max_runs: int = Field(default=8, ge=1, le=1000)  # at once
    api_max_queue: int = Field(default=64, ge=0, le=10_000)  # waiting runs; one more is refused
    api_linger: float = Field(default=0.0, ge=0)  # how long a run goes on without a client
    api_log: Literal["text", "json"] = "text"

    @field_validator("runs_dir", "cache_dir", mode="before")
    @classmethod
    def _refuse_url(cls, value: Any) -> Any:
        if "://" in str(value):
            raise ValueError("a directory is needed, not a URL (a batch may have one as its --out)")
        return value

    @model_validator(mode="before")
    @classmethod
    def _apply_depth(cls, values: Any) -> Any:
        """Take from `DEPTHS` the fields that were not given."""
        fields = dict(values)
        return {**DEPTHS.get(fields.get("depth", "normal"), {}), **fields}


#: Fields that a depth sets, for every strategy. `normal` is the defaults above.
#: The 600 seconds of `deep` are the time limit of a question in docs/evaluation.md.
DEPTHS: dict[str, dict[str, Any]] = {
    "quick": {
        "max_rounds": 1,
        "max_steps": 3,
        "pages_per_query": 2,
        "pages_per_step": 5,
        "evidence_tokens": 2000,
        "max_iterations": 3,
        "report_tokens": 3000,
        "max_words": 60,
        "verify": "rules",
        "max_tokens": 25_000,
        "max_seconds": 60.0,
    },
    "deep": {
        "max_rounds": 4,
        "max_steps": 8,
        "pages_per_query": 5,
        "pages_per_step": 18,
        "evidence_tokens": 8000,
        "max_iterations": 20,
        "report_tokens": 16_000,
        "max_words": 160,
        "double_check": True,
        "verify": "all",
        "max_tokens": 400_000,
        "max_seconds": 600.0,
    },
}

#: Fields that shape prompts and answer. A journal's header records them, so that a replay has them.
SHAPING_FIELDS = tuple(
    "strategy baseline depth slots slots_schema max_rounds max_steps max_words pages_per_query "
    "pages_per_step evidence_tokens double_check browse_with_model report_tokens max_iterations "
    "min_credibility lang verify on_unsupported".split()
)

#: The field that each environment variable sets. A list is written with commas.
ENVIRONMENT = {
    "LLM": "llm",
    "GEMINI_API_KEY": "gemini_api_key",
    "GEMINI_MODEL": "gemini_model",
    "GEMINI_FALLBACK_MODELS": "gemini_fallback_models",
    "GOOGLE_GEMINI_BASE_URL": "gemini_base_url",
    "GOOGLE_GENAI_API_VERSION": "gemini_api_version",
    "OPENAI_API_KEY": "openai_api_key",
    "OPENAI_BASE_URL": "openai_base_url",
    "OPENAI_MODEL": "openai_model",
    "PRICES_FILE": "prices_file",
    "LLM_TIMEOUT": "llm_timeout",
    "LLM_RETRY_WAITS": "llm_retry_waits",
    "SEARCH_PROVIDERS": "search",
    "SERPAPI_API_KEY": "serpapi_api_key",
    "EXA_API_KEY": "exa_api_key",
    "TAVILY_API_KEY": "tavily_api_key",
    "SERPER_KEY_ID": "serper_api_key",
    "SERPER_API_KEY": "serper_api_key",
    "SERPAPI_BASE_URL": "serpapi_base_url",
    "EXA_BASE_URL": "exa_base_url",
    "TAVILY_BASE_URL": "tavily_base_url",
    "SERPER_BASE_URL": "serper_base_url",
    "WIKIPEDIA_BASE_URL": "wikipedia_base_url",
    "SEARXNG_URL": "searxng_url",
    "SEARCH_TIMEOUT": "search_timeout",
    "DOUBLE_CHECK": "double_check",
    "BROWSE_WITH_MODEL": "browse_with_model",
    "PAGE_TIMEOUT": "page_timeout",
    "PAGE_MAX_BYTES": "page_max_bytes",
    "ALLOW_PRIVATE_NETWORK": "allow_private_network",
    "FETCH_THROUGH_PROXY": "fetch_through_proxy",
    "RESPECT_ROBOTS": "respect_robots",
    "USER_AGENT": "user_agent",
    "MAX_ITERATIONS": "max_iterations",
    "MIN_CREDIBILITY": "min_credibility",
    "REPORT_TOKENS": "report_tokens",
    "RUNS_DIR": "runs_dir",
    "CACHE_DIR": "cache_dir",
    "CACHE_URL": "cache_url",
    "CACHE_TTL": "cache_ttl",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "otel_endpoint",
    "AGENT_MAX_SECONDS": "max_seconds",
    "AGENT_MAX_USD": "max_usd",
    "AGENT_MAX_TOKENS": "max_tokens",
    "AGENT_MAX_CALLS": "max_calls",
    "RATE_LIMITS": "rate_limits",
    "RATE_WINDOW": "rate_window",
    "AGENT_API_TOKEN": "api_token",
    "API_HOSTS": "api_hosts",
    "API_MAX_RUNS": "api_max_runs",
    "API_MAX_QUEUE": "api_max_queue",
    "API_LINGER": "api_linger",
    "API_LOG": "api_log",
}


def parse_settings(environment: Mapping[str, str], **overrides: Any) -> Settings:
    """Settings from the variables of an environment; an override that is not None wins.

    Raises UsageError naming the variable or the option whose value cannot be used.
    """
    values: dict[str, Any] = {}
    for name, field in ENVIRONMENT.items():
        if text := environment.get(name, "").strip():
            values[field] = _split_list(text) if _is_list(field) else text
    values |= {field: value for field, value in overrides.items() if value is not None}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        raise UsageError(f"{_names_of(field)}: {first['msg']}", "Correct or unset it.") from None


def load_env_file(folder: Path | None = None) -> None:
    """Put the variables of `.env` into this process's environment; those that are set win.

    The file is that of `folder`, else of the working directory; where there is none, nothing
    happens. A command calls this once, a server for each request. Raises UsageError, caused by the
    error of the file, where it cannot be read.
    """
    from dotenv import load_dotenv

    try:
        load_dotenv((folder or Path.cwd()) / ".env")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f".env cannot be read: {error}", "Write it as UTF-8 text.") from error


def load_settings(**overrides: Any) -> Settings:
    """Settings from this process's environment and `.env`; an override that is not None wins.

    Raises UsageError as `load_env_file` and `parse_settings` do.
    """
    load_env_file()
    return parse_settings(os.environ, **overrides)


def user_folder(kind: Literal["data", "cache"]) -> Path:
    """The user's folder for journals (`data`) or for indexes and caches (`cache`).

    It is the default of `runs_dir` and `cache_dir`.
    """
    folders = PlatformDirs("llm-research-agent", appauthor=False)
    return folders.user_cache_path if kind == "cache" else folders.user_data_path


def _is_list(field: str) -> bool:
    return "tuple" in str(Settings.model_fields[field].annotation)


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _names_of(field: str) -> str:
    """The variables and the option that set a field, for an error message."""
    variables = [name for name, known in ENVIRONMENT.items() if known == field]
    return " or ".join([*variables, f"--{field.removeprefix('api_').replace('_', '-')}"])
