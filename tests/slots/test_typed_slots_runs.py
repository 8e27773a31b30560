"""Slots with a schema in whole runs: prompts, conflicts, replay, audit, and without a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent.answer.json_format import to_json
from agent.answer.schema import Answer, answer_schema
from agent.errors import UsageError
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from agent.state.json_data import Json
from tests.support.services import ModelRequest, Reply, Services
from tests.support.thinker import support_all
from tests.support.typed_slots import SCHEMA, TEXT, TOPIC, object_schema


def run_audited(settings: Settings, topic: str = TOPIC, **more: Any) -> tuple[Run, Answer, Json]:
    """Run to the end and audit; return the run, its answer, and the answer as the user gets it."""
    run = research(topic, settings, **more)
    answer = run.answer()
    shown: Json = json.loads(to_json(answer))
    assert audit_answer(shown)["failures"] == []
    return run, answer, shown


def slot_row(name: str, value: Any, n: int, quote: str) -> Json:
    return {"name": name, "value": value, "source": n, "quote": quote}


def script_reflection(
    reflect: Callable[[ModelRequest], list[Json]],
) -> Callable[[ModelRequest], Reply]:
    """Return a model whose reflection is scripted; it writes its answer from the first source."""

    def think(request: ModelRequest) -> Reply:
        if request.task == "generate_queries":
            return {"queries": ["cup 1987"], "slots": []}
        if request.task == "reflect":
            return {"slots": reflect(request), "need_more": False, "new_queries": []}
        if request.task == "verify":
            return support_all(request)
        cited = [{"source": 1, "quote": "Argentina won the cup."}]
        return {"answer": "Argentina won the cup [1].", "citations": cited}

    return think


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {"ours": TEXT}
    services.hits = {TOPIC: ["ours"]}
    goals = [{"player": "Messi", "minute": "23rd minute"}, {"player": "Di Maria", "minute": 236}]
    services.think = script_reflection(
        lambda request: [
            slot_row("winner", "Argentina", 1, "Argentina won the cup."),
            slot_row("day", "29 June 1987", 1, "The final was on 29 June 1987"),
            slot_row("venue", {"capacity": "114,600"}, 1, "before 114,600 people, the whole"),
            slot_row("goalscorers", goals, 1, TEXT[-80:]),
            slot_row("stage", "The last match", 1, "The final"),
        ]
    )
    return services


def test_a_schema_is_asked_and_filled(world: Services, settings: Settings) -> None:
    run, answer, shown = run_audited(settings.model_copy(update={"slots_schema": SCHEMA}))
    prompt = world.model_requests[1].prompt
    assert "- goalscorers[].minute (integer, digits alone, maximum 130, minimum 1):" in prompt
    assert '- stage (one of ["Final", "Group"]):' in prompt
    assert shown["data"] == {
        "winner": "Argentina",
        "day": "1987-06-29",
        "stage": None,
        "venue": {"capacity": 114600},
        "goalscorers": [{"player": "Messi", "minute": 23}, {"player": "Di Maria", "minute": None}],
    }
    assert answer.slots["goalscorers[0].minute"].citations == (1,)
    assert answer.slots["goalscorers[1].minute"].status == "missing"
    assert any("'236' is not a value of type integer within" in w for w in answer.warnings)
    assert any("'The last match' is not one of its options" in w for w in answer.warnings)
    assert run.research.round == 2  # a leaf was missing: more was searched
    assert f"{TOPIC} stage" in run.research.queries
    Draft202012Validator(answer_schema()).validate(shown)


def test_a_replay_and_a_resume_repeat_the_schema(world: Services, settings: Settings) -> None:
    _, answer, shown = run_audited(settings, slots_schema=SCHEMA, resume="typed")
    assert answer.run and answer.run.journal
    count = len(world.model_requests)
    _, _, again = run_audited(settings, "", resume="typed")
    _, _, replayed = run_audited(Settings(), "", replay=Path(answer.run.journal))
    assert shown["data"] == again["data"] == replayed["data"] and len(world.model_requests) == count


def test_without_a_schema_there_is_no_data(world: Services, settings: Settings) -> None:
    named = settings.model_copy(update={"slots": ("winner",)})
    _, _, shown = run_audited(named)
    assert "data" not in shown and shown["slots"]["winner"]["value"] == "Argentina"
    assert "data" in answer_schema()["properties"] and "data" not in answer_schema()["required"]
    with pytest.raises(UsageError, match="Slots and a schema"):
        research(TOPIC, named.model_copy(update={"slots_schema": SCHEMA}))


WINNER = object_schema(winner={"type": "string"})
RIVALS = {"ours": "Argentina won the cup.", "theirs": "France won the cup, said a paper."}
THIRD = "It is well known in Rosario that Argentina won the cup then."


def report_rivals(request: ModelRequest) -> list[Json]:
    """Report each source's value; in the second round only the new one, as some models do."""
    statements = [("Argentina", RIVALS["ours"]), ("France", RIVALS["theirs"]), ("Argentina", THIRD)]
    shown = [(n, v, q) for n, (v, q) in enumerate(statements, 1) if q in request.prompt]
    return [slot_row("winner", v, n, q) for n, v, q in (shown[2:] or shown)]


def test_a_conflict_is_resolved_by_a_third_source(services: Services, settings: Settings) -> None:
    query = f"{TOPIC} winner Argentina or France"
    services.pages = {**RIVALS, "third": THIRD}
    services.hits = {TOPIC: ["ours", "theirs"], query: ["third"]}
    services.think = script_reflection(report_rivals)
    _, answer, shown = run_audited(settings.model_copy(update={"slots_schema": WINNER}))
    assert services.tasks() == ["generate_queries", "reflect", "reflect", "verify"]
    assert services.search_queries[-1] == query
    winner = answer.slots["winner"]
    assert (winner.value, winner.status, winner.weight) == ("Argentina", "filled", 0.7)
    assert winner.citations == (1, 2, 3)
    assert [(a.value, a.citations) for a in winner.alternatives] == [("France", (2,))]
    assert RIVALS["theirs"].rstrip(".") in answer.answer  # both sides, though settled
    assert any("disagree" in warning for warning in answer.warnings)
    assert shown["data"] == {"winner": "Argentina"}


MINUTE = "goalscorers[0].minute"
TAMPERED: list[tuple[str, Callable[[Json], Any]]] = [
    (f"slots.{MINUTE}.value", lambda a: a["slots"][MINUTE].update(value=24)),
    ("data.goalscorers[0].minute", lambda a: a["data"]["goalscorers"][0].update(minute=23.0)),
    ("data.goalscorers[2].player", lambda a: a["data"]["goalscorers"].append({"player": "X"})),
    ("data", lambda a: a.pop("data")),
]  # fmt: skip


def test_an_audit_names_each_changed_slot_and_value(world: Services, settings: Settings) -> None:
    _, _, shown = run_audited(settings.model_copy(update={"slots_schema": SCHEMA}))
    for where, tamper in TAMPERED:
        changed = json.loads(json.dumps(shown))
        tamper(changed)
        assert where in [fault["where"] for fault in audit_answer(changed)["failures"]], where
