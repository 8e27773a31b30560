"""What an answer is said in, whatever the form: Markdown and HTML have the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.evidence.citing import written
from agent.state import Claim, Verdict

if TYPE_CHECKING:  # which is made of these words itself
    from agent.answer import Answer, Citation
    from agent.answer.report import Methodology

NO_CONFLICTS = "No significant conflicting information was found."
#: What is said after a sentence; nothing where its quotes confirm it.
MARKS: dict[Verdict, str] = {
    "partial": "partly confirmed",
    "unsupported": "not confirmed",
    "unchecked": "not checked",
}
STATUSES = {
    "complete": "complete",
    "partial": "partial: stopped early",
    "insufficient": "insufficient: the sources do not say",
    "error": "error",
}


class Sentence(NamedTuple):
    """A claim cut at the place of its markers: before the full stop."""

    body: str
    citations: tuple[int, ...]
    end: str
    mark: str


def sentence(claim: Claim) -> Sentence:
    """A claim as the answer has it, in pieces."""
    mark = MARKS.get(claim.verdict, "")
    markers = "".join(f"[{n}]" for n in claim.citations)
    body, _, end = written(claim).rpartition(markers) if markers else (claim.text, "", "")
    return Sentence(body, claim.citations, end, mark)


def checked(claims: Iterable[Claim]) -> str:
    """What checking the sentences of an answer said, counted; "" where there are none."""
    counts = Counter(claim.verdict for claim in claims)
    if not counts:
        return ""
    told = [f"{counts['supported']} confirmed by quotes"]
    told += [f"{counts[verdict]} {mark}" for verdict, mark in MARKS.items() if counts[verdict]]
    return f"{_count(counts.total(), 'sentence')}: {', '.join(told)}"


def every_claim(answer: Answer) -> list[Claim]:
    """The claims of an answer and of its report, in the order in which they are read."""
    report = answer.report
    themes = [claim for part in report.sections for claim in part.sentences] if report else []
    return [*answer.claims, *themes, *(report.conflicts if report else ())]


def methodology(told: Methodology) -> list[tuple[str, str]]:
    """How a report came about, line by line."""
    searches = f": {'; '.join(told.searches)}" if told.searches else ""
    also = f", and {_count(told.snippets, 'search snippet')}" if told.snippets else ""
    analysed = f"{told.analysed} of {_count(told.candidates, 'candidate')}{also}"
    return [
        ("Initial question", told.question),
        ("Searches", f"{len(told.searches)}{searches}"),
        ("Sources analysed", analysed),
        ("Sources blocked", str(told.blocked)),
        ("Sources not readable", str(told.failed)),
    ]


def by_source(citations: Iterable[Citation]) -> dict[int, list[Citation]]:
    """Citations by the number of their source, in order."""
    found: dict[int, list[Citation]] = {}
    for citation in sorted(citations, key=lambda citation: (citation.id, citation.start)):
        found.setdefault(citation.id, []).append(citation)
    return found


def how(citation: Citation) -> str:
    """How a source was read, and how far it may be trusted."""
    read = "page" if citation.via == "page" else "only the search's snippet"
    worth = citation.credibility
    reason = f" ({worth.reason})" if worth.reason else ""
    return f"{read} read {citation.retrieved_at}; credibility {worth.score:.2f}{reason}"


class Row(NamedTuple):
    """A slot as it is shown; values are plain JSON, and each has those who say it."""

    name: str
    value: Any
    citations: tuple[int, ...]
    alternatives: list[tuple[Any, tuple[int, ...]]]
    status: str


def rows(answer: Answer) -> list[Row]:
    """The slots of an answer."""
    return [_row(name, slot.model_dump(mode="json")) for name, slot in answer.slots.items()]


def _row(name: str, slot: dict[str, Any]) -> Row:
    status = slot["status"]
    if status == "filled":
        status = f"filled, confidence {slot['confidence']:.2f}"
    others = [_alternative(other) for other in slot["alternatives"]]
    against = {n for _, citations in others for n in citations}
    own = tuple(n for n in slot["citations"] if n not in against)
    return Row(name, slot["value"], own, others, status)


def _alternative(other: Any) -> tuple[Any, tuple[int, ...]]:
    """A value against the slot's own: alone, or an object that says whose it is."""
    if isinstance(other, dict) and "value" in other:
        return other["value"], tuple(other.get("citations", ()))
    return other, ()


def scalar(value: Any) -> str:
    """A JSON value that is no list and no object, in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not found" if value is None else str(value)


def flat(value: Any) -> str:
    """Any JSON value on one line: `name: Messi, minute: 23; name: ...`."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_nested(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_nested(inner) for inner in value) or "none"
    return scalar(value)


def _nested(value: Any) -> str:
    """A value inside another; a list or object in a list or object in brackets."""
    deep = isinstance(value, dict | list) and any(
        isinstance(inner, dict | list)
        for inner in (value.values() if isinstance(value, dict) else value)
    )
    return f"({flat(value)})" if deep else flat(value)


def about(answer: Answer) -> list[tuple[str, str]]:
    """What the run was and took, line by line."""
    run, usage = answer.run, answer.usage
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    price = "price not known" if usage.usd is None else f"${usage.usd:.4f}"
    calls = f"{_count(usage.llm_calls, 'model call')}, {tokens}, {price}"
    asked = f"{_count(usage.searches, 'search', 'searches')}, {_count(usage.pages, 'page')}"
    spent = f"{calls}; {asked}, {_count(usage.rounds, 'round')}, {usage.seconds:.1f} s"
    if run is None:
        return [("Spent", spent)]
    lines = [
        ("Run", f"{run.id}, strategy {run.strategy}, {run.started_at}"),
        ("Models", ", ".join(run.models)),
        ("Search", ", ".join(run.providers)),
        ("Spent", spent),
        ("Journal", run.journal or ""),
    ]
    return [(label, text) for label, text in lines if text]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(numbers: Sequence[int]) -> str:
    """`[1][2]`."""
    return "".join(f"[{n}]" for n in numbers)
