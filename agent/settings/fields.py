"""Every setting with its default and its environment variable.

A variable is set by the shell, else by the user's own file, else by `.env` of the working
directory. The first two are the user's. `.env` comes with a folder and may be anybody's: `RISKS`
names what it may not set together with a key of the user.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from agent.calls import TaskKind
from agent.calls.gemini_api import GeminiAccount
from agent.calls.plugins import plugin_names
from agent.settings.services import BASE_URLS
from agent.state import Depth, Frozen, Plan

TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)
_KIND_PREFIXES = tuple(f"{kind}=" for kind in TASK_KINDS)
#: A server of `openai_servers`: its name, and where it is.
SERVER = re.compile(r"([a-z][a-z0-9_-]*)=https?://\S+")
RESERVED_NAMES = frozenset({"gemini", "openai", "anthropic", "extractive", *TASK_KINDS})
STRATEGY_NAMES = ("slots", "report", "loop")
#: What earlier runs read, as a search provider: with the documents of corpora, and without.
RUN_SOURCES = ("runs:all", "runs")
LEAST_OF_SECTION = 60  # words
DEFAULT_PROVIDERS = ("serpapi", "exa", "tavily", "serper", "google", "duckduckgo", "wikipedia")


def strategy_names() -> tuple[str, ...]:
    """The strategies that a run may have: our own, and those that other packages add."""
    return (*STRATEGY_NAMES, *plugin_names("strategies"))


def require_strategy(name: str) -> str:
    """The name, if there is such a strategy. Raises ValueError."""
    if name in STRATEGY_NAMES or name in strategy_names():
        return name
    raise ValueError(f"there is no strategy {name!r}; choose from: {', '.join(strategy_names())}")


class StrategySchema:
    """The JSON Schema of a strategy's name: a list of those that are installed."""

    def __get_pydantic_json_schema__(self, _: Any, __: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(strategy_names())}


class Effort(Frozen):
    """How much a run reads and shows a model; a depth sets it as a whole."""

    pages_per_query: int = Field(default=3, ge=1, le=10)
    pages_per_step: int = Field(default=9, ge=1, le=30)  # for all queries of a step of `loop`
    evidence_tokens: int = Field(default=3000, ge=200)  # what a prompt shows of the pages
    report_tokens: int = Field(default=8000, ge=200)  # the same where a report is checked
    max_sections: int = Field(default=6, ge=1, le=20)  # that a model plans for a report
    max_sources: int = Field(default=30, ge=1, le=200)  # pages that the sections of a report read
    double_check: bool = False  # `loop` looks at its answer once more before it returns it


class Settings(Frozen):
    """What a run may use and how far it may go. Times are in seconds, sizes in bytes."""

    # models
    #: In order: gemini, openai, anthropic, each also with :MODEL, extractive. Empty: see
    #: `named_models`.
    #: plan=, read=, write= or judge= before a model: it is asked first in tasks of this kind.
    llm: tuple[str, ...] = ()
    gemini_api_key: SecretStr = SecretStr("")
    gemini_model: str = "gemini-3.8-flash"
    gemini_fallback_models: tuple[str, ...] = ("gemini-3.5-flash-lite",)
    gemini_base_url: str = ""
    gemini_api_version: str = ""
    use_vertexai: bool = False  # Gemini as a project of Google Cloud, without a key
    google_cloud_project: str = ""
    google_cloud_location: str = Field(default="global", pattern="^[a-z0-9-]*$")  # of a host name
    anthropic_api_key: SecretStr = SecretStr("")
    anthropic_base_url: str = "https://api.anthropic.com"
    anthropic_model: str = "claude-sonnet-5-5"
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = "https://api.openai.com/v1"
    openai_model: str = ""
    openai_servers: tuple[str, ...] = ()  # name=base_url; a model of one is name:MODEL
    openai_server_keys: SecretStr = SecretStr("")  # name=key, with commas
    prices_file: Path | None = None  # overrides the prices that the program knows
    #: How much models think. auto: little to plan and to judge, much for `deep`, else as they do.
    thinking: Literal["auto", "off", "low", "medium", "high"] = "auto"
    llm_timeout: float = Field(default=60.0, gt=0)  # of one attempt at a model
    llm_retry_waits: tuple[float, ...] = (2.0, 4.0, 8.0)

    # search
    search: tuple[str, ...] = DEFAULT_PROVIDERS
    base_urls: dict[str, str] = {}  # of services, where not those of `BASE_URLS`
    keys: dict[str, SecretStr] = {}  # of search services: `KEY_VARIABLES`
    scholar_contact: str = ""  # an e-mail address, which these services ask for
    search_timeout: float = Field(default=20.0, gt=0)
    since: date | None = None  # pages not older than this, where a service has dates
    allow_domains: tuple[str, ...] = ()  # pages of these only, and of their subdomains
    block_domains: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()  # MCP servers to search: addresses and commands
    mcp_servers: Path | None = None  # a file of more of them: `agent/settings/mcp_servers.py`
    corpus: Path | None = None  # search and read this, and nothing else

    # pages
    page_timeout: float = Field(default=15.0, gt=0)
    page_max_bytes: int = Field(default=5_000_000, gt=0)
    allow_private_network: bool = False
    fetch_through_proxy: bool = False
    respect_robots: bool = True
    #: Whether an installed Chromium renders pages: those that show nothing without scripts, all.
    page_browser: Literal["auto", "always", "never"] = "auto"
    page_browser_path: Path | None = None  # None: the first that is found
    archive: bool = False  # archived copies replace pages that cannot be read
    user_agent: str = ""  # sent to pages and Wikipedia; empty: the program's name

    # how far to go
    strategy: Annotated[str, AfterValidator(require_strategy), StrategySchema()] = "slots"
    depth: Depth = "normal"  # sets fields: `DEPTHS`; None given: that of the plan
    offline: bool = False
    slots: tuple[str, ...] = ()
    slots_schema: dict[str, Any] | None = None  # a JSON Schema whose leaves are the slots
    plan: Plan | None = None  # of a report, as the user wants it; None: a model makes one
    effort: Effort = Effort()
    max_rounds: int = Field(default=2, ge=1, le=10)  # of `slots` and `report`
    max_words: int = Field(default=80, ge=10, le=10_000)
    report_words: int = Field(default=1200, ge=10, le=10_000)  # of a report; `max_words` if given
    max_citations: int | None = Field(default=None, ge=1, le=20)  # of a sentence of a report
    reader: str = Field(default="", max_length=300)  # audience and tone of the text
    max_steps: int = Field(default=5, ge=1, le=20)  # decisions of strategy `loop`
    max_iterations: int = Field(default=10, ge=1, le=100)  # turns of a report, all rounds
    credibility: Literal["host", "source-design"] = "host"  # by what a report blocks pages
    #: A report reads pages above it. None: 0.2 of a host's score, 0.5 of the source design's.
    min_credibility: float | None = Field(default=None, ge=0, le=1)
    patience: float = Field(default=2.0, gt=0)  # longest wait for the last third of a group
    lang: str = ""  # empty: the topic's own
    verify: Literal["model", "rules"] = "model"  # who judges the claims that rules cannot prove
    #: Claims that a call judges; None: 8 for Gemini and OpenAI, 1 for a model of unknown strength.
    verify_batch: int | None = Field(default=None, ge=1, le=50)
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

    # where files are kept; None: in the folders of `user_folder`
    runs_dir: Path | None = None
    cache_dir: Path | None = None
    cache: bool = True  # of searches and pages, across runs
    cache_ttl: float = Field(default=86_400.0, ge=0, allow_inf_nan=False)  # seconds; 0: no cache

    # who is notified of the end of a run, and of what a watch finds
    webhook_secret: SecretStr = SecretStr("")  # signs what a webhook gets; whsec_... is base64

    # the HTTP server, and the MCP server over HTTP
    api_token: SecretStr = SecretStr("")  # that requests carry; required beyond loopback
    api_hosts: tuple[str, ...] = ()  # host names of the server, besides its own address
    api_max_runs: int = Field(default=8, ge=1, le=1000)  # at once
    api_max_queue: int = Field(default=64, ge=0, le=10_000)  # waiting runs; one more is refused
    api_documents: bool = False  # users may send files
    api_log: Literal["text", "json"] = "text"

    trust_env: bool = False  # `.env` may set what `RISKS` names, with a key of the user too

    @field_validator("openai_servers")
    @classmethod
    def _check_servers(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            name = SERVER.fullmatch(server)
            if not name or name[1] in RESERVED_NAMES:
                raise ValueError(f"{server!r} is not name=http://..., with a name of its own")
        return servers

    @model_validator(mode="before")
    @classmethod
    def _apply_depth(cls, values: Any) -> Any:
        """Take from `DEPTHS` the fields that were not given; the plan has the depth without one."""
        fields = dict(values)
        if plan := fields.get("plan"):
            depth = plan.depth if isinstance(plan, Plan) else Plan.model_validate(plan).depth
            fields.setdefault("depth", depth)
        if "max_words" in fields:
            fields.setdefault("report_words", fields["max_words"])
        return {**DEPTHS.get(fields.get("depth", "normal"), {}), **fields}

    @property
    def most_sections(self) -> int:
        """How many sections a model plans for a topic that names no parts."""
        return min(self.effort.max_sections, self.most_parts)

    @property
    def most_parts(self) -> int:
        """How many sections a report may have: so few that each has words to say something."""
        return max(1, self.report_words // LEAST_OF_SECTION)

    @property
    def named_models(self) -> tuple[str, ...]:
        """The models of `llm` for every task, else the first provider that is set up, or Gemini."""
        named = tuple(name for name in self.llm if not name.startswith(_KIND_PREFIXES))
        return named or self.ready_providers[:1] or ("gemini",)

    @property
    def ready_providers(self) -> tuple[str, ...]:
        """The providers of models that are set up, in the order in which one is the default."""
        has_server = self.openai_model or self.has_own_server
        ready = {
            "gemini": self.gemini_account.is_usable,
            "openai": self.openai_api_key.get_secret_value() or has_server,
            "anthropic": self.anthropic_api_key.get_secret_value(),
        }
        return tuple(name for name, is_set in ready.items() if is_set)

    @property
    def has_own_server(self) -> bool:
        """Whether `openai` is another server than OpenAI's."""
        return bool(self.openai_base_url != Settings.model_fields["openai_base_url"].default)

    def models_for(self, kind: TaskKind) -> tuple[str, ...]:
        """The models for a kind of task: its own, then the general ones."""
        prefix = f"{kind}="
        own = (name.removeprefix(prefix) for name in self.llm if name.startswith(prefix))
        return tuple(dict.fromkeys((*own, *self.named_models)))

    def base_url(self, service: str) -> str:
        """Where a service of `BASE_URLS` is; "" where that depends."""
        return self.base_urls.get(service, BASE_URLS[service])

    def key(self, service: str) -> str:
        """The key of a service; "" where none is set."""
        return self.keys[service].get_secret_value() if service in self.keys else ""

    @property
    def servers(self) -> dict[str, tuple[str, str]]:
        """The base URL and the key of each server of `openai_servers`, by its name."""
        entries = split_list(self.openai_server_keys.get_secret_value())
        keys = {
            name.strip(): key.strip() for name, _, key in (row.partition("=") for row in entries)
        }
        rows = (server.partition("=") for server in self.openai_servers)
        return {name: (url, keys.get(name, "")) for name, _, url in rows}

    @property
    def run_source(self) -> str:
        """Which of `RUN_SOURCES` is among the search providers; "" for neither."""
        named = [name.lower() for name in self.search]
        return next((name for name in RUN_SOURCES if name in named), "")

    @property
    def gemini_account(self) -> GeminiAccount:
        """How Gemini is reached, as a model and as a search provider."""
        return GeminiAccount(
            self.gemini_api_key.get_secret_value(),
            self.gemini_base_url,
            self.gemini_api_version,
            self.google_cloud_project if self.use_vertexai else "",
            self.google_cloud_location,
        )

    @property
    def read_timeout(self) -> float:
        """Seconds in which a page is read: by itself, by a browser, and by its fallback."""
        readers = 1 + (self.page_browser != "never") + self.archive
        return self.page_timeout * readers + 1

    @property
    def claims_per_call(self) -> int:
        """How many claims a call judges: `verify_batch`, or its default for the first judge."""
        if self.verify_batch:
            return self.verify_batch
        provider = self.models_for("judge")[0].partition(":")[0]
        is_own = provider == "openai" and self.has_own_server
        return 1 if provider in self.servers or is_own else 8


#: What `quick` and `deep` set, for every strategy. `normal` is the defaults above.
_EFFORTS: dict[str, tuple[Any, Any]] = {
    "pages_per_query": (2, 5),
    "pages_per_step": (5, 18),
    "evidence_tokens": (2000, 8000),
    "report_tokens": (3000, 16_000),
    "max_sections": (3, 10),
    "max_sources": (12, 60),
    "double_check": (False, True),
}
_DEPTH_VALUES: dict[str, tuple[Any, ...]] = {
    "effort": tuple(Effort(**{k: row[n] for k, row in _EFFORTS.items()}) for n in (0, 1)),
    "max_rounds": (1, 4),
    "max_steps": (3, 8),
    "max_iterations": (None, 20),
    "report_words": (500, 6000),
    "max_words": (60, 160),
    "max_tokens": (60_000, 400_000),
    "max_seconds": (60.0, 600.0),
}
DEPTHS: dict[str, dict[str, Any]] = {
    depth: {field: row[n] for field, row in _DEPTH_VALUES.items() if row[n] is not None}
    for n, depth in enumerate(("quick", "deep"))
}

#: Fields that shape prompts and answer. A journal's header records them, so that a replay has them.
SHAPING_FIELDS = frozenset(
    "strategy depth effort slots slots_schema max_rounds max_steps max_words "
    "max_iterations credibility min_credibility lang verify verify_batch on_unsupported "
    "archive plan report_words max_citations reader".split()
)


def split_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
