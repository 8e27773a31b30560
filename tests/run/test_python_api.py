"""The Python interface: `research` and `aresearch`, as a caller's program uses them."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent import aresearch, research
from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.errors import UsageError
from agent.settings import Settings, parse_settings
from tests.cli.test_people import environment_for
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"


@pytest.fixture
def settings(services: Services, tmp_path: Path) -> Settings:
    services.pages = {"final": "Argentina won the cup. The score was 4-2."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup winner"])
    return parse_settings(services.environment(tmp_path, CACHE_TTL="0"))


def test_await_gives_the_answer_and_async_for_the_events(settings: Settings) -> None:
    async def main() -> None:
        run = aresearch(TOPIC, settings, max_words=40)
        types = [event.type async for event in run]
        answer = await run
        assert types[0] == "started" and "answered" in types
        assert types == [event.type async for event in run]  # once more: what there was
        assert answer.status == "complete" and (await run) is answer is run.answer()
        assert "Argentina" in (await aresearch(TOPIC, settings)).answer

    asyncio.run(main())


def test_a_cancelled_task_stops_the_run(services: Services, settings: Settings) -> None:
    reached, is_cancelled = threading.Event(), threading.Event()

    def think(asked: object) -> Raw:
        reached.set()
        assert is_cancelled.wait(60)
        return Raw(200, "{}")

    services.think = think  # type: ignore[assignment]

    async def main() -> Answer:
        run = aresearch(TOPIC, settings)

        async def ask() -> Answer:
            return await run

        task = asyncio.create_task(ask())
        await asyncio.to_thread(reached.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        is_cancelled.set()
        return await asyncio.to_thread(run.answer)

    answer = asyncio.run(main())
    assert answer.status in ("partial", "insufficient")
    assert "stopped" in " ".join(answer.warnings) and answer.usage.rounds <= 1


def test_leaving_the_block_stops_the_run_and_a_break_does_not(settings: Settings) -> None:
    async def main() -> None:
        async with aresearch(TOPIC, settings) as run:
            async for _ in run:
                break
            gc.collect()
            assert (await run).status == "complete"
        async with aresearch(TOPIC, settings) as left:
            pass
        assert (await left).status == "insufficient"  # stopped before anything was read

    asyncio.run(main())


def test_a_run_that_cannot_begin_raises_where_it_is_waited_for(settings: Settings) -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="Question cannot be empty"):
            await aresearch(" ", settings)
        with pytest.raises(UsageError):
            async for _ in aresearch(" ", settings):
                pass

    asyncio.run(main())
    with pytest.raises(UsageError, match="max-word"):
        research(TOPIC, settings, max_word=4)


def test_any_thread_may_ask_for_the_answer(settings: Settings) -> None:
    run = research(TOPIC, settings)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: run.answer(), range(4)))
    assert all(answer is answers[0] for answer in answers) and answers[0].status == "complete"


def test_a_run_as_a_block_closes_its_journal(settings: Settings) -> None:
    with research(TOPIC, settings, resume="monday"):
        pass  # it never ran
    with research(TOPIC, settings, resume="monday") as run:
        assert run.answer().status == "complete"


def test_keyword_settings_override_the_others() -> None:
    deep = Settings(offline=True, max_words=30)
    run = research(TOPIC, deep, strategy="loop", depth="quick", max_usd=None)
    header = run._journal.header["settings"]
    run.__exit__()
    assert header["strategy"] == "loop" and header["max_words"] == 30
    assert header["max_steps"] == 3  # of the depth


class Final(BaseModel):
    """A class of a caller."""

    winner: str | None = None
    founded: date | None = None
    caterer: str = "nobody"


class Strict(BaseModel):
    winner: str
    mascot: str


@pytest.mark.slow
def test_data_is_an_instance_of_the_class_that_is_the_schema(tmp_path: Path) -> None:
    settings = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    answer = research(TOPIC, settings, slots_schema=Final).answer()
    data = answer.data
    assert isinstance(data, Final) and data.winner == "Argentina"
    assert data.founded is None and data.caterer == "nobody"
    assert '"winner": "Argentina"' in to_json(answer).partition('"data"')[2]
    strict = research(TOPIC, settings, slots_schema=Strict).answer()
    assert strict.data is None and strict.slots["winner"].value == "Argentina"
    assert any("Strict: mascot: Field required" in warning for warning in strict.warnings)


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text("utf-8"), re.S)


@pytest.mark.slow
@pytest.mark.parametrize("code", EXAMPLES)
def test_the_examples_of_the_page_run_as_written(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment_for(tmp_path, {}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Argentina" in done.stdout
