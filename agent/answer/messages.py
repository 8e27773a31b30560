"""The wording of an answer that all formats for people share: Markdown, HTML and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.answer.counts import count_verdicts, format_count
from agent.answer.states import BY_STATUS, State
from agent.calls.budget import CallUsage
from agent.evidence.draft_markdown import split_cells
from agent.slots import weighing
from agent.state import Calculation, Claim, Finding, Scalar, Verdict, is_retracted, name_thing
from agent.state.json_data import Json, get_path

if TYPE_CHECKING:  # at run time, building an answer imports this module
    from agent.answer.report import ReportAnswer
    from agent.answer.schema import Answer, Citation, SlotAnswer
    from agent.evidence.credibility import Credibility

MOST_AUTHORS = 3  # that are named
NO_CONFLICTS = "No significant conflicting information was found."
TOLD_ELSEWHERE = "What was found for this is elsewhere in the report."
DISPUTED = "See Conflicting Information below for what the sources disagree about."
NOT_COMPARED = "No values from two sources could be compared."
#: What became of a page that was found or tried.
BECAME = {
    "read": "Read",
    "snippet": "Read as a search snippet",
    "blocked": "Blocked",
    "failed": "Not readable",
    "found": "Found but not opened",
}
#: What is said of a slot without a settled value.
SLOT_LABELS = {"missing": "", "conflict": "sources disagree"}
SEVERAL_THINGS = "several things of this name"
#: The words for the credibility of a site, from the least score for each: 0 to 1.
STANDING_LABELS = ((0.7, "Reliable"), (0.5, "Mixed"), (0.4, ""), (0.0, "With care"))
STOOD_IN = "A substitute was used for a service that failed."
QUOTED = "Quoted word for word"
CLOSEST = "Closest that was read"
DISAGREE = "Sources disagree"
#: What to try where nothing answers, by the role of its line.
TRIES = {"deeper": "Search deeper: more rounds, more pages", "rephrase": "Ask in other words"}
#: How a claim was judged, by its verdict; for one that is supported, by whom.
VERDICT_REASONS: dict[Verdict, str] = {
    "quoted": f"{QUOTED}; no model checked it.",
    "partial": "Partly confirmed: the quote supports only part of this.",
    "unsupported": "Not confirmed: the quote does not say this.",
    "contradicted": "Contradicted: the quote says something else.",
    "unchecked": "Not checked.",
}


def describe_followed(answer: Answer) -> str:
    """How a topic was understood after an earlier question; "" where it follows none."""
    follows = answer.run.follows if answer.run else None
    if follows is None or not follows.understood:
        return ""
    return f"Understood as: {follows.understood} It follows: {follows.question}"


def describe_calculation(made: Calculation) -> str:
    """What a calculation gives, and how: `75 = 100 * 3 / (3 + 1)`."""
    value = "" if made.value is None else f"{round(made.value, 3):,} = "
    return f"{value}{made.expression}"


def read_cells(row: str) -> list[str]:
    """The cells of a row of a Markdown table, as they read."""
    return [cell.replace("\\|", "|") for cell in split_cells(row)]


def explain_nothing(answer: Answer) -> str:
    """Why there is no answer; "" where there is one, or an error."""
    if answer.status != "insufficient":
        return ""
    read = "Nothing that was read answers this."
    return read if answer.sources.read else "No page was read, so there is nothing to answer from."


def describe_page(citation: Citation) -> str:
    """Which page a quote is of: title, address, date, and how far it may be trusted."""
    credibility = describe_credibility(citation.credibility)
    parts = (shown_title(citation), citation.url, citation.date, credibility)
    return " · ".join(filter(None, parts))


def explain_verdict(claim: Claim) -> str:
    """How a sentence was judged, in words."""
    if claim.verdict != "supported":
        return VERDICT_REASONS[claim.verdict]
    if claim.by == "calculation":
        return "Confirmed: recomputed from the quoted numbers."
    return f"Confirmed by {claim.by or 'a second reading'}: the quote says this."


def describe_checks(answer: Answer) -> list[tuple[str, str]]:
    """What was checked of an answer and what was not, a line each, by `check`, `half` or `open`."""
    claims = all_claims(answer)
    by = Counter(claim.by for claim in claims if claim.verdict == "supported")
    models = [name for name in by if name not in ("", "rule", "calculation")]
    quoted = sum(claim.verdict == "quoted" for claim in claims)
    judges = ", ".join(models)
    exact = sum(one.match == "exact" for one in answer.citations)
    lines = [
        ("check", exact, "quote", "found on the page, word for word"),
        (
            "half",
            len(answer.citations) - exact,
            "quote",
            "found on the page apart from case, spaces or punctuation",
        ),
        ("quoted", quoted, "sentence", "quoted word for word, not checked by a model"),
        ("check", by["calculation"], "sentence", "recomputed from quoted numbers"),
        (
            "check",
            sum(by[name] for name in models),
            "sentence",
            f"confirmed by {judges}",
        ),
    ]
    done = [(role, f"{format_count(n, noun)} {what}.") for role, n, noun, what in lines if n]
    return done and [*done, ("open", "Not checked: whether the pages themselves are right.")]


def describe_verdicts(answer: Answer) -> str:
    """How many sentences have which verdict, in words; "" without sentences."""
    return count_verdicts(Counter(claim.verdict for claim in all_claims(answer)))


def all_claims(answer: Answer) -> list[Claim]:
    """The claims of an answer and of its report, in reading order."""
    return [claim for claims in group_claims(answer).values() for claim in claims]


def group_claims(answer: Answer) -> dict[str, tuple[Claim, ...]]:
    """The claims of each text of an answer, by its path."""
    report = answer.report
    if report is None:
        return {"claims": answer.claims}
    sections = {
        f"report.sections[{i}].sentences": one.sentences for i, one in enumerate(report.sections)
    }
    return {"claims": answer.claims, **sections, "report.conflicts": report.conflicts}


def describe_methodology(report: ReportAnswer) -> list[tuple[str, str]]:
    """How a report came about, a line each."""
    methodology = report.methodology
    searches, snippets = methodology.searches, methodology.snippets
    queries = f": {'; '.join(searches)}" if searches else ""
    also = f", and {format_count(snippets, 'search snippet')}" if snippets else ""
    candidates = format_count(methodology.candidates, "candidate")
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
    date = f"dated {citation.date}" if citation.date and not citation.work else ""
    work = describe_work(citation.work or {})
    credibility = describe_credibility(citation.credibility)
    return "; ".join(
        filter(None, (work, f"{text} read {citation.retrieved_at[:10]}", date, credibility))
    )


def describe_work(work: Json) -> str:
    """Who wrote a work, when, where it was published, and its DOI."""
    names = [one.get("family") or one.get("literal") for one in work.get("author", ())]
    names[MOST_AUTHORS:] = ["et al."] if len(names) > MOST_AUTHORS else []
    year = get_path(work, "issued", "date-parts", 0, 0)
    doi = f"doi:{work['DOI']}" if "DOI" in work else ""
    parts = (*names, year and str(year), work.get("container-title") or work.get("publisher"), doi)
    return ", ".join(filter(None, parts))


def shown_title(citation: Citation) -> str:
    """The title of a source, with a mark where it was retracted."""
    return "[RETRACTED] " * is_retracted(citation.work) + citation.title


def describe_limits(citation: Citation) -> str:
    """Why what was read is not the page itself, or not all of it; "" where it is."""
    if citation.via == "snippet":
        return "only the search snippet"
    given = f"the page's text as supplied by {citation.text_from}" if citation.text_from else ""
    partial = f"partial text ({citation.partial_text})" if citation.partial_text else ""
    copy = f"an archived copy of {citation.copy_of}" if citation.copy_of else ""
    return ", ".join(filter(None, (copy, given, partial)))


def describe_credibility(credibility: Credibility) -> str:
    """How far a source may be trusted: `Reliable: a newspaper of record`; "" where not rated."""
    label = next(label for least, label in STANDING_LABELS if credibility.domain >= least)
    return f"{label}: {credibility.reason}" if label and credibility.reason else label


def list_values(slot: SlotAnswer) -> list[tuple[str, tuple[int, ...]]]:
    """The value of a slot and its alternatives in words, each with the numbers of its sources.

    Of several things of one name each value names its thing: `1938 (Winter Orchard (novel))`.
    """
    opposing = {n for other in slot.alternatives for n in other.citations}
    supporting = tuple(n for n in slot.citations if n not in opposing)
    others = ((_name_thing(one.value, one.of), one.citations) for one in slot.alternatives)
    return [(_name_thing(slot.value, slot.of), supporting), *others]


def _name_thing(value: Scalar | None, of: str) -> str:
    shown = "not found" if value is None else str(value)
    shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else shown
    return name_thing(shown, of)


def is_disputed(slot: SlotAnswer) -> bool:
    """Whether the alternatives of a slot speak against its value."""
    rivals = slot.alternatives
    finding = Finding(
        slot="", status=slot.status, alternatives=rivals, weight=slot.weight, of=slot.of
    )
    return slot.status == "conflict" or weighing.is_disputed(finding)


def describe_slot(slot: SlotAnswer) -> str:
    """On how many sources the value of a slot rests, or why it has none."""
    if slot.status != "filled":
        return SLOT_LABELS[slot.status]
    sources = format_count(len(list_values(slot)[0][1]), "source")
    return SEVERAL_THINGS if slot.of else sources


def describe_run(answer: Answer) -> list[tuple[str, str]]:
    """What the run was and what it spent, a line each; lines without text are left out."""
    run, usage = answer.run, answer.usage
    cached = sum(model.cached_tokens for model in usage.by_model.values())
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    tokens += f" ({cached:,} from a cache)" if cached else ""
    price = format_usd(usage.usd)
    calls = format_count(usage.llm_calls, "model call")
    searches = format_count(usage.searches, "search", "searches")
    pages, rounds = format_count(usage.pages, "page"), format_count(usage.rounds, "round")
    spent = f"{calls}, {tokens}, {price}; {searches}, {pages}, {rounds}, {usage.seconds:.1f} s"
    if run is None:
        return [("Spent", spent)]
    at = f"{run.started_at[:10]} {run.started_at[11:16]} UTC"
    lines = [
        ("Run", f"{run.id}, strategy {run.strategy}, {at}"),
        ("Models", ", ".join(run.models)),
        ("Confidence", "" if answer.confidence is None else f"{answer.confidence:.2f}, by rules"),
        ("Search", ", ".join(run.providers)),
        ("Spent", spent),
    ]
    return [(label, text) for label, text in lines if text]


def is_quoted(answer: Answer) -> bool:
    """Whether the sentences of an answer are the pages' own, and nobody judged one of them."""
    verdicts = {claim.verdict for claim in all_claims(answer)}
    return "quoted" in verdicts and "supported" not in verdicts


def describe_open(answer: Answer) -> str:
    """What the state of an answer leaves open; of a whole one, what keeps it from being sure."""
    state = state_of(answer)
    is_whole = state.name == "Answered"
    parts = [*state.open]
    parts += [f"{QUOTED}; no model checked it."] * (is_whole and is_quoted(answer))
    parts += [STOOD_IN] * (answer.degraded and state.name != "The model did not answer")
    return " ".join(parts)


def list_notes(answer: Answer) -> list[str]:
    """The warnings of an answer that neither its state nor a card has."""
    state = state_of(answer)
    return [one for one in answer.warnings if one not in (*state.open, *state.disputes)]


def summarize_run(answer: Answer) -> str:
    """What the run was and what it took, on one line."""
    usage, run = answer.usage, answer.run
    parts = [
        *describe_usage(usage),
        f"{usage.seconds:.1f} s",
        *(run.models if run else ()),
        *([f"run {run.id}"] if run and run.journal else ()),
    ]
    return " · ".join(parts)


def describe_usage(usage: CallUsage) -> list[str]:
    """What was searched, read and paid so far; what is none is left out."""
    parts = [
        format_count(usage.searches, "search", "searches") if usage.searches else "",
        format_count(usage.pages, "page") if usage.pages else "",
        format_usd(usage.usd) if usage.usd or usage.llm_calls else "",
    ]
    return [part for part in parts if part]


def format_usd(usd: float | None) -> str:
    """US dollars with as many digits as mean something: $12.40, $0.013, $0.0021, under $0.0001."""
    if usd is None:
        return "price unknown"
    if 0 < usd < 0.0001:
        return "under $0.0001"
    if usd >= 0.1 or usd == 0:
        return f"${usd:.2f}"
    return f"${usd:.{3 if usd >= 0.01 else 4}f}"


def state_of(answer: Answer) -> State:
    """The state of an answer; of one that an earlier version stored, by its status alone."""
    if answer.state:
        return answer.state
    if answer.error and answer.error.kind == "stopped":
        return State(name="Stopped")
    return State(name="Checked" if answer.check else BY_STATUS[answer.status])
