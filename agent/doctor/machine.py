"""Checks of the machine: its variables, packages and clock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dotenv import load_dotenv

from agent import __version__
from agent.doctor.results import Job, Result

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # this program is younger

KEYS = "GEMINI OPENAI SERPAPI EXA TAVILY SERPER".split()
PROXIES = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY".split()
PACKAGES = (
    "google-genai google-search-results requests httpx2 trafilatura lxml pypdfium2 pydantic "
    "jsonschema"
).split()


def dotenv(folder: Path, environment: Mapping[str, str]) -> Result:
    """The `.env` of a folder, loaded into the process."""
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


def of_machine(environment: Mapping[str, str]) -> dict[str, Job]:
    """Checks that ask nobody."""
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
