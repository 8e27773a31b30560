"""`python -m fuzz.again FILE`: reads one input of `.fuzz/finds` again, with its stack."""

from __future__ import annotations

import sys
from pathlib import Path

from fuzz.target import load_target
from fuzz.targets import TARGETS


def main(path: Path) -> None:
    """Read an input with the target that the name of its file begins with."""
    target = load_target(TARGETS[path.name.rpartition("-")[0]])
    try:
        print(repr(target.read(path.read_bytes()))[:2000])
    except target.refusals as refusal:
        print(f"refused, as it should be: {type(refusal).__name__}: {refusal}"[:2000])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
