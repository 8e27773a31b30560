"""Records the golden runs anew: `python -m tests.golden`, with names for some of them.

A golden run is a journal made against loopback services, and beside it the answer object. They
change only when a prompt, a step or the answer's shape was meant to change: then record them again
and read the difference. Ports and times are made the same in all recordings, so that nothing else
differs.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from agent.answer import Answer
from agent.outside.journal import digest
from agent.settings import Settings, load
from tests.services import Services
from tests.worlds import WORLDS, World, ended, lines

FOLDER = Path(__file__).parent
NAMES = (*WORLDS, "offline")
PLACE = "http://127.0.0.1:8000"  # nobody listens there
TIME = "2026-01-02T03:04:05Z"
CORPUS = [
    {
        "title": "Velmora Works",
        "url": "https://example.org/velmora",
        "text": "Velmora Works is a firm in Sweden. Velmora Works was founded by Ada Lindqvist in "
        "1931. It makes pumps and ships spare parts to forty countries.",
    },
    {
        "title": "Cats",
        "url": "https://example.org/cats",
        "text": "Cats sleep most of the day. They hunt at dawn and at dusk.",
    },
]


def comparable(answer: Answer) -> Any:
    """An answer object without what a replay does not repeat: its own time and its file's name."""
    value = json.loads(answer.model_dump_json())
    del value["usage"]["seconds"], value["run"]["journal"]
    return value


def record(name: str) -> None:
    """Write a journal and the answer that was given, which replaying it must give again."""
    with tempfile.TemporaryDirectory() as folder:
        text, given = _offline(Path(folder)) if name == "offline" else _online(name, Path(folder))
    journal = FOLDER / f"{name}.jsonl"
    journal.write_text(text, encoding="utf-8")
    _, answer = ended("", Settings(replay=journal))
    assert comparable(answer) == given, name
    shown = json.dumps(given, ensure_ascii=False, indent=1)
    (FOLDER / f"{name}.json").write_text(f"{shown}\n", encoding="utf-8")


def _online(name: str, folder: Path) -> tuple[str, Any]:
    with Services() as services:
        world = WORLDS[name]()
        settings = load(world.on(services).environment(folder, CACHE_TTL="0"), resume=name)
        return _recorded(world, settings, services.base)


def _offline(folder: Path) -> tuple[str, Any]:
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in CORPUS), encoding="utf-8")
    kept = {"runs_dir": folder / "runs", "cache_dir": folder / "cache"}
    settings = load({}, resume="offline", offline=True, corpus=corpus, **kept)
    world = World("Who founded Velmora Works, and when?", {}, {}, lambda _: {})
    return _recorded(world, settings, str(folder))


def _recorded(world: World, settings: Settings, base: str) -> tuple[str, Any]:
    """The journal and the answer of a run, of no place and no time."""
    _, answer = ended(world.topic, settings)
    assert answer.run and answer.run.journal, answer
    return _neutral(Path(answer.run.journal), base), _timeless(comparable(answer), base)


def _neutral(path: Path, base: str) -> str:
    """A journal that tells neither where nor when it was made, in an order of its own."""
    header, *calls = (_timeless(line, base) for line in lines(path))
    for call in calls:
        call["key"] = digest(call["call"], call["request"])
    calls.sort(key=lambda call: (call["call"], json.dumps(call["request"])))
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in (header, *calls))


def _timeless(line: Any, base: str) -> Any:
    text = json.dumps(line, ensure_ascii=False)
    for scheme in ("http", "https"):  # the key of a page is its address with https
        text = text.replace(base.replace("http", scheme), PLACE.replace("http", scheme))
    text = re.sub(r'"(at|retrieved_at|started_at)": "2[^"]*"', rf'"\1": "{TIME}"', text)
    return json.loads(re.sub(r'"(seconds|began)": [\d.e-]+', r'"\1": 0.25', text))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or NAMES:
        record(wanted)
