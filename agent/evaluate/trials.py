"""A trial: one question in one arm, stored in a file, so that an evaluation can be resumed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from agent.answer import Answer, build_error_answer
from agent.errors import UsageError, as_agent_error
from agent.evaluate.arms import Arm
from agent.evaluate.contamination import (
    BlockedPage,
    ContaminationDetector,
    ContaminationFilter,
)
from agent.evaluate.questions import EvaluationQuestion
from agent.evidence.markers import strip_markers
from agent.files import write_file
from agent.run import research
from agent.settings import Settings
from agent.state import Frozen
from agent.state.urls import canonical_url


class Trial(Frozen):
    """The result of one question in one arm.

    `text` is the answer without markers; it is empty where the arm abstained or failed. `found`,
    `read` and `cited` are the gold pages that searches found, that were read, and that the answer
    cites.
    """

    prompt: str
    arm: str
    answer: Answer
    text: str = ""
    found: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    blocked: tuple[BlockedPage, ...] = ()

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.answer.usage.input_tokens + self.answer.usage.output_tokens

    @property
    def has_failed(self) -> bool:
        """Whether the run ended in an error instead of an answer."""
        return self.answer.status == "error"


def run_trial(
    question: EvaluationQuestion,
    arm: Arm,
    settings: Settings,
    detector: ContaminationDetector,
) -> Trial:
    """Run a question in an arm, with contaminated pages withheld."""
    contamination_filter = ContaminationFilter(question, detector)
    run = research(question.prompt, settings, wrap_sources=contamination_filter.wrap_sources)
    deque(run, maxlen=0)
    answer, knowledge = run.answer(), run.research
    return Trial(
        prompt=question.prompt,
        arm=arm.name,
        answer=answer,
        text=_answer_text(answer, settings),
        found=_match_gold(question, ((hit.url, hit.title) for hit in knowledge.hits.values())),
        read=_match_gold(question, ((s.page.url, s.page.title) for s in knowledge.sources)),
        cited=_match_gold(question, ((c.url, c.title) for c in answer.citations)),
        blocked=tuple(contamination_filter.blocked),
    )


def build_failed_trial(question: EvaluationQuestion, arm: Arm, error: BaseException) -> Trial:
    """Return the trial of a run that raised; the rest of the evaluation goes on."""
    answer = build_error_answer(question.prompt, as_agent_error(error))
    return Trial(prompt=question.prompt, arm=arm.name, answer=answer)


def _answer_text(answer: Answer, settings: Settings) -> str:
    """Return the answer without markers; empty for an error or an abstention.

    An answer without claims is an abstention, except in the closed book, which never has claims.
    """
    is_answer = answer.claims or settings.baseline == "closed_book"
    return strip_markers(answer.answer).strip() if is_answer and answer.status != "error" else ""


def _match_gold(question: EvaluationQuestion, pages: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the gold pages that are among pages of URL and title: by passage id, URL or title."""
    names: set[str] = set()
    for url, title in pages:
        names |= {url.rpartition("?id=")[2], canonical_url(url), title.casefold()}
    return tuple(
        gold
        for gold in question.gold
        if gold in names
        or gold.casefold() in names
        or ("//" in gold and canonical_url(gold) in names)
    )


# --- files -------------------------------------------------------------------------------------


def load_trial(path: Path) -> Trial | None:
    """Load a stored trial; None where the file cannot be read or the trial failed."""
    try:
        trial = Trial.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return None if trial.has_failed else trial


def write_atomically(path: Path, text: str) -> None:
    """Write a file and its folder, completely or not at all. Raises UsageError, OutputFailed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f"{path} cannot be written: {error.strerror}."
        raise UsageError(fault, "Name a place of your own with room, and go on.") from None
    write_file(path, text)
