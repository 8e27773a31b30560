"""The comparison of two answers: topic, status, claims and slots. Values count, not their wording.

What a watch keeps of an answer is here too: each value, and each statement, with its quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from agent.answer.schema import Answer
from agent.errors import UsageError
from agent.evidence import content_words, fold
from agent.evidence.proper_names import find_names
from agent.evidence.quantities import iso_dates, number_values
from agent.slots.conversion import holds_value
from agent.slots.equivalence import same_value
from agent.state import HOLDING, Frozen, Json, Scalar

#: Of the words of the shorter of two statements, besides their values: so many are common to two
#: that say something of the same thing, and at least two. Set by hand.
LEAST_COMMON, LEAST_WORDS = 0.5, 2


def compare_answers(old: Json, new: Json) -> Json:
    """Compare two answer objects; `ok` in the result is true if nothing has changed.

    Raises UsageError if one of them is not a valid answer object.
    """
    from agent.run.audit_answer import find_schema_errors  # which reads much else

    for name, answer in (("the old", old), ("the new", new)):
        if fault := next(find_schema_errors(answer), None):
            raise UsageError(f"In {name} answer, {fault[0]}: {fault[1]}", "Name answer files.")
    old_claims, new_claims = _claim_texts(old), _claim_texts(new)
    claims = {
        "added": [text for text in new_claims if text not in old_claims],
        "removed": [text for text in old_claims if text not in new_claims],
    }
    slots = {
        name: {"old": _slot_summary(old, name), "new": _slot_summary(new, name)}
        for name in {**old["slots"], **new["slots"]}
        if not _is_same_slot(old, new, name)
    }
    topic, status = ({"old": old[key], "new": new[key]} for key in ("topic", "status"))
    is_same = (
        topic["old"] == topic["new"]
        and status["old"] == status["new"]
        and not (slots or claims["added"] or claims["removed"])
    )
    return {"ok": is_same, "topic": topic, "status": status, "claims": claims, "slots": slots}


def _claim_texts(answer: Json) -> dict[str, None]:
    """The texts of all claims, those of a report included, in order and each once."""
    report = answer.get("report") or {"sections": [], "conflicts": []}
    parts = [answer["claims"], *(section["sentences"] for section in report["sections"])]
    return dict.fromkeys(claim["text"] for part in [*parts, report["conflicts"]] for claim in part)


def _slot_summary(answer: Json, name: str) -> Any:
    """The fields of a slot that the comparison shows; None if the answer has no such slot."""
    slot = answer["slots"].get(name)
    keys = ("value", "status", "confidence", "weight", "alternatives")
    return slot and {key: slot[key] for key in keys}


def _is_same_slot(old: Json, new: Json, name: str) -> bool:
    """Whether two answers say the same of a slot: other confidence or sources are no change."""
    one, other = old["slots"].get(name), new["slots"].get(name)
    if not (one and other):
        return not (one or other)
    values = [[slot["value"], *(a["value"] for a in slot["alternatives"])] for slot in (one, other)]
    if one["status"] != other["status"] or len(values[0]) != len(values[1]):
        return False
    return all(map(same_value, *values))


# --- what a watch compares ---------------------------------------------------------------------


class QuotedPage(Frozen):
    """A quote with its page."""

    url: str
    title: str
    quote: str
    link: str
    date: str = ""  # of the page, as it says itself
    retrieved_at: str


class Known(Frozen):
    """A value, or a statement in words, with the quotes that support it. `since`: first seen."""

    value: Scalar
    since: str
    sources: tuple[QuotedPage, ...] = ()


class Change(NamedTuple):
    """What has another value than before: a slot, or a statement; `old` None: it had none."""

    what: str
    old: Known | None
    new: Known


def known_slots(answer: Answer) -> dict[str, Known]:
    """The slots of an answer that have a value which its sources agree on."""
    filled = {name: slot for name, slot in answer.slots.items() if slot.status == "filled"}
    return {
        name: _to_known(slot.value, slot.citations, answer)
        for name, slot in filled.items()
        if slot.value is not None
    }


def known_statements(answer: Answer) -> tuple[Known, ...]:
    """The sentences of an answer that its sources support."""
    holding = (claim for claim in answer.claims if claim.verdict in HOLDING)
    return tuple(_to_known(claim.text, claim.citations, answer) for claim in holding)


def _to_known(value: Scalar, cited: Iterable[int], answer: Answer) -> Known:
    numbers = set(cited)
    sources = [
        QuotedPage(**{name: getattr(citation, name) for name in QuotedPage.model_fields})
        for citation in answer.citations
        if citation.id in numbers
    ]
    return Known(value=value, since=answer.run.started_at if answer.run else "", sources=sources)


def find_slot_changes(old: dict[str, Known], new: dict[str, Known]) -> Iterator[Change]:
    """The slots that have another value, or one for the first time. One that is missing is none.

    A value that was in the old quotes too is only another choice among what they say.
    """
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            yield Change(name, None, now)
        elif not same_value(before.value, now.value) and not _said_before(now.value, before):
            yield Change(name, before, now)


def find_disputes(old: dict[str, Known], answer: Answer) -> Iterator[Change]:
    """The slots of which a source now says another value, while others say the old one."""
    disputed = ((n, slot) for n, slot in answer.slots.items() if slot.status == "conflict")
    for name, slot in disputed:
        before = old.get(name)
        for value in (slot.value, *(one.value for one in slot.alternatives)):
            if before is None or value is None or same_value(before.value, value):
                continue
            cited = [c.id for c in answer.citations if holds_value(c.quote, value, c.title)]
            now = _to_known(value, cited, answer)
            if not _said_before(value, before):
                yield Change(name, before, now)
                break


def _said_before(value: Scalar, known: Known) -> bool:
    said = [page for page in known.sources if page.quote]
    is_flag = isinstance(value, bool)  # which no text holds
    return not is_flag and any(holds_value(page.quote, value, page.title) for page in said)


def find_statement_changes(old: Sequence[Known], new: Sequence[Known]) -> Iterator[Change]:
    """Statements of which a number, a date or a name has given way to another one.

    What the new quotes still say has not gone, and what the old ones said is not new. A statement
    more or less, or one in other words, is no change.
    """
    still, before = _details_of(new), _details_of(old)
    for now in new:
        kinds = {kind for kind, _ in _details(str(now.value)) - before}
        same = (one for one in old if _is_about_same(str(one.value), str(now.value)))
        changed = (
            one for one in same if kinds & {kind for kind, _ in _details(str(one.value)) - still}
        )
        if found := next(changed, None):
            yield Change(str(now.value), found, now)


def _details_of(statements: Iterable[Known]) -> set[tuple[str, str]]:
    """The details of statements and of their quotes."""
    texts = ((str(one.value), *(page.quote for page in one.sources)) for one in statements)
    return {detail for text in texts for said in text for detail in _details(said)}


def _details(text: str) -> set[tuple[str, str]]:
    """The numbers, dates and words of names in a text, each with its kind."""
    names = {("name", fold(word)) for name in find_names(text) for word in name.split()}
    numbers = {("number", f"{number:g}") for number in number_values(text)}
    return names | numbers | {("date", day) for day in iso_dates(text)}


def _is_about_same(one: str, other: str) -> bool:
    """Whether two statements share most of their words, besides the details of each."""
    first, second = (_plain_words(text) for text in (one, other))
    common = len(first & second)
    return common >= max(LEAST_WORDS, LEAST_COMMON * min(len(first), len(second)))


def _plain_words(text: str) -> set[str]:
    return {word for word in content_words(text) if not any(map(str.isdigit, word))}
