"""Whether a watch speaks only when the answer changed, in a closed world with a scripted model.

Shops on loopback. Twenty unaltered runs of each question have other advertisements, pages in
another order, other words of the model, and one of three pages down; one page always said
otherwise. Then the price on its pages changes six times, each followed by an unaltered run: *told
once* is one notice, with the old quote, the new one and their addresses. The program was mended
with the ten questions *seen* in view; the *unseen* ones were drawn from other seeds afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from agent.settings import Settings, parse_settings
from agent.watch.state import Notice
from agent.watch.watch import Watch
from evals.harness import Bench, Evaluation, Table, count, main, size
from tests.support.services import ModelRequest, Raw, Services
from tests.watch.shop import QUESTION, open_shop, page, think

WORDING = (
    "The price is {} euros [{}].",
    "You pay {} euros for it [{}].",
    "It is sold for {} euros today [{}].",
    "According to the shop it costs {} euros [{}].",
)
ADVERTISEMENTS = ("Try our soup.", "Cats sleep most of the day.", "Win a trip.", "New: tea!")
UNALTERED, CHANGES = 20, 6  # runs, and planted changes, of a question
SEEN, UNSEEN = range(10), range(500, 510)  # seeds
DOWN = Raw(503, "down")


class World:
    """One watched question, and the pages that it is answered from."""

    def __init__(self, services: Services, settings: Settings, seed: int) -> None:
        self.told: list[Notice] = []
        self.price = 100 + seed
        self._services, self._random = services, Random(seed)  # noqa: S311 - a fixed draw
        one = settings.model_copy(update={"slots": ("price",), "cache": False})
        self._watch = Watch(f"{QUESTION} (no. {seed})", one, None, {"list": self.told.append})

    def run(self, *, alters: bool = True) -> bool:
        """Ask once more, in a world that looks otherwise; whether it counted."""
        draw, services = self._random, self._services
        pages: dict[str, str | Raw] = {
            "shop": page(self.price, draw.choice(ADVERTISEMENTS)),
            "market": page(self.price, draw.choice(ADVERTISEMENTS)),
            "other": f"{draw.choice(ADVERTISEMENTS)} The Velmora pump is sold for 777 euros.",
        }
        hits = list(pages)
        if alters:
            draw.shuffle(hits)
            pages[draw.choice(hits)] = DOWN
        open_shop(services, **pages)
        services.default_hits = hits
        services.think = self._think
        self._watch.check()
        return not self._watch.note

    def _think(self, asked: ModelRequest) -> object:
        return think(asked, WORDING)

    def plant(self) -> str:
        """Let the price change; returns what must be told then."""
        self.price += 7
        return f"{self.price} euros"


class Outcome(NamedTuple):
    """The counts of a question."""

    half: str
    unaltered: int
    counted: int  # the unaltered runs that did not fail
    false_alarms: int
    planted: int
    told_once: int

    @property
    def right(self) -> bool:
        """Whether it spoke of every change, and of nothing else."""
        return not self.false_alarms and self.told_once == self.planted


def measure(seed: int, bench: Bench) -> Iterator[Outcome]:
    """Watch a question."""
    with Services() as services:
        folder = bench.work / f"watch-{seed}"
        world = World(services, parse_settings(services.environment(folder)), seed)
        world.run(alters=False)
        counted = sum(world.run() for _ in range(UNALTERED))
        alarms = len(world.told) - 1
        told = sum(_find_told(world))
        yield Outcome(_half(seed), UNALTERED, counted, alarms, CHANGES, told)


def _half(seed: int) -> str:
    return "seen" if seed in SEEN else "unseen"


def _find_told(world: World) -> Iterator[bool]:
    """For each planted change, whether it was told once, with both quotes and the address."""
    for _ in range(CHANGES):
        old, before = f"{world.price} euros", len(world.told)
        new = world.plant()
        world.run(alters=False)
        world.run(alters=False)
        told = world.told[before:]
        yield len(told) == 1 and _is_whole(told[0], old, new)


def _is_whole(notice: Notice, old: str, new: str) -> bool:
    sides = ((notice.old, old), (notice.new, new))
    return all(
        side is not None
        and side.value == value
        and any(value in source.quote and source.url for source in side.sources)
        for side, value in sides
    )


EVALUATION = Evaluation(
    title="Watches: no false alarm, each change once",
    load=lambda _: (*SEEN, *UNSEEN),
    measure=measure,
    tables=(
        Table(
            {"questions": "half"},
            {
                "n": size,
                "unaltered runs": count("unaltered"),
                "counted": count("counted"),
                "false alarms": count("false_alarms"),
                "planted changes": count("planted"),
                "**told once**": count("told_once"),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("watch")
