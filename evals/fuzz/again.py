"""`python -m evals.fuzz.again FILE`: reads one input of `.fuzz/finds` again, with its stack.

With names of targets in the place of a file: reads their seeds; without any, those of all.
"""

from __future__ import annotations

import sys
from pathlib import Path

from evals.fuzz.target import TARGETS, Target, load_target


def main(arguments: list[str]) -> None:
    """Read each input. Raises what the target must not raise."""
    for argument in arguments or TARGETS:
        is_name = argument in TARGETS
        name = argument if is_name else Path(argument).name.rpartition("-")[0]
        target = load_target(TARGETS[name])
        for data in target.seeds if is_name else (Path(argument).read_bytes(),):
            print(f"{name}: {_read(target, data)}"[:2000])


def _read(target: Target, data: bytes) -> str:
    try:
        return repr(target.read(data))
    except target.refusals as refusal:
        return f"refused, as it should be: {type(refusal).__name__}: {refusal}"


if __name__ == "__main__":
    main(sys.argv[1:])
