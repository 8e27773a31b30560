"""The values of a run: immutable, and the same after a round trip through JSON."""

from __future__ import annotations

import hashlib
import unicodedata
from operator import not_
from typing import Any, Literal

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
    the service that names it, `status` may be `retracted`, and `type` `article` is a preprint:
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
    own: str = seldom("")  # the source of the user's own that found it too

    def __hash__(self) -> int:
        return hash((self.url, self.title, self.snippet))

    @property
    def is_retracted(self) -> bool:
        """Whether it is a retracted work: it weighs nothing, and proves nothing alone."""
        return is_retracted(self.work)


def is_retracted(work: Json | None) -> bool:
    """Whether a work is one that was retracted."""
    return bool(get_path(work, "status") == "retracted")


def work_key(work: Json | None) -> str:
    """Title and first author, alike in all versions of a work; "" where they are too short."""
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


class Page(Frozen):
    """A page that was read. Every quote and offset refers to its `text`.

    `url` is the address after redirects. `sha256` is the hash of the text. `retrieved_at` is UTC,
    ISO 8601, to the second. `via` is `snippet` where the text is only that of a search result.
    `places` say where in a document the parts of the text are: see `find_place`. `date`, as
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
    def from_text(cls, url: str, title: str, text: str, retrieved_at: str, **details: Any) -> Page:
        """A page, with the hash of its text. UnicodeEncodeError for text with a lone surrogate.

        `details` are further fields.
        """
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
