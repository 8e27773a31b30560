"""Checks of what the settings name: directories, the cache server, models and search providers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from agent.calls import Task, spawn
from agent.cli.diagnosis.results import Job, Result, make_error_result
from agent.errors import AgentError, ModelFailed
from agent.evidence import estimate_tokens
from agent.llm import Generation, Model, model_label
from agent.llm.model import RAISE_CONTEXT
from agent.llm.replies import parse_reply
from agent.pages.browser import REMEDY, find_browser
from agent.run.models import make_models
from agent.search.mcp.source import open_servers
from agent.search.provider_chain import Provider
from agent.search.providers import build_search_chain
from agent.settings import Settings, user_folder
from agent.state import Frozen

AROUND_EVIDENCE = 1500  # tokens of a prompt and its reply, about
PROBE_QUERY = "Wikipedia"  # every search engine has hits for it


def service_checks(settings: Settings) -> dict[str, Job]:
    """A check of each directory, model and search provider that a run with these settings uses."""
    runs = settings.runs_dir or user_folder("data") / "runs"
    cache = settings.cache_dir or user_folder("cache")
    jobs: dict[str, Job] = {
        "directory of journals": lambda: _check_writable(runs, "RUNS_DIR"),
        "directory of caches": lambda: _check_writable(cache, "CACHE_DIR"),
        "browser": lambda: _check_browser(settings.page_browser_path),
    }
    return {**jobs, **_model_checks(settings), **_search_checks(settings)}


def _check_writable(folder: Path, variable: str) -> Result:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        remedy = f"Name another directory with {variable}; runs continue without it."
        return Result("warn", f"{folder} cannot be written ({error.strerror})", remedy)
    return Result("ok", str(folder))


def _check_browser(named: Path | None) -> Result:
    """Whether a browser can show the pages that only a script fills."""
    if program := find_browser(named):
        return Result("ok", f"{program} shows pages that need scripts")
    return Result("warn", "none is installed: pages that need scripts are not read", REMEDY)


def _model_checks(settings: Settings) -> dict[str, Job]:
    """A small question to the model that is asked first, a look-up of each other one."""
    try:
        models = make_models(settings)
    except AgentError as error:
        result = make_error_result(error)._replace(status="fail")
        return {"model": lambda: result}
    warm_up = spawn(lambda: _warm_models(models))

    def check(model: Model) -> Result:
        warm_up.result()
        tried = f"{_try(model)}; " if model is models[0] and model.provider != "extractive" else ""
        try:
            found = f"{tried}{model.probe()}"
        except ModelFailed as error:
            if not tried or error.outcome != "not_found":
                raise
            found = f"{tried}the server lists no models"
        window = re.search(r"window: ([\d,]+)", found)
        needed = settings.effort.evidence_tokens + AROUND_EVIDENCE
        if window and int(window[1].replace(",", "")) < needed:
            remedy = f"A prompt may have {needed:,} tokens: {RAISE_CONTEXT}"
            return Result("warn", found, remedy)
        return Result("ok", f"{found}; {_describe_price(model)}")

    return {f"model {model_label(model)}": partial(check, model) for model in models}


class _Capital(Frozen):
    capital: str


class _Try(Task[_Capital]):
    name = "try"

    def system_prompt(self) -> str:
        return "You answer as JSON."

    def prompt(self) -> str:
        return f"What is the capital of {self.topic}?"


def _try(model: Model) -> str:
    """What a small structured call shows of a model. Raises ModelFailed."""
    began = time.monotonic()
    reply = model.generate(_Try(topic="France", max_reply_tokens=500), "")
    parse_reply(reply, _Try(topic="France"))
    written, needed = reply.output_tokens, estimate_tokens(reply.text)
    thinks = f", it thinks ({written} tokens for {needed})" if written > 4 * needed + 20 else ""
    asked = f", asked by {reply.form}" if reply.form else ""
    return f"answered in {time.monotonic() - began:.1f} s{asked}{thinks}"


def _describe_price(model: Model) -> str:
    """What a million tokens in and out cost."""
    if model.provider == "extractive":
        return "it costs nothing"
    million = Generation(text="", input_tokens=1_000_000)
    whole = million.model_copy(update={"output_tokens": 1_000_000})
    read, both = model.cost_usd(million), model.cost_usd(whole)
    if read is None or both is None:
        return "its price is unknown; RESEARCH_AGENT_PRICES_FILE can set it"
    return f"${read:g} for a million tokens in, ${both - read:g} out"


def _warm_models(models: Iterable[Model]) -> None:
    """Import the SDK in one thread: it fails if two threads import it at once."""
    for model in models:
        model.warm()


def _search_checks(settings: Settings) -> dict[str, Job]:
    """One small query to each search provider of the settings, unless it would cost money."""
    try:
        own = {server.name: server for server in open_servers(settings)}
        providers = build_search_chain(settings, own=own).providers
    except AgentError as error:
        result = make_error_result(error)
        return {"search": lambda: result}
    return {f"search {provider.name}": partial(_check_search, provider) for provider in providers}


def _check_search(provider: Provider) -> Result:
    if probe := getattr(provider, "probe", None):  # what costs money is looked up
        return Result("ok", probe())
    if hits := len(provider.search(PROBE_QUERY)):
        return Result("ok", f"answers; hits: {hits}")
    return Result("warn", "answers, but finds nothing about Wikipedia", "Try again later.")
