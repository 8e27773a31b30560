"""What is set, what answers, and what to fix. No key is shown, not even partly.

Every check is a row: ok, warn (it can do without) or fail. Checks run side by side; what has not
answered by the deadline is told as such, and nothing that hangs holds the others.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from agent import __version__
from agent.errors import AgentError, OutsideError, UsageError
from agent.shell import ended, shown

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.llm import Model
    from agent.search import Provider
    from agent.settings import Settings

DEADLINE = 10.0  # seconds for all checks
SHORT = 7.0  # seconds for one service: it is told as slow by its own name before the deadline
QUERY = "Wikipedia"  # every search engine knows something of it
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # this program is younger
PIECE = 4  # characters of a key that no word shown may contain: services echo the last four
RUN = 8  # of these in a row, in either case, no name may contain

KEYS = "GEMINI OPENAI SERPAPI EXA TAVILY SERPER".split()
PROXIES = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY".split()
PACKAGES = (
    "google-genai google-search-results requests httpx2 trafilatura lxml pypdfium2 pydantic "
    "jsonschema"
).split()

Status = Literal["ok", "warn", "fail"]


class Result(NamedTuple):
    """What a check found, and what to do about it."""

    status: Status
    detail: str
    remedy: str = ""


class Check(NamedTuple):
    """A row of the report. `seconds` is how long the check took."""

    name: str
    status: Status
    detail: str
    remedy: str
    seconds: float


Job = Callable[[], Result]

EXAMPLES = """\b
Examples:
  python -m agent.doctor
  python -m agent.doctor --json | jq .
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@click.version_option(__version__, prog_name="agent.doctor")
def command(as_json: bool) -> int:
    """Say what is set, what answers and what to fix, within ten seconds.

    Each search provider that has its key is asked one small query; models are looked up, which
    costs nothing. Exit status: 0 a question could be researched, 1 it could not.
    """
    with redirect_stdout(sys.stderr):  # whatever a library prints is not the report
        checks = examine(os.environ, Path.cwd())
    missing = unmet(checks)
    text = _as_json(checks, missing) if as_json else _as_table(checks, missing)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 1 if missing else 0


def examine(
    environment: Mapping[str, str], folder: Path, deadline: float = DEADLINE
) -> list[Check]:
    """All checks, in a fixed order. The `.env` of the folder is loaded into the process first."""
    until = time.monotonic() + deadline
    file = _dotenv(folder, environment)
    jobs: dict[str, Job] = {".env": lambda: file, **_of_machine(environment)}
    try:
        from agent.settings import load

        settings = load(environment, llm_timeout=SHORT, search_timeout=SHORT)
    except UsageError as error:
        fault = _refused(error)
        jobs["settings"] = lambda: fault
    else:
        jobs |= _of_settings(settings)
    return hidden(_ran(jobs, until), secrets(environment))


def unmet(checks: Sequence[Check]) -> list[str]:
    """What the main job lacks; empty where a question could be researched now."""
    usable = {check.name.split()[0] for check in checks if check.status == "ok"}
    needed = [kind for kind in ("model", "search") if kind not in usable]
    broken = [c.name for c in checks if c.status == "fail" and c.name in (".env", "settings")]
    return broken + needed


# --- running -----------------------------------------------------------------------------------


def _ran(jobs: Mapping[str, Job], until: float) -> list[Check]:
    """Every job on a thread of its own; what is not done in time is abandoned."""
    from agent.outside import spawn

    began = time.monotonic()
    futures = {name: spawn(_timed(job)) for name, job in jobs.items()}
    wait(futures.values(), timeout=max(0.0, until - began))
    passed = round(time.monotonic() - began, 3)
    return [_row(name, future, passed) for name, future in futures.items()]


def _timed(job: Job) -> Callable[[], tuple[Result, float]]:
    def run() -> tuple[Result, float]:
        began = time.monotonic()
        try:
            result = job()
        except AgentError as error:
            result = _refused(error)
        return result, round(time.monotonic() - began, 3)

    return run


def _row(name: str, future: Future[tuple[Result, float]], passed: float) -> Check:
    if not future.done():
        remedy = "Check the network and the proxy settings; try again."
        return Check(name, "fail", f"no answer within {passed:.1f} s", remedy, passed)
    if error := future.exception():  # its text may hold anything: a key too
        fault = f"an unexpected {type(error).__name__}"
        return Check(name, "fail", fault, "This is a bug: please report it.", passed)
    result, seconds = future.result()
    return Check(name, *result, seconds)


def _refused(error: AgentError) -> Result:
    """A refusal in words; where a key is refused, in ours: services echo parts of it."""
    outcome = error.outcome if isinstance(error, OutsideError) else ""
    if outcome == "bad_key":
        return Result("fail", "the key is refused", error.remedy)
    return Result("warn" if outcome == "no_key" else "fail", error.message, error.remedy)


# --- what is checked: the machine --------------------------------------------------------------


def _dotenv(folder: Path, environment: Mapping[str, str]) -> Result:
    from dotenv import load_dotenv

    file = folder / ".env"
    if not file.exists():
        told = "none in this directory; the shell's variables count"
        if any(environment.get(f"{name}_API_KEY") for name in KEYS):
            return Result("ok", told)
        return Result("warn", told, "Copy .env.example to .env and fill in your keys.")
    try:
        load_dotenv(file)
    except (OSError, UnicodeDecodeError) as error:
        return Result("fail", f"it cannot be read ({type(error).__name__})", "Write it as UTF-8.")
    return Result("ok", "found")


def _of_machine(environment: Mapping[str, str]) -> dict[str, Job]:
    keys = {f"{name}_API_KEY": environment.get(f"{name}_API_KEY", "") for name in KEYS}
    keys["SERPER_API_KEY"] = keys["SERPER_API_KEY"] or environment.get("SERPER_KEY_ID", "")
    names = sorted(name for name, value in environment.items() if value)
    proxies = [name for name in names if name.upper() in PROXIES]
    gateways = [name for name in names if name.endswith("_BASE_URL")]
    return {
        "python": lambda: Result("ok", f"{sys.version.split()[0]} on {sys.platform}"),
        "packages": _packages,
        "clock": lambda: clock(datetime.now(UTC)),
        "proxies": lambda: Result("ok", ", ".join(proxies) or "none set"),
        "gateways": lambda: Result("ok", ", ".join(gateways) or "none set"),
        **{f"key {name}": _key(value) for name, value in keys.items()},
    }


def _key(value: str) -> Job:
    """Whether a key is set, and whether it can be one."""
    odd = not value.strip().isascii() or any(mark in value.strip() for mark in " \t\r\n\"'")
    if odd:
        remedy = "Write it without quotes, blanks and comments."
        return lambda: Result("warn", "set, but with characters that no key has", remedy)
    return lambda: Result("ok", "set" if value.strip() else "not set")


def _packages() -> Result:
    from importlib.metadata import PackageNotFoundError, version

    found, absent = [f"agent {__version__}"], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            absent.append(name)
    if absent:
        remedy = "pip install -r requirements.txt"
        return Result("fail", f"not installed: {', '.join(absent)}", remedy)
    return Result("ok", ", ".join(found))


def clock(now: datetime) -> Result:
    """Whether a time can be the present: services refuse certificates when it is far off."""
    if EARLIEST <= now < EARLIEST.replace(year=EARLIEST.year + 50):
        return Result("ok", now.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return Result("fail", f"it says {now:%Y-%m-%d}", "Set the date: certificates depend on it.")


# --- what is checked: what the settings name ---------------------------------------------------


def _of_settings(settings: Settings) -> dict[str, Job]:
    from agent.ways import user_folder

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
    from tempfile import TemporaryFile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        remedy = f"Name another directory with {name}; runs go on without."
        return Result("warn", f"{folder} cannot be written ({error.strerror})", remedy)
    return Result("ok", str(folder))


def _corpus(cache: Path) -> Result:
    from agent.search.corpus import Corpus

    corpus = Corpus(Path(__file__).parent / "demo", cache)
    hits = corpus.search("Who won the 2022 FIFA World Cup?")
    size = corpus.size
    corpus.close()
    if hits:
        return Result("ok", f"the demo corpus of {size} documents answers")
    return Result("fail", "the demo corpus does not answer", "Install the program again.")


def _server(settings: Settings, folder: Path) -> Result:
    """Whether the server of CACHE_URL can be read: asked for what nobody has put there."""
    from agent.cache import open_cache
    from agent.research import Found

    cache = open_cache(settings.cache_url.get_secret_value(), folder, settings.cache_ttl)
    cache.search(lambda query: Found(query=query, hits=(), provider="doctor"))("doctor")
    cache.close()
    if cache.problem:
        return Result("warn", cache.problem, "Check CACHE_URL; runs go on without a cache.")
    return Result("ok", "the server answers")


def _models(settings: Settings) -> dict[str, Job]:
    """A look-up of each model that a run would ask, after one import of the SDK for all."""
    from agent.models import chosen_models
    from agent.outside import spawn

    try:
        models = chosen_models(settings)
    except AgentError as error:
        fault = _refused(error)
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
    from agent.search import build

    try:
        providers = build(settings).providers
    except AgentError as error:
        fault = _refused(error)
        return {"search": lambda: fault}

    def asked(provider: Provider) -> Job:
        return lambda: _found(len(provider.search(QUERY)))

    return {f"search {provider.name}": asked(provider) for provider in providers}


def _found(hits: int) -> Result:
    if hits:
        return Result("ok", f"answers; hits: {hits}")
    return Result("warn", "answers, but knows nothing of Wikipedia", "Try again later.")


# --- what is shown -----------------------------------------------------------------------------


def secrets(environment: Mapping[str, str]) -> list[str]:
    """Whatever in the environment nobody may see: keys, and passwords in addresses."""
    ending = ("KEY", "KEY_ID", "TOKEN", "SECRET", "PASSWORD")
    found = [value for name, value in environment.items() if name.upper().endswith(ending)]
    for value in environment.values():
        found += re.findall(r"://[^/@\s]*:([^/@\s]+)@", value)
    return [value.strip() for value in found if len(value.strip()) >= PIECE]


def hidden(checks: Iterable[Check], keys: Sequence[str]) -> list[Check]:
    """The rows without any word that shares PIECE characters in a row with a key.

    Of names, which a user chooses, only what holds RUN of them in either case: a model may well be
    called like a part of a key.
    """
    short = {key[i : i + PIECE] for key in keys for i in range(len(key) - PIECE + 1)}
    folded = [key.casefold() for key in keys]
    long = {key[i : i + RUN] for key in folded for i in range(max(1, len(key) - RUN + 1))}

    def clean(text: str, pieces: Iterable[str] = ()) -> str:
        return " ".join(
            "[hidden]"
            if any(piece in word for piece in pieces) or any(run in word.casefold() for run in long)
            else word
            for word in text.split(" ")
        )

    return [
        check._replace(
            name=clean(check.name),
            detail=clean(check.detail, short),
            remedy=clean(check.remedy, short),
        )
        for check in checks
    ]


def _as_json(checks: Sequence[Check], missing: Sequence[str]) -> str:
    import json

    rows = [check._asdict() for check in checks]
    return json.dumps({"ok": not missing, "checks": rows}, ensure_ascii=False, indent=2) + "\n"


def _as_table(checks: Sequence[Check], missing: Sequence[str]) -> str:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.status:4}  {check.name:{width}}  {check.detail}")
        if check.remedy:
            lines.append(f"{'':4}  {'':{width}}  -> {check.remedy}")
    offline = any(check.name == "corpus" and check.status == "ok" for check in checks)
    lacking = f"Not ready, for want of: {', '.join(missing)}." if missing else "Ready."
    if missing and offline:
        lacking += " With --offline it works all the same."
    return "\n".join([*lines, lacking, ""])


def main() -> None:
    """The command."""
    ended(command, shown)


if __name__ == "__main__":
    main()
