"""The plan of a report: its sections, what each must answer, and how far it goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from agent.state.claims import Slot
from agent.state.sanitizing import sanitize_line
from agent.state.values import Frozen

MAX_SECTIONS = 20
MAX_QUESTIONS = 12  # of a section
MAX_THINGS = 12  # that a section compares
MAX_SEARCHES = 8  # of a section
MAX_ASKED = 3  # questions to the user
LONGEST_LINE = 500  # characters: as of a query

#: What a plan is offered with: it may come back with these.
OFFERED = ("estimate", "warnings")

QuestionType = Literal["factual", "comparative", "exploratory", "technical"]
Depth = Literal["quick", "normal", "deep"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_LINE)]


class SubQuery(Frozen):
    """A web search of a section, and why it is made."""

    query: Line
    priority: Literal["High", "Medium", "Low"] = "Medium"
    reasoning: Annotated[str, Field(max_length=LONGEST_LINE)] = ""


class PlannedSection(Frozen):
    """A section: what it must answer, and what is searched for it.

    `things`: what each question is asked of, as two firms or some years; the answers make a table.
    `after`: headings of sections whose results it needs.
    """

    heading: Line
    questions: tuple[Line, ...] = Field(default=(), max_length=MAX_QUESTIONS)
    things: tuple[Line, ...] = Field(default=(), max_length=MAX_THINGS)
    after: tuple[Line, ...] = Field(default=(), max_length=MAX_SECTIONS)
    searches: tuple[SubQuery, ...] = Field(default=(), max_length=MAX_SEARCHES)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Its questions as slots; one of each thing, where it compares some."""
        slot_names = [name_slot(q, thing) for q in self.questions for thing in self.things or ("",)]
        return tuple(Slot(name=name) for name in dict.fromkeys(slot_names))


def name_slot(question: str, thing: str = "") -> str:
    """The name of a question's slot. In names of slots brackets mean lists."""
    name = f"{question} ({thing})" if thing else question
    return name.replace("[", "(").replace("]", ")")


class Misplaced(NamedTuple):
    """What is wrong where in the sections of a plan: `0.after.1`."""

    place: str
    fault: str


class Plan(Frozen):
    """A report before it is researched. `unclear`: what the question leaves open.

    `ask`: questions to the user whose answers would change the plan.
    """

    topic: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    question_type: QuestionType = "exploratory"
    search_strategy: Annotated[str, Field(max_length=LONGEST_LINE)] = ""
    depth: Depth = "normal"
    is_research: bool = False  # bibliographic services are searched first
    unclear: tuple[Line, ...] = Field(default=(), max_length=MAX_QUESTIONS)
    ask: tuple[Line, ...] = Field(default=(), max_length=MAX_ASKED)
    sections: tuple[PlannedSection, ...] = Field(min_length=1, max_length=MAX_SECTIONS)

    @model_validator(mode="before")
    @classmethod
    def _take_offered(cls, value: Any) -> Any:
        """A plan may come back as it was offered."""
        own = cls.model_fields.keys()
        is_offer = isinstance(value, dict) and not own >= set(OFFERED)
        return {k: v for k, v in value.items() if k not in OFFERED} if is_offer else value

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return _clean_texts(value)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        for misplaced in find_misplaced(self.sections):
            raise ValueError(f"sections.{misplaced.place}: {misplaced.fault}")
        return self

    @property
    def sub_queries(self) -> tuple[SubQuery, ...]:
        """The searches of all sections."""
        return tuple(search for section in self.sections for search in section.searches)


def _clean_texts(value: Any) -> Any:
    """The texts of a value on one line each; one that is too long stays so, and is refused."""
    if isinstance(value, str):
        return sanitize_line(value, 10_000)
    if isinstance(value, dict):
        return {key: _clean_texts(one) for key, one in value.items()}
    return list(map(_clean_texts, value)) if isinstance(value, list | tuple) else value


def find_misplaced(sections: tuple[PlannedSection, ...]) -> Iterator[Misplaced]:
    """Sections of one heading, and those that wait for what is not there or for themselves."""
    ready: set[str] = set()
    headings = [section.heading for section in sections]
    for n, section in enumerate(sections):
        if section.heading in headings[:n]:
            yield Misplaced(f"{n}", f"there are two sections {section.heading!r}")
        for i, name in enumerate(section.after):
            if name not in headings:
                yield Misplaced(f"{n}.after.{i}", f"it waits for {name!r}, which is no section")
    while fresh := {s.heading for s in sections if ready.issuperset(s.after)} - ready:
        ready |= fresh
    for n, section in enumerate(sections):
        if section.heading not in ready and set(section.after) <= set(headings):
            yield Misplaced(f"{n}.after.0", "it waits for a section that waits for it")
