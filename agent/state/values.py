"""The values of a run: immutable, and the same after a round trip through JSON."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from operator import not_
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from agent.state.json_data import Json, get_path
from agent.state.places import Place


class Frozen(BaseModel):
    """An immutable value, the same after a round trip through JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def seldom(default: Any, description: str | None = None) -> Any:
    """A field that most values lack: where it is empty, JSON does not have it."""
    return Field(default=default, exclude_if=not_, description=description)


MAX_TOKENS = 10**12  # of one call: no service counts so many, so they can be summed
SHORTEST_TITLE = 20  # letters by which a work is known; "Introduction" has 12. Set by hand
Scalar = str | int | float | bool

#: How a try at a service ended.
Outcome = Literal[
    "ok",
    "empty",  # a valid reply without content
    "no_key",
    "bad_key",
    "no_credit",
    "rate_limited",
    "timeout",
    "unavailable",  # 5xx, refused or cut connection
    "invalid",  # a reply in the wrong form: no JSON, another schema, cut off
    "blocked",  # a safety filter, a consent or captcha page, robots.txt
    "forbidden",  # an address or a scheme that this program does not connect to
    "not_found",
    "unsupported",  # a content type from which no text can be extracted
    "too_long",  # the prompt does not fit the model's window
    "rejected",  # any other 4xx
    "skipped",  # not asked: a limit of the user's settings
    "missed",  # given up, since it was much slower than the others of its group
]


class Form(Frozen):
    """The type of a slot's value and, as JSON Schema keywords, further limits.

    `text` is the type of a slot without a schema: any value will do.
    """

    type: Literal["text", "string", "integer", "number", "boolean", "date", "date-time"] = "text"
    options: tuple[Scalar, ...] = ()
    limits: dict[str, Any] = Field(default_factory=dict)


class Slot(Frozen):
    """A fact that an answer needs: `goalscorers`, `final.date`, `goals[].minute`.

    `[]` in a name stands for each item of a list: such a slot has one value for each item. A slot
    that the caller named is `needed`; a plan says of each slot whether it is.
    """

    name: str
    description: str = ""
    form: Form = Form()
    needed: bool = True  # without it the answer is not complete
    #: By the caller or by words of the topic. Else only pages that name it support it.
    is_asked: bool = Field(default=True, exclude_if=lambda is_asked: is_asked)


class Attempt(Frozen):
    """One try at a service: who was asked, and how it went."""

    what: Literal["llm", "search", "page"]
    provider: str
    outcome: Outcome
    detail: str = ""
    remedy: str = ""
    seconds: float = 0.0
    #: That could not be parsed: in the journal and in events, never in an answer.
    reply: SkipJsonSchema[str] = Field(default="", exclude_if=lambda text: not text)


class ModelCost(Frozen):
    """What one model was paid for in one call: replies that could not be used count too.

    Cached tokens are part of the input. `usd` is None if the price is not known.
    """

    provider: str
    model: str
    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    cached_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)


class Hit(Frozen):
    """One result of a search engine: a page, as the engine describes it.

    `work`: where it is a scholarly work, that as an item of CSL-JSON with its abstract; `source` is
    the service that tells of it, `status` may be `retracted`, and `type` `article` is a preprint:
    https://docs.citationstyles.org/en/stable/specification.html#appendix-iv-variables. `places` are
    addresses of the whole of its text.

    `generated`: the snippet has the words of a model, not of the page. It helps to choose a page
    and is never a source. `computed`: the result of a computation, which is the page.
    """

    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None
    generated: bool = False
    computed: str = Field(default="", exclude_if=lambda text: not text, repr=False)
    work: Json | None = seldom(None)
    places: tuple[str, ...] = seldom(())
    retrieved_at: str = seldom("")
    own: str = seldom("")  # the source of the user's own that found it beside others

    def __hash__(self) -> int:
        return hash((self.url, self.title, self.snippet))

    @property
    def is_retracted(self) -> bool:
        """Whether it is a work that was retracted: it weighs nothing, and proves nothing alone."""
        return is_retracted(self.work)


def is_retracted(work: Json | None) -> bool:
    """Whether a work is one that was retracted."""
    return bool(get_path(work, "status") == "retracted")


def work_key(work: Json | None) -> str:
    """Title and first author, alike in all versions of a work; "" where they tell too little."""
    first = get_path(work, "author", 0) or {}
    texts = (get_path(work, "title"), first.get("family") or first.get("literal"))
    plain = (unicodedata.normalize("NFKD", str(text or "")).casefold() for text in texts)
    title, name = ("".join(filter(str.isalnum, text)) for text in plain)
    return f"{title}|{name}" if len(title) >= SHORTEST_TITLE and name else ""


class SearchResults(Frozen):
    """The results of one search, best first. `attempts` lists the providers that were tried.

    Tokens and US dollars are those of providers that cost money: None, if a price is not known.
    """

    query: str
    hits: tuple[Hit, ...]
    provider: str
    attempts: tuple[Attempt, ...] = ()
    at: str = ""  # UTC, ISO 8601, to the second
    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)


class PageDetails(TypedDict, total=False):
    """The fields of a page that not every page has."""

    via: Literal["page", "snippet"]
    places: tuple[Place, ...]
    date: str
    text_from: str
    partial_text: str
    copy_of: str


class Page(Frozen):
    """A page that was read. Every quote and offset refers to its `text`.

    `url` is the address after redirects. `sha256` is the hash of the text. `retrieved_at` is UTC,
    ISO 8601, to the second. `via` is `snippet` where the text is only that of a search result.
    `places` say where in a document the parts of the text stand: see `find_place`. `date`, as
    YYYY-MM-DD, is when the page was last changed, or else published, as it says itself. `text_from`
    names the search service whose text of the page this is; "" where the page itself was read.
    `partial_text` says in words why the text is not all of the page; "" where it is. `copy_of` is
    the address of the page of which this is an archived copy. `attempts` are the tries at reading
    it, where more than one was made.
    """

    url: str
    title: str
    text: str
    sha256: str
    retrieved_at: str
    via: Literal["page", "snippet"] = "page"
    places: tuple[Place, ...] = seldom(())
    date: str = seldom("")
    text_from: str = seldom("")
    partial_text: str = seldom("")
    copy_of: str = seldom("")
    attempts: tuple[Attempt, ...] = seldom(())

    @classmethod
    def from_text(
        cls, url: str, title: str, text: str, retrieved_at: str, **details: Unpack[PageDetails]
    ) -> Page:
        """A page, with the hash of its text. UnicodeEncodeError for text with a lone surrogate."""
        return cls(
            url=url,
            title=title,
            text=text,
            sha256=hash_text(text),
            retrieved_at=retrieved_at,
            **details,
        )


def hash_text(text: str, errors: Literal["strict", "replace"] = "strict") -> str:
    """SHA-256 of a page's text in UTF-8, as hexadecimal digits.

    `errors` says what is done about lone surrogates, as in `str.encode`.
    """
    return hashlib.sha256(text.encode("utf-8", errors)).hexdigest()


class Source(Frozen):
    """A page that was read, with its number, which stays the same for the whole run."""

    n: int
    page: Page
    hit: Hit

    @classmethod
    def of(cls, n: int, page: Page, hit: Hit) -> Source:
        """A source whose hit has a date where the search or the page itself names one."""
        dated = hit if hit.date or not page.date else hit.model_copy(update={"date": page.date})
        return cls(n=n, page=page, hit=dated)


class Quote(Frozen):
    """Words of a source, verbatim: `page.text[start:end] == text`."""

    source: int
    text: str
    start: int
    end: int
    match: Literal["exact", "normalized"]


class Cited(Frozen):
    """The words of a source that a sentence stands on."""

    source: int = Field(default=0, description="id of the source")
    quote: str = Field(default="", description="the words of that source, copied exactly")


class Draft(Frozen):
    """An answer as a model writes it."""

    answer: str = Field(
        description="the answer, each sentence ending with its [n]; empty if the sources do not say"
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

    `of`: what it is a value of, where sources tell of several things of one name; of several right
    answers the value itself. Of another thing it is no value against the first one.
    """

    value: Scalar
    citations: tuple[int, ...]
    weight: float
    of: str = seldom("")


def name_thing(value: object, of: str) -> str:
    """A value in words, with what it is of where that is another thing: `1938 (the novel)`."""
    return f"{value} ({of})" if of not in ("", str(value)) else str(value)


#: `supported`: a judge said so, or it was computed. `quoted`: no judge was asked, and the page says
#: it word for word. `unchecked`: nobody judged it, and it is not the page's own.
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


MAX_EARLIER = 3  # questions that a run which follows others knows
LONGEST_EARLIER = 1000  # characters of an earlier question, and of its answer


class EarlierAnswer(Frozen):
    """A question of an earlier run, in full, and its answer; "" where it found none."""

    question: str = Field(max_length=LONGEST_EARLIER)
    answer: str = Field(default="", max_length=LONGEST_EARLIER)


class Operand(Frozen):
    """A number of a calculation: as it is written there, and where it stands on its source."""

    text: str
    citation: int = Field(description="the number of the source")
    start: int
    end: int


class Calculation(Frozen):
    """Arithmetic that gives a number of a claim: over numbers that stand in its quotes."""

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
    """A sentence of the answer, an item of a list or a row of a table, and what checking it said.

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
