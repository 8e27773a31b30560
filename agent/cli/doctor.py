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
  research-agent doctor -v
  research-agent doctor --json
"""

MOST_NAMED, MOST_TO_DO = 3, 4


@shell.command(EPILOG)
@click.option("-v", "--verbose", is_flag=True, help="Show every check.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@shell.options("trust-env")
def command(verbose: bool, as_json: bool, trust_env: bool | None) -> int:
    """Say what is set, what answers and what to fix, within ten seconds.

    Each search provider that has its key is asked one small query; models, and the search of
    Gemini, are looked up, which costs nothing. Exit status: 0 a question could be researched, 1 it
    could not.
    """
    from agent.cli.diagnosis.checks import missing_requirements, run_checks

    with redirect_stdout(sys.stderr):  # libraries may print; standard output is the report's
        checks = run_checks(os.environ, Path(), trust_env=trust_env)
    missing = missing_requirements(checks)
    write = _format_json if as_json else _format_table if verbose else _format_short
    shell.print_text(write(checks, missing))
    return 1 if missing else 0


def _format_json(checks: Sequence[Check], missing: Sequence[str]) -> str:
    import json

    rows = [check._asdict() for check in checks]
    return json.dumps({"ok": not missing, "checks": rows}, ensure_ascii=False, indent=2) + "\n"


def _format_table(checks: Sequence[Check], missing: Sequence[str]) -> str:
    """Every check, and the verdict first."""
    width = max(len(check.name) for check in checks)
    lines = [_verdict(missing)]
    for check in checks:
        lines.append(f"{check.status:4}  {check.name:{width}}  {check.detail}")
        if check.remedy:
            lines.append(f"{'':4}  {'':{width}}  -> {check.remedy}")
    return "\n".join([*lines, ""])


def _format_short(checks: Sequence[Check], missing: Sequence[str]) -> str:
    """The verdict, what works, and what to do first: at most 15 lines."""
    good = [check for check in checks if check.status == "ok"]
    lines = [_verdict(missing)]
    for kind in ("model", "search", "browser"):
        rows = [(c.name.removeprefix(kind).strip(), c.detail) for c in good if _is(c, kind)]
        works = [f"{name}: {detail}" if name else detail for name, detail in rows]
        lines += [f"ok    {kind}: {', '.join(works[:MOST_NAMED])}"] * bool(works)
    lines.append(f"ok    documents: {sum(_is(check, 'format') for check in good)} kinds of files")
    for check in _first_to_do(checks, missing)[:MOST_TO_DO]:
        lines += [f"{check.status}  {check.name}: {check.detail}", f"      -> {check.remedy}"]
    return "\n".join([*lines, "Every check: research-agent doctor -v", ""])


def _verdict(missing: Sequence[str]) -> str:
    if not missing:
        return "Ready."
    return f"Not ready: no {', no '.join(missing)}. It works with --offline."


def _first_to_do(checks: Sequence[Check], missing: Sequence[str]) -> list[Check]:
    """What has a remedy, the most pressing first; a key that nobody needs is not among it."""
    failed = [check for check in checks if check.status == "fail"]
    pressing = [check for check in failed if check.name.split()[0] in missing]
    doubtful = [check for check in checks if check.status == "warn" and not _is(check, "search")]
    others = [check for check in (*failed, *doubtful) if check not in pressing]
    return [check for check in (*pressing, *others) if check.remedy]


def _is(check: Check, kind: str) -> bool:
    return check.name.split()[0] == kind
