"""The wording of an answer that all formats for people share: Markdown, HTML and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agent.evidence.citing import render_claim
from agent.evidence.markdown import split_cells
from agent.outside.budget import CallUsage
from agent.state import Claim, Verdict

if TYPE_CHECKING:  # at run time, building an answer imports this module
    from agent.answer import Answer, Citation, SlotAnswer
    from agent.answer.report import Methodology, ReportAnswer
    from agent.evidence.credibility import Credibility

NO_CONFLICTS = "No significant conflicting information was found."
NOT_COMPARED = "What the sources say was not compared value by value."
#: What is shown after a sentence with this verdict; nothing for `supported`.
VERDICT_LABELS: dict[Verdict, str] = {
    "partial": "partly confirmed",
    "unsupported": "not confirmed",
    "contradicted": "contradicted by its source",
    "unchecked": "not checked",
}
#: How a slot is told of by its status.
SLOT_LABELS = {"filled": "found", "missing": "not found", "conflict": "sources disagree"}
SEVERAL_THINGS = "several things of this name"
#: What is said of a site by its standing, which is at least so much: 0 to 1.
STANDING_LABELS = ((0.7, "Reliable"), (0.5, "Mixed"), (0.4, "Not rated"), (0.0, "With care"))
STATUSES = {
    "complete": "complete",
    "partial": "partial: not all of it is found and confirmed",
    "insufficient": "insufficient: the sources do not say",
    "error": "error",
}


def describe_followed(answer: Answer) -> str:
    """How a topic was understood after an earlier question; "" where it follows none."""
    follows = answer.run.follows if answer.run else None
    if follows is None or not follows.understood:
        return ""
    return f"Understood as: {follows.understood} It follows: {follows.question}"


#: A label and a text.
LabelledText = tuple[str, str]


class SentenceParts(NamedTuple):
    """A claim split where its markers stand, which is before its final punctuation."""

    body: str
    citations: tuple[int, ...]
    end: str
    verdict: str  # in words; "" for `supported`


def split_sentence(claim: Claim) -> SentenceParts:
    """Split a claim as the text of the answer shows it."""
    verdict = VERDICT_LABELS.get(claim.verdict, "")
    markers = "".join(f"[{n}]" for n in claim.citations)
    body, _, end = render_claim(claim).rpartition(markers) if markers else (claim.text, "", "")
    return SentenceParts(body, claim.citations, end, verdict)


class Block(NamedTuple):
    """Claims that are shown together: sentences as a paragraph, items as a list, rows as a table.

    `intro` stands above a list or a table; `head` has the cells of a table's head.
    """

    form: Literal["sentence", "item", "row"]
    intro: str
    head: list[str]
    claims: list[Claim]


def group_claims(claims: Iterable[Claim]) -> list[Block]:
    """Claims in the blocks in which they are shown, in order."""
    groups = groupby(claims, key=lambda claim: (claim.form, claim.intro))
    return [_make_block(form, intro, list(some)) for (form, intro), some in groups]


def _make_block(form: Any, intro: str, claims: list[Claim]) -> Block:
    lines = [] if form == "sentence" else [line.strip() for line in intro.splitlines()]
    table = [line for line in lines if form == "row" and line.startswith("|")]
    above = " ".join(line for line in lines if line and line not in table)
    return Block(form, above, read_cells(table[0]) if table else [], claims)


def read_cells(row: str) -> list[str]:
    """The cells of a row of a Markdown table, as they read."""
    return [cell.replace("\\|", "|") for cell in split_cells(row)]


def describe_conflicts(report: ReportAnswer) -> str:
    """What is said of conflicts where the report names none."""
    return NO_CONFLICTS if report.compared else NOT_COMPARED


def describe_verdicts(claims: Iterable[Claim]) -> str:
    """How many sentences have which verdict, in words; "" without sentences."""
    counts = Counter(claim.verdict for claim in claims)
    if not counts:
        return ""
    parts = [f"{counts['supported']} confirmed by quotes"]
    parts += [
        f"{counts[verdict]} {label}" for verdict, label in VERDICT_LABELS.items() if counts[verdict]
    ]
    return f"{_format_count(counts.total(), 'sentence')}: {', '.join(parts)}"


def all_claims(answer: Answer) -> list[Claim]:
    """The claims of an answer and of its report, in reading order."""
    report = answer.report
    themes = [claim for theme in report.sections for claim in theme.sentences] if report else []
    return [*answer.claims, *themes, *(report.conflicts if report else ())]


def describe_methodology(methodology: Methodology) -> list[LabelledText]:
    """How a report came about, a line each."""
    searches, snippets = methodology.searches, methodology.snippets
    queries = f": {'; '.join(searches)}" if searches else ""
    also = f", and {_format_count(snippets, 'search snippet')}" if snippets else ""
    candidates = _format_count(methodology.candidates, "candidate")
    return [
        ("Initial question", methodology.question),
        ("Searches", f"{len(searches)}{queries}"),
        ("Sources analysed", f"{methodology.analysed} of {candidates}{also}"),
        ("Sources blocked", str(methodology.blocked)),
        ("Sources not readable", str(methodology.failed)),
    ]


def group_by_source(citations: Iterable[Citation]) -> dict[int, list[Citation]]:
    """Citations by the number of their source, both in ascending order."""
    by_source: dict[int, list[Citation]] = {}
    for citation in sorted(citations, key=lambda citation: (citation.id, citation.start)):
        by_source.setdefault(citation.id, []).append(citation)
    return by_source


def describe_source(citation: Citation) -> str:
    """What was read of a source and when, its date, and its credibility."""
    text = describe_limits(citation) or "page"
    date = f"dated {citation.date}" if citation.date else ""
    credibility = describe_credibility(citation.credibility)
    return "; ".join(filter(None, (f"{text} read {citation.retrieved_at}", date, credibility)))


def describe_limits(citation: Citation) -> str:
    """Why what was read is not the page itself, or not all of it; "" where it is."""
    if citation.via == "snippet":
        return "only the search's snippet"
    given = f"the page's text as {citation.text_from} gives it" if citation.text_from else ""
    partial = f"partial text ({citation.partial_text})" if citation.partial_text else ""
    return ", ".join(filter(None, (given, partial)))


def describe_credibility(credibility: Credibility) -> str:
    """How far a source may be trusted, in words: `Reliable: a newspaper of record`."""
    label = next(label for least, label in STANDING_LABELS if credibility.domain >= least)
    return f"{label}: {credibility.reason}" if credibility.reason else label


class SlotRow(NamedTuple):
    """A slot as it is shown. Values are plain JSON, each with the numbers of its sources.

    Of several things of one name each value is a text that names its thing.
    """

    name: str
    value: Any
    citations: tuple[int, ...]
    alternatives: list[tuple[Any, tuple[int, ...]]]
    kind: str  # `filled`, `missing` or `conflict`
    status: str  # in words
    is_disputed: bool  # whether the alternatives speak against the value


def slot_rows(answer: Answer) -> list[SlotRow]:
    """The slots of an answer as rows of a table."""
    return [_slot_row(name, slot.model_dump(mode="json")) for name, slot in answer.slots.items()]


def _slot_row(name: str, slot: dict[str, Any]) -> SlotRow:
    kind = slot["status"]
    alternatives = [_split_alternative(alternative) for alternative in slot["alternatives"]]
    opposing = {n for _, citations in alternatives for n in citations}
    supporting = tuple(n for n in slot["citations"] if n not in opposing)
    sources = f", {_format_count(len(supporting), 'source')}" if kind == "filled" else ""
    status = f"{SLOT_LABELS[kind]}{sources}"
    of = slot.get("of", "")
    if of and kind == "filled":
        status = f"{SLOT_LABELS[kind]}, {SEVERAL_THINGS}"
    value = _name_thing(slot["value"], of)
    is_disputed = bool(alternatives) and (kind == "conflict" or not of)
    return SlotRow(name, value, supporting, alternatives, kind, status, is_disputed)


def describe_slot(slot: SlotAnswer) -> str:
    """How far a value is to be believed, in words."""
    if slot.status == "missing" or slot.value is None:
        return ""
    if slot.status == "conflict":
        return "sources disagree"
    if slot.of:
        return SEVERAL_THINGS
    labels = {**VERDICT_LABELS, "supported": "confirmed", "unchecked": ""}
    sources = _format_count(len(slot.citations), "source")
    return ", ".join(filter(None, (labels[slot.verdict], sources)))


def _split_alternative(alternative: Any) -> tuple[Any, tuple[int, ...]]:
    """The value of an alternative and its sources; a bare value has none."""
    if isinstance(alternative, dict) and "value" in alternative:
        value = _name_thing(alternative["value"], alternative.get("of", ""))
        return value, tuple(alternative.get("citations", ()))
    return alternative, ()


def _name_thing(value: Any, of: str) -> Any:
    """A value with what it is of, if that is told: `1938 (Winter Orchard (novel))`."""
    return f"{format_scalar(value)} ({of})" if of else value


def format_scalar(value: Any) -> str:
    """A JSON value other than a list or an object, in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not found" if value is None else str(value)


def format_value(value: Any) -> str:
    """Any JSON value on one line: `name: Messi, minute: 23; name: ...`."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_format_nested(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_format_nested(inner) for inner in value) or "none"
    return format_scalar(value)


def _format_nested(value: Any) -> str:
    """A value inside another, in parentheses if it holds a list or an object itself."""
    is_deep = isinstance(value, dict | list) and any(
        isinstance(inner, dict | list)
        for inner in (value.values() if isinstance(value, dict) else value)
    )
    return f"({format_value(value)})" if is_deep else format_value(value)


def describe_run(answer: Answer) -> list[LabelledText]:
    """What the run was and what it spent, a line each; lines without text are left out."""
    run, usage = answer.run, answer.usage
    cached = sum(model.cached_tokens for model in usage.by_model.values())
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    tokens += f" ({cached:,} of them from a cache)" if cached else ""
    price = format_usd(usage.usd)
    calls = _format_count(usage.llm_calls, "model call")
    searches = _format_count(usage.searches, "search", "searches")
    pages, rounds = _format_count(usage.pages, "page"), _format_count(usage.rounds, "round")
    spent = f"{calls}, {tokens}, {price}; {searches}, {pages}, {rounds}, {usage.seconds:.1f} s"
    if run is None:
        return [("Spent", spent)]
    lines = [
        ("Run", f"{run.id}, strategy {run.strategy}, {run.started_at}"),
        ("Models", ", ".join(run.models)),
        ("Search", ", ".join(run.providers)),
        ("Spent", spent),
    ]
    return [(label, text) for label, text in lines if text]


def describe_status(answer: Answer) -> str:
    """The status as a sentence, and whether something stood in for what was asked."""
    status = STATUSES[answer.status]
    stood_in = "; something stood in for what was asked for" if answer.degraded else ""
    return f"{status[:1].upper()}{status[1:]}{stood_in}."


def summarize_run(answer: Answer) -> str:
    """What the run was and what it took, on one line."""
    usage, run = answer.usage, answer.run
    parts = [
        answer.status.capitalize(),
        *describe_usage(usage),
        f"{usage.seconds:.1f} s",
        *(run.models if run else ()),
        *([f"run {run.id}"] if run and run.journal else ()),
    ]
    return " · ".join(parts)


def describe_usage(usage: CallUsage) -> list[str]:
    """What was searched, read and paid so far; what is none is left out."""
    parts = [
        _format_count(usage.searches, "search", "searches") if usage.searches else "",
        _format_count(usage.pages, "page") if usage.pages else "",
        format_usd(usage.usd) if usage.usd or usage.llm_calls else "",
    ]
    return [part for part in parts if part]


def format_usd(usd: float | None) -> str:
    """US dollars with as many digits as mean something: $12.40, $0.013, $0.0021, under $0.0001."""
    if usd is None:
        return "price not known"
    if 0 < usd < 0.0001:
        return "under $0.0001"
    if usd >= 0.1 or usd == 0:
        return f"${usd:.2f}"
    return f"${usd:.{3 if usd >= 0.01 else 4}f}"


def _format_count(number: int, singular: str, plural: str = "") -> str:
    """A count with its noun: `1 page`, `1,200 pages`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
