"""The house rules that a machine can check: imports, the environment, printing, length."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AGENT = ROOT / "agent"
FILES = sorted(AGENT.rglob("*.py"))

#: A room may import from itself and from the rooms before it. Doors never import each other.
ROOMS = [
    {"demo", "ui", "errors", "urls", "research"},
    {"tools", "outside", "settings", "budget", "foreign", "limits"},
    {"http", "journal", "shell"},
    {"llm", "search", "pages", "evidence", "recorded", "cache", "slots", "measures"},
    {"checking", "links"},
    {"steps"},
    {"strategies"},
    {"output", "report", "render", "telemetry"},
    {"models", "ways"},
    {"compose"},
    {"assembly"},
    {"run"},
    {"estimate", "live", "replay"},
    {"proof", "changes"},
    {"runs", "evaluation", "batches"},
    {"asked", "web"},
]
DOORS = {"", "cli", "evaluate", "batch", "doctor", "trace", "audit", "server", "mcp_server"}
NETWORK = {
    "socket",
    "ssl",
    "http",
    "requests",
    "urllib3",
    "httpx2",
    "httpcore2",
    "google",
    "serpapi",
    "redis",
    "opentelemetry",
}
HEAVY = (
    "fastapi",
    "starlette",
    "uvicorn",
    "mcp",
    "pydantic",
    "google",
    "requests",
    "httpx2",
    "jsonschema",
    "trafilatura",
    "rich",
    "dotenv",
)


def room(file: Path) -> str:
    """Which room a file belongs to: its folder in `agent/`, or its own name."""
    return file.relative_to(AGENT).parts[0].removesuffix(".py").replace("__init__", "")


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{file}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(file: Path) -> set[str]:
    """The rooms that a file imports from; names of the package itself count as none."""
    names = [name.split(".") for name in imports(file)]
    parts = {name[1] for name in names if name[0] == "agent" and len(name) > 1}
    return {part for part in parts if (AGENT / part).exists() or (AGENT / f"{part}.py").exists()}


def level(name: str) -> int:
    return next((i for i, rooms in enumerate(ROOMS) if name in rooms), len(ROOMS))


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(AGENT)))
def test_imports_point_one_way(file: Path) -> None:
    here = room(file)
    assert here in DOORS or any(here in rooms for rooms in ROOMS), f"{here} has no room"
    for there in own(file):
        assert there == here or level(there) <= level(here), f"{here} imports {there}"
        assert there not in DOORS or here == there, f"{here} imports the door {there}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(AGENT)))
def test_only_outside_rooms_touch_the_network_and_only_settings_the_environment(
    file: Path,
) -> None:
    text = file.read_text("utf-8")
    if room(file) not in {"http", "llm", "search", "pages", "cache", "telemetry"}:
        assert not NETWORK & {name.split(".")[0] for name in imports(file)}
    if room(file) not in {"settings"} | DOORS:
        assert not re.search(r"\benviron\b|\bgetenv\b", text)
    if room(file) not in DOORS:
        assert not any(
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
            for node in ast.walk(ast.parse(text))
        )


def test_defaults_of_fields_are_named() -> None:
    """Else a caller's type checker takes each for an argument that is missing."""
    fields = [
        node
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Field"
    ]
    assert fields and not [ast.unparse(field) for field in fields if field.args]


def test_broad_excepts_are_few() -> None:
    """A broad except turns a provider's failure into a recorded outcome, and nothing else."""
    broad = [
        f"{file.name}:{node.lineno}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    ]
    assert len(broad) <= 7, broad


@pytest.mark.parametrize("argument", ["--help", "--version"])
@pytest.mark.parametrize(
    "door", ["cli", "batch", "evaluate", "server.__main__", "mcp_server.__main__"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(door: str, argument: str) -> None:
    code = (
        f"import sys; from agent.{door} import command; "
        "command.main([sys.argv[1]], standalone_mode=False); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, argument]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]" and done.stdout
