"""`make check`: no version in the lock has a known vulnerability, as far as the index knows.

Where it has no data, another service may: `python -m tests.support.vulnerabilities -s osv`. The
options are those of pip-audit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

LOCK = ".ci/lock.txt"
MOST_SECONDS = 120  # an index that does not answer at all must not stop `make check`


def main(options: Sequence[str] = (), lock: str = LOCK) -> int:
    """Audit the lock. Returns 1 if a vulnerability is known; 0 too where nothing can be known."""
    report = _audit(lock, options)
    packages = report["dependencies"] if report else []
    lines = list(describe_vulnerabilities(packages))
    print("\n".join(lines) if lines else summarize(packages))
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


def summarize(packages: Sequence[dict[str, Any]]) -> str:
    """What was audited, where no vulnerability was found."""
    audited = sum("vulns" in package for package in packages)
    if not audited:
        return "Skipped: the package index tells nothing about known vulnerabilities."
    rest = len(packages) - audited
    unknown = f"; the index knows nothing about {rest} more" if rest else ""
    return f"No known vulnerability in {audited} packages{unknown}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
