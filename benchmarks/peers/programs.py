"""The compared programs: how each is started with a question, and how its answer is parsed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.services import Services

HERE = Path(__file__).parent


class ProgramAnswer(NamedTuple):
    """An answer: its text, its citations as quote and URL, and seconds by the program's clock."""

    text: str
    citations: tuple[tuple[str, str], ...]
    seconds: float


class Program(NamedTuple):
    """A program in its own environment, `folder`; empty: the environment of this checkout."""

    name: str
    distribution: str
    folder: str
    arguments: tuple[str, ...]

    def python_path(self, environments: Path) -> Path:
        own = environments / self.folder / "bin" / "python"
        return own if self.folder else Path(sys.executable)

    def command(self, environments: Path, question: str) -> list[str]:
        arguments = [part.replace("QUESTION", question) for part in self.arguments]
        return [str(self.python_path(environments)), *arguments]

    def environment(self, services: Services, environments: Path, home: Path) -> dict[str, str]:
        """The whole environment of the process; nothing of the shell's is passed on."""
        tokenizers = "litellm/litellm_core_utils/tokenizers"  # tiktoken would download them
        found = sorted((environments / self.folder).glob(f"lib/*/site-packages/{tokenizers}"))
        return {
            **{name: str(home) for name in ("HOME", "RUNS_DIR", "CACHE_DIR")},
            **{"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "CACHE_TTL": "0"},
            **{"LLM": "openai", "OPENAI_MODEL": "scripted", "OPENAI_API_KEY": "key"},
            **{"OPENAI_BASE_URL": f"{services.base}/v1", "ALLOW_PRIVATE_NETWORK": "1"},
            **{"SEARCH_PROVIDERS": "searxng", "SEARXNG_URL": f"{services.base}/searxng"},
            **{"RETRIEVER": "searx", "SEARX_URL": f"{services.base}/searxng"},
            **{f"{size}_LLM": "openai:scripted" for size in ("FAST", "SMART", "STRATEGIC")},
            **{"EMBEDDING": "custom:scripted", "BRAVE_ENDPOINT": f"{services.base}/brave"},
            **({} if self.folder else {"PYTHONPATH": str(HERE.parents[1])}),
            **({"TIKTOKEN_CACHE_DIR": str(found[0])} if found else {}),
        }

    def parse_output(self, output: str) -> ProgramAnswer:
        """Parse what a program has printed."""
        if self.distribution == "llm-research-agent":
            return _parse_own_answer(json.loads(output))
        said = json.loads(output.strip().splitlines()[-1])
        return ProgramAnswer(said["answer"], _find_citations(said["answer"]), said["seconds"])


def _parse_own_answer(answer: dict[str, object]) -> ProgramAnswer:
    cited = tuple((row["quote"], row["url"]) for row in answer["citations"])  # type: ignore[attr-defined,index]
    return ProgramAnswer(str(answer["answer"]), cited, answer["usage"]["seconds"])  # type: ignore[index]


def _find_citations(text: str) -> tuple[tuple[str, str], ...]:
    """The sentences of a text that end with a link, each with its URL."""
    found = re.findall(r"([^.\n)]+\.) \(\[[^]]*\]\((\S+?)\)\)", text)
    return tuple((sentence.strip(), url) for sentence, url in found)


OURS = Program(
    "this program", "llm-research-agent", "ours", ("-m", "agent.cli", "--topic", "QUESTION")
)
PROGRAMS = (
    OURS,
    Program(
        "gpt-researcher",
        "gpt-researcher",
        "gpt-researcher",
        (str(HERE / "gpt_researcher_run.py"), "QUESTION"),
    ),
    Program(
        "gpt-researcher, deep",
        "gpt-researcher",
        "gpt-researcher",
        (str(HERE / "gpt_researcher_run.py"), "QUESTION", "deep"),
    ),
    Program(
        "smolagents", "smolagents", "smolagents", (str(HERE / "smolagents_run.py"), "QUESTION")
    ),
)
