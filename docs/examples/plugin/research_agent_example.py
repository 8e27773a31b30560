"""What another package can add to research-agent: one small part of each kind.

`notes` searches the lines of a file, NOTES in the environment: `URL | title | text` each. Its
reader reads those addresses. `parrot` is a model that needs no service. `once` searches once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent.calls import ExternalCalls, Task
from agent.errors import ReadFailed, SearchFailed
from agent.llm import Generation
from agent.search.search_options import SearchOptions
from agent.settings import Settings
from agent.state import Event, Hit, Queried, Research
from agent.steps.synthesize import Synthesize
from agent.steps.verify import Verify
from agent.steps.web_search import WebSearchTool
from agent.strategies import Strategy


def read_notes() -> dict[str, tuple[str, str]]:
    """Title and text of each note, by its address. Raises SearchFailed."""
    try:
        lines = Path(os.environ["NOTES"]).read_text("utf-8").splitlines()
    except (KeyError, OSError):
        remedy = "Set NOTES to a file of lines: URL | title | text."
        raise SearchFailed("NOTES is not set", remedy, outcome="no_key") from None
    rows = (line.split(" | ", 2) for line in lines if line.count(" | ") >= 2)
    return {url: (title, text) for url, title, text in rows}


# --- a search provider ----------------------------------------------------------------------------


class Notes:
    """The notes that have a word of the query."""

    name = "notes"

    def search(self, query: str) -> tuple[Hit, ...]:
        """Hits, best first. Raises SearchFailed with the outcome of this one try."""
        words = {word for word in query.casefold().split() if len(word) > 3}
        return tuple(
            Hit(url=url, title=title, snippet=text[:200])
            for url, (title, text) in read_notes().items()
            if words & set(f"{title} {text}".casefold().split())
        )


def make_notes(settings: Settings, options: SearchOptions) -> Notes:
    """The entry point of group `research_agent.search_providers`."""
    return Notes()


# --- a reader -------------------------------------------------------------------------------------


class NotesReader:
    """Reads the addresses of notes, which no web server has."""

    def takes(self, url: str) -> bool:
        """Whether it reads this address."""
        return url.startswith("https://notes.example/")

    def read(self, url: str) -> tuple[str, str]:
        """Title and text. Raises ReadFailed."""
        try:
            return read_notes()[url]
        except KeyError:
            raise ReadFailed("There is no such note.", outcome="not_found") from None


def make_reader(settings: Settings) -> NotesReader:
    """The entry point of group `research_agent.readers`."""
    return NotesReader()


# --- a model --------------------------------------------------------------------------------------


class Parrot:
    """A model that says the first sentence that it is shown, and cites it."""

    provider = "parrot"

    def __init__(self, name: str) -> None:
        self.name = name

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task as JSON text, here one without a prompt's help."""
        reply: dict[str, Any] = {"verdicts": []}
        if task.name == "synthesize":
            text = task.prompt().partition("<source id=")[2].partition(">")[2]
            quote = text.partition("</source>")[0].strip().partition(".")[0] + "."
            reply = {"answer": f"{quote} [1]", "citations": [{"source": 1, "quote": quote}]}
        return Generation(text=json.dumps(reply), input_tokens=100, output_tokens=20)

    def probe(self) -> str:
        """Say in words whether the model can be asked now."""
        return "it always talks"

    def cost_usd(self, generation: Generation) -> float | None:
        """The cost of a generation in US dollars."""
        return 0.0

    def warm(self) -> None:
        """Prepare nothing."""

    def close(self) -> None:
        """Release nothing."""


def make_parrots(settings: Settings, names: Sequence[str]) -> list[Parrot]:
    """The entry point of group `research_agent.models`; a name is what follows `parrot:`."""
    return [Parrot(name or "polly") for name in names]


# --- a strategy -----------------------------------------------------------------------------------


class Once:
    """Searches for the question itself, reads what is found, and answers."""

    name = "once"

    def __init__(self, search: WebSearchTool, synthesize: Synthesize, verify: Verify) -> None:
        self._search = search
        self._synthesize = synthesize
        self._verify = verify

    def __call__(self, research: Research) -> Iterator[Event]:
        """Run the steps; the last event is the answer."""
        yield Queried(round=1, queries=(research.topic,))
        yield from self._search(research)
        yield from self.finish(research)

    def finish(self, research: Research) -> Iterator[Event]:
        """The best answer from what is known."""
        yield from self._synthesize(research)
        yield from self._verify(research)


def make_once(calls: ExternalCalls, settings: Settings) -> Strategy:
    """The entry point of group `research_agent.strategies`."""
    ask, tokens, lang = calls.ask, settings.effort.evidence_tokens, settings.lang
    return Once(
        WebSearchTool(calls.search, calls.read, settings.effort.pages_per_query),
        Synthesize(ask, calls.fallback, tokens, settings.max_words, lang),
        Verify(ask, tokens, lang, mode="rules"),
    )
