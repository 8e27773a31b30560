"""Changes to all texts of an answer, such as removing control characters."""

from __future__ import annotations

from collections.abc import Callable

from agent.answer.schema import Answer
from agent.state import map_texts
from agent.state.characters import strip_controls


def clean_answer(answer: Answer) -> Answer:
    """An answer without characters that command a terminal.

    Pages and replies lose them when they come. A journal that somebody else made may hold them.
    """
    return change_texts(answer, strip_controls)


def change_texts(
    answer: Answer, change: Callable[[str], str], only: set[str] | None = None
) -> Answer:
    """The answer with a change to each of its texts, or to those of some fields only."""
    said = answer.model_dump(include=only)
    changed = map_texts(said, change)
    return answer if changed == said else Answer.model_validate(answer.model_dump() | changed)
