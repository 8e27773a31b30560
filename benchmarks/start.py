"""The time of `--help`, compared with a bare `import click`. `python -m benchmarks.start`"""

from __future__ import annotations

import json

from benchmarks.processes import median_ms, median_ratio, run_python

PAIRS = 25
HEAVY = "google requests httpx2 pydantic jsonschema trafilatura lxml rich dotenv".split()
PRINT_HEAVY_IMPORTS = f"""
import json, sys
from agent.cli import run_cli
run_cli(["--help"])
print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
"""


def main() -> None:
    loaded = _heavy_imports()  # first: it warms the disk's cache too
    pairs = [
        (run_python("-m", "agent.cli", "--help"), run_python("-c", "import click"))
        for _ in range(PAIRS)
    ]
    row = {
        "help_ms": median_ms([ours for ours, _ in pairs]),
        "import_click_ms": median_ms([bare for _, bare in pairs]),
        "ratio": median_ratio(pairs),
        "goal_ratio": 1.3,
        "heavy_modules_imported": loaded,
    }
    print(json.dumps(row))


def _heavy_imports() -> list[str]:
    found: list[str] = json.loads(run_python("-c", PRINT_HEAVY_IMPORTS).output.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
