"""What changed between two answers: their question, status, claim by claim, slot by slot."""

from __future__ import annotations

from typing import Any

from agent.errors import UsageError
from agent.run.proof import misshapen

Json = dict[str, Any]


def changes(old: Json, new: Json) -> Json:
    """What changed between two answers, claim by claim and slot by slot."""
    for name, answer in (("the old", old), ("the new", new)):
        if fault := next(misshapen(answer), None):
            raise UsageError(f"In {name} answer, {fault[0]}: {fault[1]}", "Name answer files.")
    before, after = (_said(answer) for answer in (old, new))
    slots = {
        name: {"old": _value(old, name), "new": _value(new, name)}
        for name in {**old["slots"], **new["slots"]}
        if _told(old, name) != _told(new, name)
    }
    claims = {
        "added": [text for text in after if text not in before],
        "removed": [text for text in before if text not in after],
    }
    topic, status = ({"old": old[of], "new": new[of]} for of in ("topic", "status"))
    alike = all(pair["old"] == pair["new"] for pair in (topic, status))
    same = alike and not (slots or claims["added"] or claims["removed"])
    return {"ok": same, "topic": topic, "status": status, "claims": claims, "slots": slots}


def _said(answer: Json) -> dict[str, None]:
    report = answer.get("report") or {"sections": [], "conflicts": []}
    parts = [answer["claims"], *(part["sentences"] for part in report["sections"])]
    return dict.fromkeys(claim["text"] for part in [*parts, report["conflicts"]] for claim in part)


def _value(answer: Json, name: str) -> Any:
    slot = answer["slots"].get(name)
    shown = ("value", "status", "confidence", "weight", "alternatives")
    return slot and {key: slot[key] for key in shown}


def _told(answer: Json, name: str) -> Any:
    """What a slot says, however sure: who else says it is no change."""
    slot = answer["slots"].get(name)
    return slot and (slot["value"], slot["status"], [a["value"] for a in slot["alternatives"]])
