"""The doctor: what is set, what answers, and what to fix."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent.cli import shell

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.cli.diagnosis.results import Check

EPILOG = """\b
Examples:
  research-agent doctor
  research-agent doctor --json
"""


@shell.command(EPILOG)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@shell.options("trust-env")
def command(as_json: bool, trust_env: bool | None) -> int:
    """Say what is set, what answers and what to fix, within ten seconds.

    Each search provider that has its key is asked one small query; models, and the search of
    Gemini, are looked up, which costs nothing. Exit status: 0 a question could be researched, 1 it
    could not.
    """
    from agent.cli.diagnosis.checks import missing_requirements, run_checks

    with redirect_stdout(sys.stderr):  # libraries may print; standard output is the report's
        checks = run_checks(os.environ, Path(), trust_env=trust_env)
    missing = missing_requirements(checks)
    text = _format_json(checks, missing) if as_json else _format_table(checks, missing)
    shell.print_text(text)
    return 1 if missing else 0


def _format_json(checks: Sequence[Check], missing: Sequence[str]) -> str:
    import json

    rows = [check._asdict() for check in checks]
    return json.dumps({"ok": not missing, "checks": rows}, ensure_ascii=False, indent=2) + "\n"


def _format_table(checks: Sequence[Check], missing: Sequence[str]) -> str:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.status:4}  {check.name:{width}}  {check.detail}")
        if check.remedy:
            lines.append(f"{'':4}  {'':{width}}  -> {check.remedy}")
    verdict = f"Not ready, for want of: {', '.join(missing)}." if missing else "Ready."
    if missing:
        verdict += " With --offline it works all the same."
    return "\n".join([*lines, verdict, ""])
