"""How long `--help` takes, against a bare `import click`. `python -m benchmarks.start`"""

from __future__ import annotations

import json

from benchmarks.processes import milliseconds, python, ratio

PAIRS = 25
HEAVY = "google requests httpx2 pydantic jsonschema trafilatura lxml rich dotenv".split()
LOADED = f"""
import json, sys
from agent.cli import run_cli
run_cli(["--help"])
print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
"""


def main() -> None:
    loaded = _loaded()  # first: it warms the disk's cache too
    pairs = [
        (python("-m", "agent.cli", "--help"), python("-c", "import click")) for _ in range(PAIRS)
    ]
    row = {
        "help_ms": milliseconds([ours for ours, _ in pairs]),
        "import_click_ms": milliseconds([bare for _, bare in pairs]),
        "ratio": ratio(pairs),
        "goal_ratio": 1.5,
        "heavy_modules_imported": loaded,
    }
    print(json.dumps(row))


def _loaded() -> list[str]:
    found: list[str] = json.loads(python("-c", LOADED).output.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
