"""What is installed: the files that name packages agree, and each import is named in them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, SETUPTOOLS = WHOLE["project"], WHOLE["tool"]["setuptools"]


def pins(file: str) -> dict[str, str]:
    """Name -> version of every line of a requirements file, all of which are exact pins."""
    text = re.sub(r"#.*", "", (ROOT / file).read_text("utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pairs = [line.split("==") for line in lines if not line.startswith("-")]
    return {canonicalize_name(name): version for name, version in pairs}


def declared() -> dict[str, Requirement]:
    wanted = map(Requirement, PROJECT["dependencies"])
    return {canonicalize_name(one.name): one for one in wanted}


def test_requirements_and_pyproject_name_the_same_packages() -> None:
    assert pins("requirements.txt").keys() == declared().keys()


def test_every_pin_lies_in_its_range() -> None:
    pinned = pins("requirements.txt")
    assert not [str(one) for name, one in declared().items() if pinned[name] not in one.specifier]


def test_the_lock_has_every_pin() -> None:
    lock = pins("constraints.txt").items()
    assert pins("requirements.txt").items() <= lock
    assert pins("requirements-dev.txt").items() <= lock


def test_every_import_is_a_named_dependency() -> None:
    optional = {name for extra in PROJECT["optional-dependencies"].values() for name in extra}
    named = {*declared(), *(canonicalize_name(Requirement(one).name) for one in optional)}
    known = packages_distributions()
    for name in _imported() - set(sys.stdlib_module_names) - {"agent"}:
        by = {canonicalize_name(one) for one in known.get(name, [name])}
        assert by & named, f"{name} is imported, but no requirement names it"


def _imported() -> set[str]:
    found: set[str] = set()
    for file in (ROOT / "agent").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found


def test_the_installed_package_holds_every_folder() -> None:
    folders = {file.parent for file in (ROOT / "agent").rglob("__init__.py")}
    assert set(SETUPTOOLS["packages"]) == {_package(folder) for folder in folders}


def test_the_installed_package_holds_every_file_of_data() -> None:
    for file in (ROOT / "agent").rglob("*.*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            globs = SETUPTOOLS["package-data"].get(_package(file.parent), [])
            assert any(file.match(one) for one in globs), f"package-data leaves out {file}"


def _package(folder: Path) -> str:
    return ".".join(folder.relative_to(ROOT).parts)


def test_the_example_environment_sets_nothing() -> None:
    """Copied as it is, also by `docker run --env-file`, it changes no default."""
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    assert all(line.endswith("=") for line in lines if line and not line.startswith("#"))
