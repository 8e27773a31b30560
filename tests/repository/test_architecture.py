"""The rules that a machine can check: imports, the environment, printing, names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from agent.cli.commands import SUMMARIES

ROOT = Path(__file__).parents[2]
AGENT = ROOT / "agent"
FILES = sorted(AGENT.rglob("*.py"))

#: In their order: each may import itself and those before it, for types too.
PACKAGES = (
    "version state errors calls settings evidence slots verification "
    "documents pages search llm steps strategies answer run server "
    "mcp_server cli"
).split()
COMMANDS = {"cli", "mcp_server", "server"}  # may print
READ_ENVIRONMENT = {*COMMANDS, "settings", "calls/transport.py", "calls/child_environment.py"}
USE_NETWORK = {"llm", "pages", "search", "calls/http.py", "calls/gemini_api.py"}
USE_NETWORK |= {"calls/transport.py", "calls/cache.py"}
DATA = {"demo"}  # holds no code
MOST_PACKAGES = 20
MOST_LEVELS, MOST_IMPORTS, MOST_LINES = 10, 15, 350
NETWORK = set("socket ssl http requests urllib3 httpx2 httpcore2 google serpapi".split())
HEAVY = "fastapi starlette uvicorn mcp pydantic google requests httpx2 jsonschema".split()
HEAVY += "trafilatura rich dotenv".split()


@cache
def parse(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text("utf-8"))


def package_of(file: Path) -> str:
    """The package of a file: its folder in `agent/`, or its own name."""
    return file.relative_to(AGENT).parts[0].removesuffix(".py").replace("__init__", "")


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it."""
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{file}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_packages(file: Path) -> set[str]:
    """The packages of `agent` that a file imports from."""
    names = [name.split(".") for name in imports(file)]
    parts = {name[1] for name in names if name[0] == "agent" and len(name) > 1}
    return {part for part in parts if (AGENT / part).exists() or (AGENT / f"{part}.py").exists()}


def test_the_packages_are_few_and_every_one_has_its_place() -> None:
    names = {path.name.removesuffix(".py") for path in AGENT.iterdir() if path.name[0] not in "_."}
    assert names - {"py.typed"} == {*PACKAGES, *DATA}
    assert len(PACKAGES) <= MOST_PACKAGES


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(AGENT)))
def test_imports_point_one_way(file: Path) -> None:
    here = package_of(file)
    below = {"": {"run", "version"}, "demo": set()} | {
        name: set(PACKAGES[:n]) for n, name in enumerate(PACKAGES)
    }
    allowed = below[here] | {here}
    assert imported_packages(file) <= allowed, f"{here} imports {imported_packages(file) - allowed}"


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.name == "__init__.py" and f.parent != AGENT]
)
def test_an_init_file_only_exports_names(file: Path) -> None:
    for node in parse(file).body:
        names_all = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert names_all or docstring or isinstance(node, ast.ImportFrom), ast.unparse(node)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(AGENT)))
def test_few_packages_use_the_network_the_environment_or_print(file: Path) -> None:
    package, path = package_of(file), str(file.relative_to(AGENT))
    if not {package, path} & USE_NETWORK:
        assert not NETWORK & {name.split(".")[0] for name in imports(file)}
    if not {package, path} & READ_ENVIRONMENT:
        assert not re.search(r"\benviron\b|\bgetenv\b", file.read_text("utf-8"))
    if package not in COMMANDS:
        calls = (node.func for node in ast.walk(parse(file)) if isinstance(node, ast.Call))
        assert "print" not in {getattr(called, "id", "") for called in calls}


def definitions(*kinds: type[ast.AST]) -> Iterator[tuple[str, str]]:
    """The name and the place of every class or function in `agent/`."""
    for file in FILES:
        for node in ast.walk(parse(file)):
            if isinstance(node, kinds):
                place = f"{file.relative_to(AGENT)}:{getattr(node, 'lineno', 0)}"
                yield getattr(node, "name", ""), place


def test_no_public_class_name_occurs_twice() -> None:
    places: dict[str, list[str]] = {}
    for name, place in definitions(ast.ClassDef):
        places.setdefault(name, []).append(place)
    twice = {name: files for name, files in places.items() if len(files) > 1 and name[0] != "_"}
    assert places and not twice


#: Participles that do not end with `ed`; `read`, `set` and `put` are verbs as well.
PARTICIPLES = set(
    "told said given own found kept held shown known made taken written sent left built begun gone "
    "done seen met drawn chosen broken spoken spent".split()
)
VERBS_IN_ED = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"}


def test_no_function_has_a_bare_participle_for_a_name() -> None:
    """A function that acts is named by a verb, one that is asked by a noun or `is_...`."""
    functions = list(definitions(ast.FunctionDef, ast.AsyncFunctionDef))
    bare = [
        f"{place} {name}"
        for name, place in functions
        if (word := name.strip("_")) in PARTICIPLES
        or (word.endswith("ed") and "_" not in word and word not in VERBS_IN_ED)
    ]
    assert functions and not bare


def test_defaults_of_fields_are_named() -> None:
    """Else a caller's type checker takes each for an argument that is missing."""
    fields = [
        node
        for file in FILES
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Field"
    ]
    assert fields and not [ast.unparse(field) for field in fields if field.args]


def test_broad_excepts_are_few() -> None:
    broad = [
        f"{file.name}:{node.lineno}"
        for file in FILES
        for node in ast.walk(parse(file))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    ]
    assert len(broad) <= 7, broad


@pytest.mark.parametrize("name", SUMMARIES)
def test_nothing_heavy_is_imported_before_it_is_needed(name: str) -> None:
    code = (
        "import sys; from agent.cli import run_cli; run_cli(sys.argv[1:]); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, name, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]" and done.stdout


def test_quantities_have_one_interface() -> None:
    inside = AGENT / "evidence/quantities"
    for file in FILES:
        if not file.is_relative_to(inside):
            parts = [name.split(".") for name in imports(file) if "evidence.quantities" in name]
            assert all(len(names) == 4 for names in parts), file


def graph() -> dict[str, set[str]]:
    """The modules of `agent/` that each module imports, wherever in it and for types too."""
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in FILES}
    modules = {name.removesuffix(".__init__"): file for name, file in names.items()}
    return {
        name: {one if one in modules else one.rpartition(".")[0] for one in imports(file)}
        & modules.keys() - {name, "agent"}
        for name, file in modules.items()
    }


def test_no_modules_import_each_other_in_a_circle_and_none_imports_many() -> None:
    left = graph()
    assert not {name: len(of) for name, of in left.items() if len(of) > MOST_IMPORTS}
    while free := {name for name, of in left.items() if not of & left.keys()}:
        left = {name: of for name, of in left.items() if name not in free}
    assert not left.keys() - {"agent"}


def test_files_and_the_floors_of_packages_are_few() -> None:
    long = {str(file): len(file.read_text("utf-8").splitlines()) for file in FILES}
    assert not {file: lines for file, lines in long.items() if lines > MOST_LINES}
    below = {name: set[str]() for name in PACKAGES}
    for file in FILES:
        below.get(package_of(file), set()).update(imported_packages(file) - {package_of(file)})
    levels: dict[str, int] = {}
    for name in PACKAGES:  # from the ground up
        levels[name] = 1 + max((levels[one] for one in below[name]), default=0)
    assert max(levels.values()) <= MOST_LEVELS
