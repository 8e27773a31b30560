"""A watch with a history, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.run.watches import WatchFiles, WatchState
from tests.support.web import configure_from

NAME = "0123456789abcdef"
SAID = "A crossing costs 52 crowns from today."
URL = "https://harbourcourier.example/fares"
FARES = (("46", "2026-06-02"), ("48", "2026-08-20"), ("52", "2026-10-01"))
LINES = (("Norled", "2026-06-02"), ("Boreal", "2026-09-12"))


def write_watch(runs: Path, **changed: Any) -> str:
    """Write the file of a watch beside the runs of a folder; returns its name."""
    history = {
        "fare": [known(fare, day, SAID.replace("52", fare)) for fare, day in FARES],
        "operator": [known(line, day, f"{line} sails the line.") for line, day in LINES],
    }
    state = {
        "id": NAME,
        "question": "What does the ferry to Harbour Island cost, and who sails it?",
        "slots": list(history),
        "every": 86_400,
        "begun_at": "2026-06-02T09:00:00Z",
        "asked_at": "2026-11-24T08:00:00Z",
        "changed_at": "2026-10-01T09:00:00Z",
        "answer": "A crossing costs 52 crowns [1]. Boreal sails it [2].",
        "values": {name: points[-1] for name, points in history.items()},
        "history": history,
    }
    files = WatchFiles(configure_from({"RUNS_DIR": str(runs)})({}))
    files.folder.mkdir(parents=True, exist_ok=True)
    files.write(WatchState.model_validate(state | changed))
    return NAME


def known(value: str, day: str, quote: str) -> dict[str, Any]:
    """A value with its quote."""
    since = f"{day}T09:00:00Z"
    page = {"url": URL, "title": "The Harbour Courier", "quote": quote, "link": f"{URL}#:~:text=x"}
    return {"value": value, "since": since, "sources": [{**page, "retrieved_at": since}]}
