"""Records the golden runs again: `python -m tests.whole.golden [NAME ...]`.

A golden run is the calls of a run against loopback services, with what came of them, and its answer
object. Of a model's call it has the task and the reply, not the prompts: these may be reworded.
Record again only when a step or the form of the answer was meant to change, and review the
difference. Ports, times, durations and the sizes of prompts are replaced by constants, so that two
recordings of the same program are equal.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from agent.answer.schema import Answer
from agent.calls.journal import call_key
from agent.settings import Settings, parse_settings
from tests.support.services import Services
from tests.support.worlds import WORLDS, World, read_journal_lines, run_to_end

FOLDER = Path(__file__).parent
NAMES = (*WORLDS, "offline")
ADDRESS = "http://127.0.0.1:8000"  # nobody listens there
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
    """Return an answer without what a replay does not repeat: its duration and its file name."""
    value = json.loads(answer.model_dump_json())
    del value["usage"]["seconds"], value["run"]["journal"]
    return value


def record(name: str) -> Any:
    """Make a run; return what is golden of it."""
    journal, answer = make_run(name)
    lines = map(json.loads, journal.splitlines())
    calls = [_without_prompts(line) for line in lines if "call" in line]
    return {"calls": calls, "answer": answer}


def make_run(name: str) -> tuple[str, Any]:
    """Make a run; return its journal and its answer, without ports, times and durations."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        return _record_offline(work) if name == "offline" else _record_online(name, work)


def _without_prompts(call: Any) -> Any:
    request = {k: v for k, v in call["request"].items() if k not in ("system", "prompt")}
    return {k: v for k, v in call.items() if k not in ("key", "late")} | {"request": request}


def _record_online(name: str, folder: Path) -> tuple[str, Any]:
    with Services() as services:
        world = WORLDS[name]()
        settings = parse_settings(world.set_up(services).environment(folder, CACHE_TTL="0"))
        return _record_world(name, world, settings, services.base)


def _record_offline(folder: Path) -> tuple[str, Any]:
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in CORPUS), encoding="utf-8")
    kept = {"runs_dir": folder / "runs", "cache_dir": folder / "cache"}
    settings = parse_settings({}, offline=True, corpus=corpus, **kept)
    world = World("Who founded Velmora Works, and when?", {}, {}, lambda _: {})
    return _record_world("offline", world, settings, str(folder))


def _record_world(name: str, world: World, settings: Settings, base: str) -> tuple[str, Any]:
    """Run a world; return journal and answer without ports, times and durations."""
    _, answer = run_to_end(world.topic, settings, resume=name)
    assert answer.run and answer.run.journal, answer
    return _normalize_journal(Path(answer.run.journal), base), _normalize(comparable(answer), base)


def _normalize_journal(path: Path, base: str) -> str:
    """Return a journal without ports and times, its calls sorted, those of models first."""
    header, *calls, end = (_normalize(line, base) for line in read_journal_lines(path))
    for call in calls:
        call["key"] = call_key(call["call"], call["request"])
    calls.sort(key=lambda call: (call["call"], json.dumps(call["request"])))
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in (header, *calls, end))


def _normalize(line: Any, base: str) -> Any:
    text = json.dumps(line, ensure_ascii=False)
    for scheme in ("http", "https"):  # the key of a page is its address with https
        text = text.replace(base.replace("http", scheme), ADDRESS.replace("http", scheme))
    text = re.sub(r"<today>[\d-]+", f"<today>{TIME[:10]}", text)
    text = re.sub(r'"(at|retrieved_at|started_at)": "2[^"]*"', rf'"\1": "{TIME}"', text)
    text = re.sub(r'"(input_tokens|usd)": [\d.e-]+', r'"\1": 1', text)  # they follow the prompts
    return json.loads(re.sub(r'"(seconds|began)": [\d.e-]+', r'"\1": 0.25', text))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or NAMES:
        shown = json.dumps(record(wanted), ensure_ascii=False, indent=1)
        (FOLDER / f"{wanted}.json").write_text(f"{shown}\n", encoding="utf-8")
