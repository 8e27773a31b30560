"""Builds the site of the documentation with MkDocs, every link of a page checked: `make docs`.

    python -m tests.support.site FOLDER

MkDocs knows only what lies below its `docs_dir`. So the pages, and the files that they link to, are
copied to FOLDER/pages as they lie here, and links between them go on working.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", ".github/*.md", "docs/**/*.md", "evals/**/*.md")
STYLE = "docs/site.css"
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def find_pages(root: Path = ROOT) -> list[Path]:
    """The Markdown files of the documentation."""
    return sorted(page for glob in PAGES for page in root.glob(glob))


def find_links(page: Path) -> Iterator[str]:
    """The targets of the links of a page, those of pictures too; code has none."""
    yield from _LINK.findall(_CODE.sub("", page.read_text("utf-8")))


def find_linked_files(page: Path) -> Iterator[Path]:
    """The files of this repository that a page links to, whether they exist or not."""
    for link in find_links(page):
        path = link.partition("#")[0]
        if path and "://" not in path:
            yield (page.parent / path).resolve()


def copy_pages(folder: Path, root: Path = ROOT) -> None:
    """Copy the pages of a repository, and the files of it that they link to."""
    pages = find_pages(root)
    linked = {file for page in pages for file in find_linked_files(page)}
    for file in sorted({*pages, *linked, root / STYLE}):
        if file.is_file() and file.is_relative_to(root):
            target = folder / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def main(folder: Path) -> int:
    """Build FOLDER/html from FOLDER/pages; the exit status of MkDocs."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_pages(folder / "pages")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/mkdocs.yml"]
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
