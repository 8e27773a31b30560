"""The comparison of two answers: topic, status, claims and slots."""

from __future__ import annotations

from typing import Any

from agent.errors import UsageError
from agent.run.audit import find_schema_errors
from agent.state.json_data import Json


def compare_answers(old: Json, new: Json) -> Json:
    """Compare two answer objects; `ok` in the result is true if nothing has changed.

    Raises UsageError if one of them is not a valid answer object.
    """
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
        if _slot_content(old, name) != _slot_content(new, name)
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


def _slot_content(answer: Json, name: str) -> Any:
    """The fields of a slot whose difference is a change: other confidence or sources are none."""
    slot = answer["slots"].get(name)
    return slot and (slot["value"], slot["status"], [a["value"] for a in slot["alternatives"]])
