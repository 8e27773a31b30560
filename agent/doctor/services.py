"""Checks of what the settings name: folders, the corpus, the cache, models, search providers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

from agent.doctor.results import Job, Result, refused
from agent.errors import AgentError
from agent.llm import Model
from agent.outside import spawn
from agent.run.models import chosen_models
from agent.settings import Settings, user_folder
from agent.sources.cache import open_cache
from agent.sources.search import Provider, build
from agent.sources.search.corpus import Corpus
from agent.state import Found

QUERY = "Wikipedia"  # every search engine knows something of it


def of_settings(settings: Settings) -> dict[str, Job]:
    """A check for each folder, model and provider that a run of these settings would use."""
    runs = settings.runs_dir or user_folder("data") / "runs"
    cache = settings.cache_dir or user_folder("cache")
    return {
        "directory of journals": lambda: _writable(runs, "RUNS_DIR"),
        "directory of caches": lambda: _writable(cache, "CACHE_DIR"),
        "corpus": lambda: _corpus(cache),
        **({"cache server": lambda: _server(settings, cache)} if settings.cache_url else {}),
        **_models(settings),
        **_searches(settings),
    }


def _writable(folder: Path, name: str) -> Result:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        remedy = f"Name another directory with {name}; runs go on without."
        return Result("warn", f"{folder} cannot be written ({error.strerror})", remedy)
    return Result("ok", str(folder))


def _corpus(cache: Path) -> Result:
    corpus = Corpus(Path(__file__).parents[1] / "demo", cache)
    hits = corpus.search("Who won the 2022 FIFA World Cup?")
    size = corpus.size
    corpus.close()
    if hits:
        return Result("ok", f"the demo corpus of {size} documents answers")
    return Result("fail", "the demo corpus does not answer", "Install the program again.")


def _server(settings: Settings, folder: Path) -> Result:
    """Whether the server of CACHE_URL can be read: asked for what nobody has put there."""
    cache = open_cache(settings.cache_url.get_secret_value(), folder, settings.cache_ttl)
    cache.search(lambda query: Found(query=query, hits=(), provider="doctor"))("doctor")
    cache.close()
    if cache.problem:
        return Result("warn", cache.problem, "Check CACHE_URL; runs go on without a cache.")
    return Result("ok", "the server answers")


def _models(settings: Settings) -> dict[str, Job]:
    """A look-up of each model that a run would ask, after one import of the SDK for all."""
    try:
        models = chosen_models(settings)
    except AgentError as error:
        fault = refused(error)
        return {"model": lambda: fault._replace(status="fail")}
    ready = spawn(lambda: _warmed(models))

    def asked(model: Model) -> Job:
        return lambda: Result("ok", ready.result() or model.probe())

    return {f"model {_called(model)}": asked(model) for model in models}


def _warmed(models: Iterable[Model]) -> None:
    """The SDK imported once for all: two threads that import it at once fail."""
    for model in models:
        model.warm()


def _called(model: Model) -> str:
    return model.name if model.name == model.provider else f"{model.provider}:{model.name}"


def _searches(settings: Settings) -> dict[str, Job]:
    """One query of each search provider, through its own class."""
    try:
        providers = build(settings).providers
    except AgentError as error:
        fault = refused(error)
        return {"search": lambda: fault}

    def asked(provider: Provider) -> Job:
        return lambda: _found(len(provider.search(QUERY)))

    return {f"search {provider.name}": asked(provider) for provider in providers}


def _found(hits: int) -> Result:
    if hits:
        return Result("ok", f"answers; hits: {hits}")
    return Result("warn", "answers, but knows nothing of Wikipedia", "Try again later.")
