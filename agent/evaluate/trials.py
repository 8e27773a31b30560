"""A trial: one question in one arm, kept in a file, so that an evaluation can go on with it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from agent.answer import Answer, make_failure
from agent.errors import AgentError, UsageError
from agent.evaluate.arms import Arm
from agent.evaluate.contamination import Block, Contamination
from agent.evaluate.measures import bare
from agent.evaluate.questions import Question
from agent.run import research
from agent.settings import Settings
from agent.state import Frozen
from agent.state.urls import canonical


class Trial(Frozen):
    """What came of a question in an arm.

    `text` is the bare answer, empty where the arm abstained or failed. `found`, `read` and `cited`
    are the gold pages that searches named, that were read, and that the answer cites.
    """

    prompt: str
    arm: str
    answer: Answer
    text: str = ""
    found: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    blocked: tuple[Block, ...] = ()

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.answer.usage.input_tokens + self.answer.usage.output_tokens

    @property
    def failed(self) -> bool:
        """Whether there is an error in the place of an answer."""
        return self.answer.status == "error"


def attempt(
    question: Question, arm: Arm, settings: Settings, contamination: Contamination
) -> Trial:
    """A question through the product, with what carries the set itself kept away from it."""
    watch = contamination.watch(question)
    run = research(question.prompt, settings, through=watch.between)
    deque(run, maxlen=0)
    answer, known = run.answer(), run.research
    return Trial(
        prompt=question.prompt,
        arm=arm.name,
        answer=answer,
        text=_text(answer, settings),
        found=_gold(question, ((hit.url, hit.title) for hit in known.hits.values())),
        read=_gold(question, ((s.page.url, s.page.title) for s in known.sources)),
        cited=_gold(question, ((c.url, c.title) for c in answer.citations)),
        blocked=tuple(watch.blocked),
    )


def crashed(question: Question, arm: Arm, error: BaseException) -> Trial:
    """A trial that costs its own question only."""
    if not isinstance(error, AgentError):
        error = AgentError(f"Internal error: {type(error).__name__}", "Please report this.")
    answer = make_failure(question.prompt, error)
    return Trial(prompt=question.prompt, arm=arm.name, answer=answer)


def _text(answer: Answer, settings: Settings) -> str:
    """The bare answer. One with no claim is an abstention, but from memory there are none."""
    said = answer.claims or settings.baseline == "closed_book"
    return bare(answer.answer) if said and answer.status != "error" else ""


def _gold(question: Question, pages: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Those of a question's gold pages that are among pages, by passage id, address or title."""
    names: set[str] = set()
    for url, title in pages:
        names |= {url.rpartition("?id=")[2], canonical(url), title.casefold()}
    return tuple(
        gold
        for gold in question.gold
        if gold in names or gold.casefold() in names or ("//" in gold and canonical(gold) in names)
    )


# --- on disk -----------------------------------------------------------------------------------


def stored(path: Path) -> Trial | None:
    """A trial that ended well; None where there is none, or one that failed."""
    try:
        trial = Trial.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return None if trial.failed else trial


def store(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises UsageError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        fault = f"{path} cannot be written: {error.strerror}."
        raise UsageError(fault, "Name a place of your own with room, and go on.") from None
