"""How long a model's replies took in the earlier runs of this machine."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from pathlib import Path
from statistics import quantiles

from agent.errors import JournalError
from agent.outside.recording import read_journal
from agent.run.header import journal_path, newest_journals
from agent.settings import Settings
from agent.state.json_data import get_path

MAX_RUNS, MAX_CALLS, FEWEST_CALLS = 10, 100, 3
TENTHS = 10


def model_seconds(settings: Settings, model: str) -> tuple[float, float, float] | None:
    """The first, the middle and the last tenth of the seconds of a model's newest replies.

    None where there are too few of them.
    """
    journals = newest_journals(journal_path(settings, "any").parent)[:MAX_RUNS]
    dated = tuple((path, path.stat().st_mtime) for path in journals if path.exists())
    seconds = _read_seconds(dated, model)
    if len(seconds) < FEWEST_CALLS:
        return None
    tenths = quantiles(seconds, n=TENTHS, method="inclusive")
    return tenths[0], tenths[TENTHS // 2 - 1], tenths[-1]


@lru_cache(maxsize=32)
def _read_seconds(dated: tuple[tuple[Path, float], ...], model: str) -> list[float]:
    return [*islice((s for path, _ in dated for s in _seconds_of(path, model)), MAX_CALLS)]


def _seconds_of(path: Path, model: str) -> list[float]:
    try:
        lines = [line for line in read_journal(path).calls.values() if line.get("call") == "ask"]
    except JournalError:
        return []
    own = [line for line in lines if get_path(line, "response", "model") == model]
    return [float(s) for line in own if isinstance(s := line.get("seconds"), (int, float))]
