"""Where inputs come from: atheris, which looks for new code, or mutations at random."""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from evals.fuzz.target import Target, load_target

Engine = Literal["atheris", "mutations"]
Execute = Callable[[bytes], None]
#: One mutation in so many repeats a part of the input, or puts in a word of the format: what is
#: quadratic shows on long inputs alone, and libFuzzer grows them by single bytes.
GROWTH = 24
_LIBFUZZER_HANDLERS = "segv bus abrt ill fpe int term xfsz usr1 usr2".split()


def find_engine() -> Engine:
    """Atheris where it is installed (Linux, Python to 3.13), else mutations."""
    return "atheris" if importlib.util.find_spec("atheris") else "mutations"


def load_instrumented(place: str) -> Target:
    """The target, its modules of `agent` changed so that atheris sees which code runs."""
    import atheris

    with atheris.instrument_imports(include=["agent"]):
        target = load_target(place)
        for seed in target.seeds:  # much is imported when it is first needed
            _read_quietly(target, seed)
    return target


def _read_quietly(target: Target, seed: bytes) -> None:
    try:
        target.read(seed)
    except Exception:
        return  # it will be found, and kept, when the engine reads the seed


def run_atheris(execute: Execute, target: Target, corpus: Path, seconds: float) -> None:
    """Fuzz with libFuzzer; does not return. What reaches new code is added to `corpus`."""
    import atheris

    for n, seed in enumerate(target.seeds):
        (corpus / f"seed-{n}").write_bytes(seed)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.randrange(GROWTH) == 0:
            return grow(bytes(data), most, target.words, chance)
        return bytes(
            atheris.Mutate(data, len(data)) if len(data) >= most else atheris.Mutate(data, most)
        )

    options = [f"-max_total_time={max(1, round(seconds))}", f"-max_len={target.longest}"]
    options += ["-timeout=86400", "-rss_limit_mb=0", "-verbosity=0", "-print_final_stats=0"]
    options += [f"-handle_{name}=0" for name in _LIBFUZZER_HANDLERS]  # a death shows its cause
    atheris.Setup(
        [sys.argv[0], *options, str(corpus)],
        execute,
        custom_mutator=mutate,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()


def run_mutations(execute: Execute, target: Target, corpus: Path, seconds: float) -> None:
    """Fuzz with up to eight mutations of a seed or of a saved input."""
    ends, chance = time.monotonic() + seconds, random.Random()
    inputs = read_corpus(target, corpus)
    while time.monotonic() < ends:
        data = chance.choice(inputs)
        for _ in range(chance.randrange(9)):
            data = mutate_once(data, target, chance)
        execute(data)


def read_corpus(target: Target, corpus: Path) -> list[bytes]:
    """The seeds of a target, and what earlier runs have kept."""
    saved = [file.read_bytes() for file in sorted(corpus.glob("[!s]*"))]  # all but the seeds
    return [*target.seeds, *saved]


def mutate_once(data: bytes, target: Target, chance: random.Random) -> bytes:
    """An input changed in one way."""
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    way = chance.randrange(6)
    if way == 0:
        return data[:start] + data[end:]
    if way == 1:
        return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
    if way == 2:
        return data[:start] + chance.choice(target.seeds)[start:]
    if way == 3:
        return data[end:] + data[:end]
    return grow(data, target.longest, target.words, chance)


def grow(data: bytes, most: int, words: Sequence[bytes], chance: random.Random) -> bytes:
    """An input with a part of it, or a word of its format, put in once or up to 20,000 times."""
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    piece = data[start:end][:200]
    if words and (not piece or chance.randrange(2)):
        piece = chance.choice(words)
    times = chance.choice((1, 1, 1, 2, 2, 30, 30, 1000, 20_000))
    return (data[:start] + piece * times + data[start:])[:most]
