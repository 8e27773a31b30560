"""Slots, findings, claims and reports, with the verdict of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from agent.state.values import Frozen, Quote, Scalar, seldom


class Form(Frozen):
    """The type of a slot's value and, as JSON Schema keywords, further limits.

    `text` is the type of a slot without a schema: any value will do.
    """

    type: Literal["text", "string", "integer", "number", "boolean", "date", "date-time"] = "text"
    options: tuple[Scalar, ...] = ()
    limits: dict[str, Any] = Field(default_factory=dict)


class Slot(Frozen):
    """A fact that an answer needs: `goalscorers`, `final.date`, `goals[].minute`.

    `[]` in a name means each item of a list: such a slot has one value for each item. A slot
    that the caller named is `needed`; a plan says of each slot whether it is.
    """

    name: str
    description: str = ""
    form: Form = Form()
    needed: bool = True  # without it the answer is not complete
    #: By the caller or by words of the topic. Else only pages that name it support it.
    is_asked: bool = Field(default=True, exclude_if=lambda is_asked: is_asked)


class Cited(Frozen):
    """The words of a source that support a sentence."""

    source: int = Field(default=0, description="id of the source")
    quote: str = Field(default="", description="the words of that source, copied exactly")


class Draft(Frozen):
    """An answer as a model writes it."""

    answer: str = Field(
        description="the answer, each sentence ending with its [n]; empty without one"
    )
    citations: list[Cited] = Field(default_factory=list, description="a quote for each [n] used")


class Statement(Frozen):
    """One source's value for a slot, with the quote that says so.

    For a slot with `[]` in its name, `item` is an index into that source's list. With `told` the
    model's reply numbered the items: then one index means the same item in all sources. `of` says
    which of several things of one name it is about, as the model put it.
    """

    slot: str
    value: Scalar
    quote: Quote
    item: int = 0
    told: bool = False
    of: str = ""


class Alternative(Frozen):
    """Another value than the one that weighs most, who says it, and its weight.

    `of`: what it is a value of, where sources describe several things of one name; of several right
    answers the value itself. Of another thing it is no value against the first one.
    """

    value: Scalar
    citations: tuple[int, ...]
    weight: float
    of: str = seldom("")


def name_thing(value: object, of: str) -> str:
    """A value in words, with what it is of where that is another thing: `1938 (the novel)`."""
    return f"{value} ({of})" if of not in ("", str(value)) else str(value)


#: `supported`: by a judge, or computed. `quoted`: not judged, and on the page word for word.
#: `unchecked`: not judged, and not the page's own words.
Verdict = Literal["supported", "quoted", "partial", "unsupported", "contradicted", "unchecked"]
HOLDING: tuple[Verdict, ...] = ("supported", "quoted")  # that leave nothing open


class Finding(Frozen):
    """What all sources together say of one value: `winner`, `goals[0].minute`.

    A list without items has one finding under the list's name. `weight` is the weight of `value`,
    `confidence` goes from 0 to 1; `agent/slots/weighing.py` computes both. `of` is as in an
    alternative.
    """

    slot: str
    status: Literal["filled", "missing", "conflict"]
    value: Scalar | None = None
    quotes: tuple[Quote, ...] = ()  # first those of `value`, then those of `alternatives`
    alternatives: tuple[Alternative, ...] = ()
    weight: float = 0.0
    confidence: float = 0.0
    verdict: Verdict = "unchecked"  # of the value as an answer to the slot
    by: str = ""  # as in a claim
    of: str = ""

    @property
    def values(self) -> tuple[Scalar, ...]:
        """Its value, if it has one, then those that sources give against it."""
        values = (self.value, *(other.value for other in self.alternatives))
        return tuple(value for value in values if value is not None)


MAX_EARLIER = 3  # questions that a run which follows others knows
LONGEST_EARLIER = 1000  # characters of an earlier question, and of its answer


class EarlierAnswer(Frozen):
    """A question of an earlier run, in full, and its answer; "" where it found none."""

    question: str = Field(max_length=LONGEST_EARLIER)
    answer: str = Field(default="", max_length=LONGEST_EARLIER)


class Operand(Frozen):
    """A number of a calculation: its text, and its place on its source."""

    text: str
    citation: int = Field(description="the number of the source")
    start: int
    end: int


class Calculation(Frozen):
    """Arithmetic that gives a number of a claim: over numbers of its quotes."""

    expression: str
    value: int | float | None = Field(default=None, description="null where it gives none")
    operands: tuple[Operand, ...] = ()
    is_query: bool = seldom(False, "the expression is a SELECT over tables")

    def renumber(self, numbers: Mapping[int, int]) -> Calculation:
        """The same with other numbers for the sources."""
        renumbered = (
            one.model_copy(update={"citation": numbers[one.citation]}) for one in self.operands
        )
        return self.model_copy(update={"operands": tuple(renumbered)})


class Differences(Frozen):
    """The sentence of its page that is nearest to a claim, and the words that only one of them has.

    `page`: those of the sentence; `claim`: those of the claim.
    """

    sentence: str
    page: tuple[str, ...] = ()
    claim: tuple[str, ...] = ()


class Claim(Frozen):
    """A sentence of the answer, an item of a list or a row of a table, and its verdict.

    `by`: `rule`, `calculation`, or the name of the model that judged; empty while unchecked.
    `intro`: the lines above a list or a table, in Markdown; all its items have the same, and it is
    shown once.
    """

    text: str
    citations: tuple[int, ...]
    verdict: Verdict = "unchecked"
    by: str = ""
    form: Literal["sentence", "item", "row"] = "sentence"
    intro: str = ""
    calculation: Calculation | None = seldom(
        None, "how its numbers follow from quoted ones; absent where none was given"
    )
    differences: Differences | None = seldom(
        None, "of a claim that does not hold: the nearest sentence of its pages; it decides nothing"
    )


class Section(Frozen):
    """A section of a report: its heading, its sentences, and its questions that stay open."""

    heading: str
    claims: tuple[Claim, ...]
    open: tuple[str, ...] = seldom(())


class Report(Frozen):
    """A report without its executive summary, which is the answer's text.

    `compared`: questions of its sections to which several sources were found.
    """

    title: str
    themes: tuple[Section, ...]
    conflicts: tuple[Claim, ...] = ()
    compared: int = 0
