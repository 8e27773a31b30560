"""What is asked of a run: its topic, its slots and its strategy, each checked."""

from __future__ import annotations

from agent.errors import UsageError
from agent.settings import Settings
from agent.state import Slot
from agent.state.plain import plain
from agent.strategies.assembly import STRATEGIES
from agent.strategies.choice import Choice, choice

LONGEST_TOPIC = 2000  # characters


def clean_topic(topic: str) -> str:
    """A topic on one line, without control characters. Raises UsageError if it cannot be asked."""
    line = plain(topic, 10 * LONGEST_TOPIC)
    if not any(char.isprintable() for char in line):  # nothing, or marks without width
        raise UsageError("Question cannot be empty", "Give a question: --topic '...'.")
    if len(line) > LONGEST_TOPIC:
        raise UsageError(
            f"The question is too long: at most {LONGEST_TOPIC} characters are allowed.",
            "Shorten it; put long material into a folder and name that with --corpus.",
        )
    return line


def given_slots(settings: Settings) -> tuple[Slot, ...]:
    """The slots that the caller gave, by name or by schema. Raises UsageError."""
    if settings.slots_schema is None:
        return tuple(Slot(name=name) for name in settings.slots)
    if settings.slots:
        raise UsageError("Slots and a schema of slots were given.", "Give one of them.")
    from agent.slots.schema import slots_of

    return slots_of(settings.slots_schema)


def choose_strategy(topic: str, settings: Settings) -> Choice:
    """The strategy of a run, and why where it was left open (`auto`)."""
    if settings.baseline or settings.strategy != "auto":
        return Choice(settings.baseline or settings.strategy, "")
    return choice(topic, STRATEGIES, slots=bool(settings.slots))
