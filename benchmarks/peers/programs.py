"""The programs that are compared: how each is asked a question, and how its answer is read."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.services import Services

HERE = Path(__file__).parent


class Said(NamedTuple):
    """An answer: its text, what it quotes with the address of each, seconds by its own clock."""

    text: str
    cited: tuple[tuple[str, str], ...]
    seconds: float


class Program(NamedTuple):
    """A program in an environment of its own (`folder` of it; empty: this checkout's)."""

    name: str
    distribution: str
    folder: str
    arguments: tuple[str, ...]

    def python(self, environments: Path) -> Path:
        own = environments / self.folder / "bin" / "python"
        return own if self.folder else Path(sys.executable)

    def command(self, environments: Path, question: str) -> list[str]:
        arguments = [part.replace("QUESTION", question) for part in self.arguments]
        return [str(self.python(environments)), *arguments]

    def environment(self, services: Services, environments: Path, home: Path) -> dict[str, str]:
        """All that it is told; nothing of the shell's environment."""
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

    def read(self, output: str) -> Said:
        """What a program printed."""
        if self.distribution == "llm-research-agent":
            return _ours(json.loads(output))
        said = json.loads(output.strip().splitlines()[-1])
        return Said(said["answer"], _linked(said["answer"]), said["seconds"])


def _ours(answer: dict[str, object]) -> Said:
    cited = tuple((row["quote"], row["url"]) for row in answer["citations"])  # type: ignore[attr-defined,index]
    return Said(str(answer["answer"]), cited, answer["usage"]["seconds"])  # type: ignore[index]


def _linked(text: str) -> tuple[tuple[str, str], ...]:
    """The sentences of a text that end with a link, with its address."""
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
