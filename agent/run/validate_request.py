"""What a run is asked to do: its topic, its slots and its strategy, validated."""

from __future__ import annotations

from agent.errors import UsageError
from agent.settings import Settings
from agent.state import RunRequest, Slot, sanitize_line

MAX_TOPIC_CHARACTERS = 2000  # characters
CHECK = "check"  # the strategy of a run that is given a report


def clean_topic(topic: str) -> str:
    """The topic on one line, without control characters. Raises UsageError: empty or too long."""
    line = sanitize_line(topic, 10 * MAX_TOPIC_CHARACTERS)
    if not any(char.isprintable() for char in line):  # empty, or only characters of no width
        raise UsageError("Question cannot be empty", "Give a question: --topic '...'.")
    if len(line) > MAX_TOPIC_CHARACTERS:
        raise UsageError(
            f"The question is too long: at most {MAX_TOPIC_CHARACTERS} characters are allowed.",
            "Shorten it; put long material into a folder and name that with --corpus.",
        )
    return line


def requested_slots(settings: Settings) -> tuple[Slot, ...]:
    """The slots that the user named, or those of the user's schema. Raises UsageError for both."""
    if settings.slots_schema is None:
        return tuple(Slot(name=name) for name in settings.slots)
    if settings.slots:
        raise UsageError("Slots and a schema of slots were given.", "Give one of them.")
    from agent.slots.slot_schema import slots_of

    return slots_of(settings.slots_schema)


def resolve_strategy(settings: Settings, request: RunRequest) -> str:
    """The strategy of a run: that of its settings, but where a report or a plan is given."""
    if request.report is not None:
        return CHECK
    return settings.strategy if settings.plan is None else "report"
