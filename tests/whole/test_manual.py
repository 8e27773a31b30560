"""The manual is true: its commands run, what it links to and names exists, and it is short."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from agent import __version__, settings
from agent.answer.event_format import FrameType
from agent.answer.schema import answer_schema
from agent.cli.commands import ASK, SUMMARIES
from agent.server.research_request import REQUEST_FIELDS
from tests.support.browser import find_chromium
from tests.support.processes import run_command
from tests.support.site import ROOT, find_links, find_pages
from tests.support.web import Web, configure_from
from tests.whole.test_recipes import Shell

PAGES = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in find_pages()}
#: Pages for users, whose commands are theirs to type.
MANUAL = [
    name
    for name in PAGES
    if (name.startswith("docs/") or name == "README.md")
    and name not in ("docs/decisions.md", "docs/licences.md")
]
README = PAGES["README.md"]
COMMAND = re.compile(r"(?:python -m agent\.cli|research-agent)(?![\w.-])([^`\n|#<>]*)")
#: Names in capitals that the pages have and that are no settings.
OTHER_NAMES = {"MODEL_PROVIDERS", "NO_COLOR", "OLLAMA_CONTEXT_LENGTH"}
OTHER_NAMES |= {"RESEARCH_AGENT_TRUST_ENV"}
#: Lines that need a key, a network, an engine of containers, or do not end by themselves.
ELSEWHERE = re.compile(
    r"^(pip|pipx|ollama|docker|export GEMINI)|research-agent (serve|mcp|chat)\b|--fetch|s3://"
    r"|--corpus|--llm |^research-agent \"[^\"]*\"$|^RATE_LIMITS|--max-usd|--estimate"
)


def blocks(name: str, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[name], re.M | re.S)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    for link in find_links(ROOT / name):
        if "://" in link:
            assert link.startswith("https://"), link
            continue
        path, _, anchor = link.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), f"{name} links to {link}"
        assert not anchor or anchor in anchors(file.read_text("utf-8")), f"{name}: {link}"


def test_the_manual_is_short() -> None:
    words = {name: len(text.split()) for name, text in PAGES.items()}
    assert words["README.md"] <= 900 and words["DESIGN.md"] <= 1200
    pages = [name for name in PAGES if name.startswith("docs/")]
    assert sum(words[name] for name in (*pages, "README.md", "DESIGN.md")) <= 25_000


def listed(entry: Any) -> list[str]:
    """The pages of an entry of the site's navigation."""
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for one in below for page in listed(one)]


def test_the_site_has_every_page() -> None:
    site = yaml.safe_load((ROOT / "docs" / "mkdocs.yml").read_text("utf-8"))
    assert sorted(listed(site["nav"])) == sorted(PAGES)


@cache
def help_of(name: str) -> str:
    words = ["--help-all"] if name in ("", ASK) else [name, "--help"]
    return str(run_command("-m", "agent.cli", *words, cwd=ROOT, text=True).stdout)


def read_command(found: re.Match[str]) -> tuple[str, str]:
    """The name of the command that a line of a page starts, "" for a question; its arguments."""
    arguments = found[1]
    word = arguments.split()[0] if arguments.split() else ""
    return (word if word in SUMMARIES else ""), arguments


@pytest.mark.parametrize("name", MANUAL)
def test_every_documented_option_exists(name: str) -> None:
    for found in COMMAND.finditer(PAGES[name]):
        command, arguments = read_command(found)
        for option in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", arguments):
            assert option in help_of(command), f"{name}: {found[0]}"


def test_every_documented_variable_exists() -> None:
    known = {*settings.ENVIRONMENT, *settings.LIBRARY_VARIABLES} | OTHER_NAMES
    for name in MANUAL:
        named = re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b", PAGES[name])
        for variable in named:
            assert variable in known, f"{name} names {variable}"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    return Shell(tmp_path)


TYPED = "answers batch costs follow install runs strategies tables watch".split()


@pytest.mark.parametrize(
    "name", ["README", *(pytest.param(f"docs/{n}", marks=pytest.mark.slow) for n in TYPED)]
)
def test_documented_commands_run(shell: Shell, name: str) -> None:
    """Line by line in one folder, but for those that need what a test does not have."""
    lines = [line for block in blocks(f"{name}.md", "sh") for line in block.splitlines()]
    typed = [line for line in lines if not ELSEWHERE.search(re.sub(r"\s+#.*", "", line))]
    assert typed
    for line in typed:
        if "--format pdf" in line and find_chromium() is None:
            continue
        shell.run(f"{{ {line}\n}} 2> errors")  # progress may be on standard error
        errors = (shell.home / "errors").read_text()
        assert not re.search(r"^(Error|Usage|Traceback|jq)", errors, re.M), f"{line}: {errors}"


def test_the_command_for_your_documents_answers_from_them(shell: Shell) -> None:
    (shell.home / "notes").mkdir()
    (shell.home / "notes" / "terms.md").write_text("# Terms\n\nThe refund period is 37 days.\n")
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    [offline] = [line for line in lines if "--corpus" in line and "--offline" in line]
    output = json.loads(shell.run(offline))
    assert "37 days" in output["answer"] and output["citations"][0]["title"] == "Terms"


def test_the_commands_for_local_models_choose_their_models(shell: Shell) -> None:
    """The lines for Ollama and its like choose that server; `--estimate` sends nothing."""
    one, several = (b for b in blocks("docs/local-models.md", "sh"))
    lines = [line for line in one.splitlines() if not line.startswith("ollama")]
    assert json.loads(shell.run("\n".join(lines) + " --estimate"))["models"] == ["qwen3"]
    assert lines[0] in README and lines[1] in README
    server, *asked = several.splitlines()
    for line in asked:
        output = json.loads(shell.run(f"{server}\n{line} --estimate"))
        assert output["models"][0] == "qwen3"


def test_the_example_of_a_provider_runs() -> None:
    [code] = blocks("docs/extending.md", "python")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT)
    assert done.returncode == 0


def test_the_answer_in_the_readme_is_the_real_one(shell: Shell) -> None:
    block = " ".join(blocks("README.md", "text")[0].split())
    answer = json.loads(shell.run('research-agent --offline "Who won the 2022 FIFA World Cup?"'))
    sentence, _, rest = block.partition(" ...")
    [quote] = re.findall("“(.+?)”", rest)
    assert answer["answer"].startswith(sentence)
    assert quote in [one["quote"] for one in answer["citations"]]
    assert f"[1] {answer['citations'][0]['title']}" in rest


def test_every_field_and_value_of_the_answer_is_documented() -> None:
    schema, text = answer_schema(), PAGES["docs/answers.md"]
    named = set(re.findall(r"`(?:\w+\.)?(\w+)`|\"(\w+)\":", text))
    words = {word for pair in named for word in pair if word}
    kinds = "Citation Claim SlotAnswer Alternative Usage RunInfo SourceCounts Attempt Error".split()
    kinds += "Credibility Methodology ReportAnswer ReportSection LookedAt ModelUsage".split()
    for kind in (schema, *(schema["$defs"][name] for name in kinds)):
        for name, field in kind["properties"].items():
            values = field.get("enum", [])
            assert {name, *values} <= words, {name, *values} - words


@pytest.mark.slow
def test_the_documented_api_exists() -> None:
    text = PAGES["docs/servers.md"]
    with Web(configure_from({}, offline=True)) as web:
        described = web.client.get("/openapi.json").json()["paths"]
    paths = {path.replace("{name}", "ID"): row for path, row in described.items()}
    for method, path in re.findall(r"`(GET|POST|DELETE) (/api/[\w/]+)", text):
        assert method.lower() in paths[path], f"{method} {path}"
    words = set(re.findall(r"\w+", "".join(PAGES[name] for name in MANUAL)))
    assert {"question", "detach", *REQUEST_FIELDS} <= words
    frames = text.split("**A stream** sends")[1].split("each as")[0]
    assert set(re.findall(r"[a-z]+", frames)) >= set(get_args(FrameType))


def test_the_top_of_the_changelog_is_this_version() -> None:
    top = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", PAGES["CHANGELOG.md"], re.M)
    assert top and top[1] == __version__


def test_the_workflow_runs_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    run = {word for s in steps for word in re.findall(r"make ([a-z]+)", s.get("run", ""))}
    assert run <= targets
    ci = (ROOT / ".ci/run").read_text("utf-8")
    assert set(re.findall(r"^(?:step|  +)? *make (?:-s )?([a-z]+)", ci, re.M)) <= run
