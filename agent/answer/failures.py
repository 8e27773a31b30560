"""What failed in a run and what was used instead, as warnings of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.answer.counts import list_names
from agent.errors import ANOTHER_MODEL, format_error
from agent.evidence.near_duplicates import find_copies
from agent.state import Asked, CitedReport, Failed, Halted, Outcome, Research, Source, Warned


def list_warnings(research: Research, report: CitedReport | None) -> list[str]:
    """What an answer warns of, but for what its status says is missing."""
    warnings = [*list_failures(research), *(report.warnings if report else ())]
    warnings += describe_fallbacks(research)
    warnings += [event.message for event in research.events_of(Warned)]
    if urls := [event.hit.url for event in research.blocked_pages]:
        warnings.append(f"Not read because of low credibility: {list_names(urls)}.")
    return warnings


def list_failures(research: Research) -> list[str]:
    """What failed in a run, each once, models first; and why gathering ended early."""
    others = (event for event in research.events_of(Failed) if event.what != "llm")
    halts = (event.reason for event in research.events_of(Halted))
    cut = (
        f"{one.provider}: {one.remedy}"
        for event in research.events_of(Asked)
        for one in event.attempts
        if one.remedy and one.what == "llm"
    )
    return list(
        dict.fromkeys(
            (*_describe_model_failures(research), *list(cut)[:1], *map(_explain, others), *halts)
        )
    )


def _explain(event: Failed) -> str:
    """What failed, what to do about a page, and what was used for it."""
    remedy = event.remedy if event.what == "page" else ""
    used = f"Used instead: {event.stand_in}." if event.stand_in else ""
    return f"{event.subject}: {format_error(event.message, f'{remedy} {used}'.strip())}"


def list_open_failures(research: Research) -> Iterator[str]:
    """Why nothing more was read, or no model wrote the answer: what its state says first."""
    yield from _describe_model_failures(research) if research.is_answered_without_model else ()
    yield from (event.reason for event in research.events_of(Halted))


def describe_fallbacks(research: Research) -> Iterator[str]:
    """Which model answered for another one; which tasks rules did though no model failed."""
    events = research.events_of(Asked)
    if {(event.task, event.model) for event in events} == {("verify", "extractive")}:  # of a check
        yield "No model was used: only sentences found word for word on a page could be checked."
        return
    for names, model in dict.fromkeys((failed_models(e), e.model) for e in events):
        if names:
            yield f"{', '.join(names)} failed; {model} answered instead."
    tasks = dict.fromkeys(event.task for event in events if event.is_by_rules)
    is_told = research.may_answer and research.answer and research.answer.claims
    if tasks and not research.model_failures and not is_told:
        some = "" if all(event.is_by_rules for event in events) else f" for {', '.join(tasks)}"
        yield f"No model was used{some}: answers are sentences quoted from the sources."


def failed_models(event: Asked) -> tuple[str, ...]:
    """The models that failed at a task before another one answered."""
    tried = [attempt.provider for attempt in event.attempts if attempt.what == "llm"]
    return tuple(dict.fromkeys(name for name in tried if name != tried[-1]))


def _describe_model_failures(research: Research) -> Iterator[str]:
    """What the models' services said, what to do, and which tasks got no reply; each kind once."""
    if failed := research.model_failures:
        tasks = ", ".join(dict.fromkeys(event.subject for event in failed))
        yield f"{' '.join(_describe_causes(failed))} No model replied to: {tasks}."


def _describe_causes(failed: Iterable[Failed]) -> Iterator[str]:
    """What each service said, once for each outcome, with the remedy; equal ones are joined."""
    said: dict[tuple[str, Outcome], str] = {}
    for event in failed:
        for one in {attempt.provider: attempt for attempt in event.attempts}.values():
            remedy = one.remedy or (ANOTHER_MODEL if one.outcome == "invalid" else "")
            text = format_error(one.detail or event.message, remedy)
            said.setdefault((one.provider, one.outcome), text)
        if not event.attempts:
            said.setdefault(("", event.outcome), format_error(event.message, event.remedy))
    for text in dict.fromkeys(said.values()):
        names = ", ".join(name for (name, _), other in said.items() if name and other == text)
        yield f"{names}: {text}" if names else text


def warn_of_copies(sources: Sequence[Source], numbers: Mapping[int, int]) -> Iterator[str]:
    """Which cited pages have the text of another one: together they count as one source."""
    for n, original in find_copies(sources).items():
        if n != original:
            yield f"[{numbers[n]}] repeats [{numbers[original]}]: they count as one source."
