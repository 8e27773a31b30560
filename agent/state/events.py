"""Events: everything that a run remembers. Each is named by a past participle."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent.state.claims import Claim, Draft, Finding, Report, Slot, Statement
from agent.state.plans import Plan
from agent.state.reports import CheckedClaim
from agent.state.values import Attempt, Frozen, Hit, Outcome, Page, Quote, SearchResults


class Started(Frozen):
    """The run began."""

    type: Literal["started"] = "started"
    topic: str
    strategy: str
    slots: tuple[Slot, ...] = ()


class Asked(Frozen):
    """A model was asked to do a task. `confidence` is that of rules in an answer that they made."""

    type: Literal["asked"] = "asked"
    task: str
    model: str
    confidence: float | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_by_rules(self) -> bool:
        """Whether rules answered, and no model."""
        return self.model == "extractive"


class Planned(Plan):
    """A report was planned, by a model or by the user."""

    type: Literal["planned"] = "planned"


class Understood(Frozen):
    """A question that follows another run was understood: `topic` is that question in full.

    With `queries` the pages of the earlier runs are searched, before any round. `slots` are those
    that it asks for.
    """

    type: Literal["understood"] = "understood"
    topic: str
    queries: tuple[str, ...]
    slots: tuple[Slot, ...] = ()
    is_plan_fit: bool = True


class Recalled(Frozen):
    """The pages that earlier runs read were searched, before every round."""

    type: Literal["recalled"] = "recalled"
    found: SearchResults


class OfSection(Frozen):
    """An event of one section of a report: its number, from 1; 0 for what is of the whole run."""

    section: int = Field(default=0, exclude_if=lambda n: not n)


class Queried(OfSection):
    """The queries of a round were made; in the first round the slots too.

    A plan is not fit if it has slots and no word of the topic asks for one of them.
    """

    type: Literal["queried"] = "queried"
    round: int
    queries: tuple[str, ...]
    slots: tuple[Slot, ...] = ()
    is_plan_fit: bool = True


class Decided(Frozen):
    """The action of a step of the loop was chosen. `none`: nothing is done; `note`: the reason."""

    type: Literal["decided"] = "decided"
    step: int
    action: Literal["search_web", "return_answer", "none"]
    note: str = ""


class Searched(OfSection):
    """A query was searched."""

    type: Literal["searched"] = "searched"
    round: int
    found: SearchResults


class PageRead(Frozen):
    """A page became a source."""

    type: Literal["page_read"] = "page_read"
    page: Page
    hit: Hit


class Blocked(Frozen):
    """A page was not read: the credibility of its host is not above the threshold."""

    type: Literal["blocked"] = "blocked"
    hit: Hit
    score: float
    threshold: float


class Doubted(Frozen):
    """What a round of a report left open, and what is searched for it in the next one."""

    type: Literal["doubted"] = "doubted"
    gaps: tuple[str, ...]
    follow_up_queries: tuple[str, ...] = ()


class Reflected(OfSection):
    """The slots were evaluated.

    `said`: new statements of sources about slots. `findings`: what all statements so far amount to.
    `answerable`: whether the reader says that the sources answer the topic. `draft`: its answer;
    None where it was not asked for one, or where no model read.
    """

    type: Literal["reflected"] = "reflected"
    round: int
    findings: tuple[Finding, ...]
    said: tuple[Statement, ...] = ()
    answerable: bool = True
    draft: Draft | None = None
    computed: Answered | None = None  # the answer that a query of tables gives
    need_more: bool
    new_queries: tuple[str, ...] = ()


class Composed(Frozen):
    """An answer: text with `[n]` markers, each of which has a quote.

    Without quotes the sources are insufficient: `closest` is then what came nearest to answering.
    With a `report`, `text` and `claims` are its executive summary.
    """

    text: str
    quotes: tuple[Quote, ...]
    claims: tuple[Claim, ...]
    report: Report | None = None
    closest: tuple[Quote, ...] = ()


class Answered(Composed):
    """The answer was written; its claims are not yet checked."""

    type: Literal["answered"] = "answered"


class Verified(Composed):
    """The answer was checked: every claim has a verdict. `dropped`: claims that were removed.

    `findings`: those of the last reflection, with the verdict on each value.
    """

    type: Literal["verified"] = "verified"
    dropped: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()


class Checked(Frozen):
    """The sentences of somebody's report that cite a source were checked."""

    type: Literal["checked"] = "checked"
    claims: tuple[CheckedClaim, ...]


class LookedUp(Frozen):
    """Registries were asked whether a cited work was retracted. `notice` is "" if none says so."""

    type: Literal["looked_up"] = "looked_up"
    url: str
    notice: str


class Failed(Frozen):
    """A call failed and the run went on. `stand_in`: what was used for a page."""

    type: Literal["failed"] = "failed"
    what: Literal["llm", "search", "page"]
    subject: str
    outcome: Outcome
    message: str
    remedy: str = ""
    stand_in: str = ""
    attempts: tuple[Attempt, ...] = ()


class Warned(Frozen):
    """The user is to be warned of something. The message is for people: code goes by `kind`."""

    type: Literal["warned"] = "warned"
    message: str
    kind: Literal["", "nothing_blocked"] = ""


class Halted(Frozen):
    """Gathering ended early: the answer comes from what was read so far."""

    type: Literal["halted"] = "halted"
    reason: str
    is_stop: bool = False  # the user stopped it; else a limit did


Event = Annotated[
    Started
    | Asked
    | Planned
    | Understood
    | Recalled
    | Queried
    | Decided
    | Searched
    | PageRead
    | Blocked
    | Doubted
    | Reflected
    | Answered
    | Verified
    | Checked
    | LookedUp
    | Failed
    | Warned
    | Halted,
    Field(discriminator="type"),
]
