"""What is installed: the files that name packages agree, each import is named in them, each file
of a package has a hash, and each licence is permitted."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.test_architecture import FILES, imports
from tests.support import licences, vulnerabilities
from tests.support.page_server import PageServer
from tests.support.page_server import reply as http_reply

ROOT = Path(__file__).parents[2]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, SETUPTOOLS = WHOLE["project"], WHOLE["tool"]["setuptools"]
GROUPS, EXTRAS = WHOLE["dependency-groups"], PROJECT["optional-dependencies"]
TYPES_ALONE = "_typeshed"  # a module that is there for type checkers and never imported


def pins(file: str) -> dict[str, str]:
    """Name -> version of every line of a requirements file, all of which are exact pins."""
    text = re.sub(r"#.*", "", (ROOT / file).read_text("utf-8")).replace("\\\n", " ")
    lines = [line.split(";")[0].split("--hash")[0].strip() for line in text.splitlines()]
    pairs = [line.split("==") for line in lines if line and not line.startswith("-")]
    return {canonicalize_name(name): version for name, version in pairs}


def declared() -> dict[str, Requirement]:
    wanted = map(Requirement, PROJECT["dependencies"])
    return {canonicalize_name(one.name): one for one in wanted}


def test_requirements_and_pyproject_name_the_same_packages_and_pins_lie_in_their_ranges() -> None:
    pinned = pins("requirements.txt")
    assert pinned.keys() == declared().keys()
    assert not [str(one) for name, one in declared().items() if pinned[name] not in one.specifier]


def test_the_lock_has_every_pin_and_every_package_once() -> None:
    assert pins("requirements.txt").items() <= pins(".ci/lock.txt").items()
    lines = re.findall(r"^[a-z].*==.*$", (ROOT / ".ci" / "lock.txt").read_text("utf-8"), re.M)
    assert len(lines) == len(set(lines)) > 100
    wanted = {Requirement(one).name for one in (*GROUPS["dev"], *EXTRAS["server"], *EXTRAS["mcp"])}
    assert set(map(canonicalize_name, wanted)) <= set(licences.locked_names("dev"))


def test_every_file_of_a_locked_package_has_a_hash() -> None:
    """`pip install --require-hashes` refuses all else; no address of an index is in the lock."""
    text = (ROOT / ".ci" / "lock.txt").read_text("utf-8")
    entries = re.sub(r"^ *#.*\n", "", text, flags=re.M).replace("\\\n", " ").splitlines()
    hashed = re.compile(r"[\w.-]+==[^ ;]+( ; [^\\-]+)?( +--hash=sha256:[0-9a-f]{64})+")
    assert entries and not [entry[:60] for entry in entries if not hashed.fullmatch(entry.strip())]
    assert "://" not in text


def test_no_set_up_installs_without_hashes() -> None:
    """The tool that makes the lock is the one exception: it comes before it."""
    for file in ("Makefile", "Dockerfile"):
        text = (ROOT / file).read_text("utf-8").replace("\\\n", " ")
        installs = [line for line in text.splitlines() if re.search(r"pip\b.* install ", line)]
        assert installs and all("--require-hashes" in one or "uv==" in one for one in installs)


def test_every_licence_is_permitted() -> None:
    licence_of = {name: licences.find_licence(name) for name in licences.locked_names("fuzz")}
    assert not [pair for pair in licence_of.items() if not licences.is_permitted(*pair)]


def test_the_program_itself_installs_nothing_under_the_gpl() -> None:
    names = licences.locked_names("runtime")
    assert names and not [name for name in names if "GPL" in licences.find_licence(name)]
    tools = [name for name in licences.EXCEPTIONS if "GPL" in licences.find_licence(name)]
    assert all("not linked, not shipped" in licences.EXCEPTIONS[name][1] for name in tools)


def test_a_licence_with_further_conditions_is_refused() -> None:
    for licence in ("MIT", "Apache-2.0 OR GPL-3.0-only", "(MIT AND Zlib) OR GPL-3.0-only"):
        assert licences.is_permitted("any", licence)
    for licence in ("MIT AND GPL-3.0-only", "AGPL-3.0-or-later", ""):
        assert not licences.is_permitted("any", licence)


def test_the_list_of_licences_is_that_of_the_lock() -> None:
    """To refresh it: `python -m tests.support.licences`."""
    assert licences.FILE.read_text("utf-8") == licences.render()


def test_a_known_vulnerability_is_reported_with_its_remedy() -> None:
    package = {"name": "flask", "version": "0.5", "vulns": []}
    report = [{"name": "other", "skip_reason": "not found"}, package]
    assert not list(vulnerabilities.describe_vulnerabilities(report))
    assert vulnerabilities.summarize(report).startswith("No known vulnerability in 1 ")
    fault = {"id": "PYSEC-2019-179", "fix_versions": ["1.0"], "aliases": [], "description": ""}
    lines = list(vulnerabilities.describe_vulnerabilities([{**package, "vulns": [fault]}]))
    assert lines == ["flask 0.5: PYSEC-2019-179, fixed in 1.0. Change its pin, then `make lock`."]
    unknown = [{"name": "flask", "skip_reason": "Dependency not found"}]
    assert vulnerabilities.summarize(unknown).startswith("Skipped: ")
    assert vulnerabilities.summarize([]).startswith("Skipped: ")


RANGE = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.0"}]}
AFFECTED = {"package": {"name": "flask", "ecosystem": "PyPI"}, "ranges": [RANGE]}
FAULT = {"id": "PYSEC-2019-179", "affected": [AFFECTED]}


@pytest.mark.parametrize(
    ("name", "reply", "status", "output"),
    [
        ("flask", {"vulns": [FAULT]}, 1, "flask 0.5: PYSEC-2019-179, fixed in 1.0. Change its pin"),
        ("django", {}, 0, "No known vulnerability in 1 packages."),
        ("werkzeug", None, 0, "Skipped: the package index tells nothing"),
    ],
)
def test_the_audit_of_a_lock_fails_on_a_known_vulnerability(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    reply: dict[str, Any] | None,
    status: int,
    output: str,
) -> None:
    """pip-audit itself, with a service on loopback that replies as OSV does, or fails."""
    lock = tmp_path / "lock.txt"
    lock.write_text(f"{name}==0.5 --hash=sha256:{'0' * 64}\n")
    answer = http_reply(json.dumps(reply).encode(), "503 Busy" if reply is None else "200 OK")
    with PageServer({"/v1/query": answer}) as server:
        options = ["-s", "osv", "--osv-url", f"{server.url}/v1/query"]
        options += ["--cache-dir", str(tmp_path / "cache")]
        assert vulnerabilities.main(options, str(lock)) == status
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(output)


def test_every_import_is_a_named_dependency() -> None:
    optional = {name for extra in PROJECT["optional-dependencies"].values() for name in extra}
    named = {*declared(), *(canonicalize_name(Requirement(one).name) for one in optional)}
    known = packages_distributions()
    imported = {name.split(".")[0] for file in FILES for name in imports(file)}
    for name in imported - set(sys.stdlib_module_names) - {"agent", TYPES_ALONE}:
        by = {canonicalize_name(one) for one in known.get(name, [name])}
        assert by & named, f"{name} is imported, but no requirement names it"


def test_the_installed_package_holds_every_folder_and_every_file_of_data() -> None:
    assert PROJECT["scripts"] == {"research-agent": "agent.cli:main"}
    assert SETUPTOOLS["packages"]["find"]["include"] == ["agent*"]
    for file in (ROOT / "agent").rglob("*.*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            globs = SETUPTOOLS["package-data"]["*"]
            assert any(file.match(one) for one in globs), f"package-data leaves out {file}"
            assert (file.parent / "__init__.py").exists(), f"{file.parent} is no package"


def test_every_promise_of_security_names_tests_that_exist() -> None:
    text = (ROOT / ".github" / "SECURITY.md").read_text("utf-8")
    promises = text.split("## What is promised")[1].split("##")[0].split("\n- **")[1:]
    code = "".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    existing = set(re.findall(r"^def (test_\w+)", code, re.M))
    for promise in promises:
        named = set(re.findall(r"`(test_\w+)`", promise))
        assert named and named <= existing, (promise[:60], named - existing)
    assert len(promises) > 7
