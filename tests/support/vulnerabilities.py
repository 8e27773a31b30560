"""`make check`: no version in the locks has a known vulnerability, as far as the index tells.

Where it tells nothing, another service may: `python -m tests.support.vulnerabilities -s osv`. The
options are those of pip-audit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

LOCKS = ("locks/dev.txt", "locks/docs.txt", "locks/fuzz.txt", "locks/pip.txt")
MOST_SECONDS = 120  # for each lock; an index that does not answer at all must not stop `make check`


def main(options: Sequence[str] = (), locks: Sequence[str] = LOCKS) -> int:
    """Audit every lock. Returns 1 if a vulnerability is known; 0 too where nothing can be known."""
    reports = [_audit(lock, options) for lock in locks]
    packages = [package for report in reports if report for package in report["dependencies"]]
    lines = list(describe_vulnerabilities(packages))
    print("\n".join(lines) if lines else summarize(packages, all(reports)))
    return 1 if lines else 0


def _audit(lock: str, options: Sequence[str]) -> Any:
    """The report of pip-audit on a lock; None where it has no data."""
    command = [sys.executable, "-m", "pip_audit", "-r", lock, "--require-hashes", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "10", *options]
    try:
        done = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None


def describe_vulnerabilities(packages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for each known vulnerability of the packages in a report of pip-audit."""
    for package in packages:
        for found in package.get("vulns", ()):
            fixed = ", ".join(found["fix_versions"]) or "no version"
            yield (
                f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}. "
                "Change its pin, then `make lock`."
            )


def summarize(packages: Sequence[dict[str, Any]], is_complete: bool) -> str:
    """What was audited, where no vulnerability was found."""
    audited = sum("vulns" in package for package in packages)
    if not audited:
        return "Skipped: the package index tells nothing about known vulnerabilities."
    rest = len(packages) - audited
    unknown = f"; the index knows nothing about {rest} more" if rest else ""
    cut = "" if is_complete else "; Skipped: a lock that could not be audited"
    return f"No known vulnerability in {audited} packages{unknown}{cut}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
