"""What is set, what answers, and what to fix: `python -m agent.doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent import __version__
from agent.shell import ended, shown

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.doctor.results import Check

EXAMPLES = """\b
Examples:
  python -m agent.doctor
  python -m agent.doctor --json | jq .
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@click.version_option(__version__, prog_name="agent.doctor")
def command(as_json: bool) -> int:
    """Say what is set, what answers and what to fix, within ten seconds.

    Each search provider that has its key is asked one small query; models are looked up, which
    costs nothing. Exit status: 0 a question could be researched, 1 it could not.
    """
    from agent.doctor.checks import examine, unmet

    with redirect_stdout(sys.stderr):  # whatever a library prints is not the report
        checks = examine(os.environ, Path.cwd())
    missing = unmet(checks)
    text = _as_json(checks, missing) if as_json else _as_table(checks, missing)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 1 if missing else 0


def _as_json(checks: Sequence[Check], missing: Sequence[str]) -> str:
    import json

    rows = [check._asdict() for check in checks]
    return json.dumps({"ok": not missing, "checks": rows}, ensure_ascii=False, indent=2) + "\n"


def _as_table(checks: Sequence[Check], missing: Sequence[str]) -> str:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.status:4}  {check.name:{width}}  {check.detail}")
        if check.remedy:
            lines.append(f"{'':4}  {'':{width}}  -> {check.remedy}")
    offline = any(check.name == "corpus" and check.status == "ok" for check in checks)
    lacking = f"Not ready, for want of: {', '.join(missing)}." if missing else "Ready."
    if missing and offline:
        lacking += " With --offline it works all the same."
    return "\n".join([*lines, lacking, ""])


def main() -> None:
    """The command."""
    ended(command, shown)


if __name__ == "__main__":
    main()
