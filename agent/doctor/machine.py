"""Checks of the machine, without network: variables, packages and clock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from agent import __version__
from agent.doctor.results import Job, Result
from agent.documents.pdf.ocr import find_tesseract
from agent.documents.registry import FORMATS, REMEDY, Format
from agent.settings import synonyms
from agent.state.clock import format_utc

MAX_SUFFIXES = 8  # of a format that are named
EARLIEST_DATE = datetime(2026, 1, 1, tzinfo=UTC)  # before this program was written

KEYS = [f"{name}_API_KEY" for name in "GEMINI ANTHROPIC OPENAI SERPAPI EXA TAVILY SERPER".split()]
PROXIES = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY".split()
PACKAGES = (
    "google-genai google-search-results requests httpx2 trafilatura lxml pypdfium2 pydantic "
    "jsonschema"
).split()


def machine_checks(environment: Mapping[str, str]) -> dict[str, Job]:
    """The checks of the interpreter, packages, clock, proxies, gateways, formats and keys."""
    names = sorted(name for name, value in environment.items() if value)
    proxies = [name for name in names if name.upper() in PROXIES]
    gateways = [name for name in names if name.endswith("_BASE_URL")]
    return {
        "python": lambda: Result("ok", f"{sys.version.split()[0]} on {sys.platform}"),
        "packages": _check_packages,
        "clock": lambda: check_clock(datetime.now(UTC)),
        "proxies": lambda: Result("ok", ", ".join(proxies) or "none set"),
        "gateways": lambda: Result("ok", ", ".join(gateways) or "none set"),
        **{f"format {one.name}": partial(_check_format, one) for one in FORMATS},
        "format scanned PDF": _check_ocr,
        **{f"key {name}": partial(_check_key, name, environment) for name in KEYS},
    }


def _check_format(one: Format) -> Result:
    """Whether documents of a format can be read, and what is missing."""
    suffixes = ", ".join(one.suffixes[:MAX_SUFFIXES])
    if len(one.suffixes) > MAX_SUFFIXES:
        suffixes += f" and {len(one.suffixes) - MAX_SUFFIXES} more"
    if not one.reader:
        return Result("warn", f"{suffixes}: cannot be read", f"{REMEDY.capitalize()}.")
    if missing := one.missing():
        remedy = f"pip install {' '.join(missing)}"
        return Result("fail", f"{suffixes}: not installed: {', '.join(missing)}", remedy)
    return Result("ok", f"{suffixes}: read")


def _check_ocr() -> Result:
    """Whether pages that are images can be read."""
    tesseract = find_tesseract()
    if tesseract is None:
        return Result("warn", "tesseract is not installed", "apt-get install tesseract-ocr")
    return Result("ok", f"read by tesseract, languages: {', '.join(tesseract.languages)}")


def _check_key(name: str, environment: Mapping[str, str]) -> Result:
    """Whether a key is set, and has only characters that keys have. The key is not shown."""
    values = [environment.get(one, "").strip() for one in synonyms(name)]
    key = next(filter(None, reversed(values)), "")
    if not key.isascii() or any(char in key for char in " \t\r\n\"'"):
        remedy = "Write it without quotes, blanks and comments."
        return Result("warn", "set, but with characters that no key has", remedy)
    return Result("ok", "set" if key else "not set")


def _check_packages() -> Result:
    installed, missing = [f"agent {__version__}"], []
    for name in PACKAGES:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        remedy = "pip install -r requirements.txt"
        return Result("fail", f"not installed: {', '.join(missing)}", remedy)
    return Result("ok", ", ".join(installed))


def check_clock(now: datetime) -> Result:
    """Whether the clock is plausible: TLS certificates are refused if it is far off."""
    if EARLIEST_DATE <= now < EARLIEST_DATE.replace(year=EARLIEST_DATE.year + 50):
        return Result("ok", format_utc(now))
    return Result("fail", f"it says {now:%Y-%m-%d}", "Set the date: certificates depend on it.")
