"""The Python interface: `research` and `aresearch`, as a caller's program uses them."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent import aresearch, research
from agent.answer.json_format import to_json
from agent.errors import UsageError
from agent.settings import Settings, parse_settings
from tests.cli.test_people import environment_for
from tests.support.services import Services
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
