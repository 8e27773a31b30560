"""Checks of what the settings name: directories, the cache server, models and search providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryFile

from agent.cli.diagnosis.results import Job, Result, Status, make_error_result
from agent.errors import AgentError
from agent.llm import Generation, Model, model_label
from agent.outside import spawn
from agent.pages.browser import REMEDY, find_browser
from agent.run.models import make_models
from agent.run.sources import DEMO
from agent.search import Provider, build_search_chain
from agent.search.corpus import Corpus
from agent.search.mcp.source import open_servers
from agent.settings import Settings, user_folder
from agent.state.sanitizing import sanitize_line

PROBE_QUERY = "Wikipedia"  # every search engine has hits for it


def service_checks(settings: Settings) -> dict[str, Job]:
    """A check of each directory, model and search provider that a run with these settings uses."""
    runs = settings.runs_dir or user_folder("data") / "runs"
    cache = settings.cache_dir or user_folder("cache")
    jobs: dict[str, Job] = {
        "directory of journals": lambda: _check_writable(runs, "RUNS_DIR"),
        "directory of caches": lambda: _check_writable(cache, "CACHE_DIR"),
        "corpus": lambda: _check_demo_corpus(cache),
        "browser": lambda: _check_browser(settings.page_browser_path),
    }
    if settings.corpus:
        jobs["documents"] = partial(check_corpus, settings.corpus, cache)
    return {**jobs, **_model_checks(settings), **_search_checks(settings)}


def _check_writable(folder: Path, variable: str) -> Result:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        remedy = f"Name another directory with {variable}; runs go on without."
        return Result("warn", f"{folder} cannot be written ({error.strerror})", remedy)
    return Result("ok", str(folder))


def _check_browser(named: Path | None) -> Result:
    """Whether a browser can show the pages that only a script fills."""
    if program := find_browser(named):
        return Result("ok", f"{program} shows pages that need scripts")
    return Result("warn", "none is installed: pages that need scripts are not read", REMEDY)


def _check_demo_corpus(cache: Path) -> Result:
    corpus = Corpus(DEMO, cache)
    hits = corpus.search("Who won the 2022 FIFA World Cup?")
    size = corpus.size
    corpus.close()
    if hits:
        return Result("ok", f"the demo corpus of {size} documents answers")
    return Result("fail", "the demo corpus does not answer", "Install the program again.")


def _model_checks(settings: Settings) -> dict[str, Job]:
    """A look-up of each model of the settings, which costs nothing."""
    try:
        models = make_models(settings)
    except AgentError as error:
        result = make_error_result(error)._replace(status="fail")
        return {"model": lambda: result}
    warm_up = spawn(lambda: _warm_models(models))

    def probe(model: Model) -> Result:
        warm_up.result()
        return Result("ok", f"{model.probe()}; {_describe_price(model)}")

    return {f"model {model_label(model)}": partial(probe, model) for model in models}


def _describe_price(model: Model) -> str:
    """What a million tokens in and out cost."""
    if model.provider == "extractive":
        return "it costs nothing"
    million = Generation(text="", input_tokens=1_000_000)
    whole = million.model_copy(update={"output_tokens": 1_000_000})
    read, both = model.cost_usd(million), model.cost_usd(whole)
    if read is None or both is None:
        return "its price is not known: RESEARCH_AGENT_PRICES_FILE can tell it"
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
    return Result("warn", "answers, but knows nothing of Wikipedia", "Try again later.")


# --- a corpus ------------------------------------------------------------------------------------


PATIENCE = 6.0  # seconds for files that are not in the index yet: the doctor has ten
MAX_KINDS = 10  # reasons, and suffixes
MAX_EXAMPLES = 3  # files that are named for each reason
MAX_NAME = 200  # characters


def check_corpus(path: Path, cache: Path) -> Result:
    """What of a corpus is found by a search. Raises UsageError where nothing is.

    Files are read meanwhile; those for which there is no time are read by the next run.
    """
    corpus = Corpus(path, cache, patience=PATIENCE)
    try:
        left_out = [*_describe_skipped(corpus), *_describe_unknown(corpus.unknown_files)]
        detail = "; ".join([corpus.progress.rstrip(".") or f"{corpus.size:,} documents", *left_out])
        remedy = "Ask, or run this again: reading goes on where it ended."
        status: Status = "warn" if corpus.progress or left_out else "ok"
        return Result(status, detail, remedy if corpus.progress else "")
    finally:
        corpus.close()


def _describe_skipped(corpus: Corpus) -> list[str]:
    """The files that cannot be read in whole, by their reasons."""
    reasons = list(corpus.files_by_fault().items())
    lines = [f"{fault}: {_list_names(names)}" for fault, names in reasons[:MAX_KINDS]]
    if rest := sum(len(names) for _, names in reasons[MAX_KINDS:]):
        lines.append(f"files that cannot be read for other reasons: {rest:,}")
    return lines


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(sanitize_line(name, MAX_NAME) for name in names[:MAX_EXAMPLES])
    return f"{len(names):,} ({shown}{', ...' if len(names) > MAX_EXAMPLES else ''})"


def _describe_unknown(files: Sequence[str]) -> list[str]:
    """The files that are no documents, by their suffixes."""
    if not files:
        return []
    suffixes = Counter(PurePath(name).suffix.lower() or "without suffix" for name in files)
    kinds = [
        f"{sanitize_line(suffix, MAX_NAME)}: {count:,}"
        for suffix, count in suffixes.most_common(MAX_KINDS)
    ]
    more = ", ..." if len(suffixes) > MAX_KINDS else ""
    return [f"files of other types: {len(files):,} ({', '.join(kinds)}{more})"]
