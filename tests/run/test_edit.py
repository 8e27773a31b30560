"""Runs that are edited and run again, and what a user says while one goes on.

What is the same costs nothing; what differs is paid; journal, resume, replay and audit know all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agent.answer import Answer, to_json
from agent.errors import JournalError, UsageError
from agent.run import Run, research
from agent.run.audit import audit_answer
from agent.run.plan_file import parse_plan, read_plan
from agent.settings import Settings
from agent.state import Edited, Event, PageRead, Queried, Reflected, Steered
from tests.support.analyst import Analyst
from tests.support.services import ModelRequest, Services
from tests.support.thinker import Fact
from tests.support.worlds import (
    call_subject,
    comparable_events,
    count_requests,
    read_journal_calls,
    read_journal_lines,
    report_world,
    run_to_end,
    two_rounds,
    without_times,
)

ORIGINAL = two_rounds()
SAID = "also look at Norway"
NORWAY = "Velmora Works Norway"


def think(asked: ModelRequest) -> Any:
    """As the model of the world; what the user says wants one more query."""
    if asked.task == "heed":
        return {"queries": [NORWAY] if SAID in asked.prompt else [], "since": ""}
    return ORIGINAL.think(asked)


@pytest.fixture
def world(services: Services) -> Services:
    hits = {**ORIGINAL.hits, NORWAY: ["norway"]}
    pages = {**ORIGINAL.pages, "norway": "Velmora Works of Norway makes nets.", "extra": "A nail."}
    return ORIGINAL._replace(think=think, hits=hits, pages=pages).set_up(services)


def check(answer: Answer) -> Answer:
    """An answer that stands the audit, replay included, on its own journal."""
    assert answer.error is None, answer.error
    audit = audit_answer(json.loads(to_json(answer)))
    assert audit["ok"] and audit["replayed"], audit
    return answer


def ask(settings: Settings, topic: str = "", **changes: Any) -> Answer:
    return check(run_to_end(topic, settings.model_copy(update=changes))[1])


def edit(world: Services, settings: Settings, topic: str = "", **changes: Any) -> Answer:
    """Edit the run `first`, the parent's journal being gone when the result is audited."""
    world.model_requests.clear(), world.search_queries.clear(), world.page_requests.clear()
    _, answer = run_to_end(topic, settings.model_copy(update={"edit": "first", **changes}))
    return check(answer)


def first(settings: Settings, **changes: Any) -> Answer:
    return ask(settings, ORIGINAL.topic, **{"resume": "first", **changes})


def path_of(answer: Answer) -> Path:
    assert answer.run and answer.run.journal
    return Path(answer.run.journal)


@pytest.mark.slow
def test_an_edit_without_a_change_costs_nothing(world: Services, settings: Settings) -> None:
    before = first(settings)
    after = edit(world, settings)
    assert not count_requests(world)
    assert after.answer == before.answer and after.run and after.run.edits
    assert after.run.edits.model_dump() == {"run": "first", "without": (), "add": ()}
    calls = read_journal_calls(path_of(before))
    assert after.usage.reused == len(calls)
    assert (after.usage.llm_calls, after.usage.searches, after.usage.pages) == (0, 0, 0)
    assert after.usage.usd == 0 and after.usage.by_model == {}
    copied = read_journal_calls(path_of(after))
    assert {line["key"] for line in copied} == {line["key"] for line in calls}
    assert {line["taken"] for line in copied} == {"first"}


@pytest.mark.slow
def test_the_edited_run_stands_alone_and_is_edited_in_turn(
    world: Services, settings: Settings
) -> None:
    before = first(settings)
    second = edit(world, settings, resume="second", without=(world.url("noise"),))
    path_of(before).unlink()
    third = edit(world, settings, edit="second", add=(world.url("extra"),))
    assert world.page_requests == ["extra"]
    assert world.tasks() == ["reflect", "reflect", "verify"]
    assert third.run and third.run.edits and third.run.edits.without == (world.url("noise"),)
    assert check(second).answer == before.answer


@pytest.mark.slow
def test_a_page_that_was_struck_out_is_neither_read_nor_cited(
    world: Services, settings: Settings
) -> None:
    before = first(settings)
    assert world.url("person") in {one.url for one in before.citations}
    after = edit(world, settings, without=(world.url("person") + "#top",))
    assert world.url("person") not in {one.url for one in after.citations}
    assert "Uppsala" not in after.answer
    run = research("", settings, replay=path_of(after))
    pages = [event.page.url for event in run if isinstance(event, PageRead)]
    assert world.url("person") not in pages
    assert world.search_queries == [] and world.page_requests == []  # what is left was read
    assert world.tasks() == ["reflect", "verify"]  # of the second round, which is another now


def test_a_page_that_was_added_is_read_and_cited_like_one_that_was_found(
    world: Services, settings: Settings
) -> None:
    world.pages["extra"] = "Ada Lindqvist was born in Uppsala, says this page too."
    first(settings, max_rounds=1)
    after = edit(world, settings, add=(world.url("extra"), world.url("missing")))
    assert sorted(world.page_requests) == ["extra", "missing"] and world.search_queries == []
    assert world.tasks() == ["reflect", "verify"]
    assert [one.url for one in after.citations if "Uppsala" in one.quote] == [world.url("extra")]
    assert [w for w in after.warnings if w.startswith("The page that was added is no source")]


@pytest.mark.slow
def test_a_page_that_may_not_be_fetched_is_not_added(world: Services, settings: Settings) -> None:
    first(settings)
    strict = settings.model_copy(update={"allow_private_network": False})
    after = edit(world, strict, add=("http://127.0.0.1:1/admin", "file:///etc/passwd"))
    assert not world.page_requests and not world.search_queries
    assert len([w for w in after.warnings if "that was added is no source" in w]) == 2


@pytest.mark.slow
def test_slots_and_question_are_planned_anew_with_what_was_searched(
    world: Services, settings: Settings
) -> None:
    first(settings)
    after = edit(world, settings, slots=("founder", "city"))
    assert list(after.slots) == ["founder", "city"]
    assert "repeat word for word" in world.model_requests[0].prompt
    assert world.search_queries == [] and world.page_requests == []
    asked = edit(world, settings, "In which town was the founder of Velmora Works born?")
    assert world.search_queries == [asked.topic] and world.page_requests == []
    assert asked.topic != ORIGINAL.topic and asked.run and asked.run.edits


@pytest.mark.slow
def test_a_plan_that_was_edited_costs_what_is_new_in_it(
    services: Services, settings: Settings, tmp_path: Path
) -> None:
    who, where, when = "Who founded Velmora Works?", "Where was Ada Lindqvist born?", "Since when?"
    told = {who: "was founded by Ada", where: "was born in Uppsala", when: "since 1931"}
    values = {who: "Ada", where: "Uppsala", when: "1931"}
    services.pages = {f"page{n}": f"It {said}." for n, said in enumerate(told.values())}
    services.hits = lambda query: [f"page{n}" for n, one in enumerate(told) if one == query]
    services.think = Analyst([Fact(one, values[one], said) for one, said in told.items()], {})
    outline = f"# {ORIGINAL.topic}\n## Founder\n- {who}\n"
    plan = parse_plan(f"{outline}## Birth\n- {where}\n", "plan.md")
    reports = settings.model_copy(update={"credibility": "host"})
    before = first(reports, plan=plan)
    assert before.report and [one.heading for one in before.report.sections] == ["Founder", "Birth"]
    same = edit(services, reports, plan=plan)
    assert not count_requests(services) and same.answer == before.answer
    file = tmp_path / "plan.md"
    file.write_text(f"{outline}## Age\n- {when}\n", "utf-8")  # a heading less, a question more
    after = edit(services, reports, plan=read_plan(file))
    assert after.report and [one.heading for one in after.report.sections] == ["Founder", "Age"]
    assert services.search_queries == [when] and services.page_requests == ["page2"]
    # the section that stays is not read again; each is written beside the headings of the others
    asked = ["reflect", "section", "section", "summary", "verify", "verify"]
    assert sorted(services.tasks()) == asked and after.usage.llm_calls < before.usage.llm_calls
    assert "Uppsala" not in after.answer


@pytest.mark.slow
def test_what_is_said_reaches_every_prompt_but_those_of_judges(
    world: Services, settings: Settings
) -> None:
    first(settings)
    after = edit(world, settings, say=(SAID,))
    assert after.run and after.run.said == (SAID,)
    told = {request.task: SAID in request.prompt for request in world.model_requests}
    assert told == {"heed": True, "generate_queries": True, "reflect": True, "verify": False}
    assert world.search_queries == [NORWAY] and world.page_requests == ["norway"]
    again = edit(world, settings, edit=after.run.id, say=("briefly",))
    assert again.run and again.run.said == (SAID, "briefly")


@pytest.mark.slow
def test_an_edit_on_another_day_asks_as_on_the_first(
    world: Services, settings: Settings, tmp_path: Path
) -> None:
    path = path_of(first(settings))
    header, *lines = path.read_text("utf-8").splitlines()
    day = json.loads(header)["at"][:10]
    assert edit(world, settings).usage.llm_calls == 0
    newer = json.loads(header) | {"at": "2031-05-05T00:00:00Z", "run": "newer"}
    newer |= {"edit": {"run": "first", "day": day}}
    path.with_name("newer.jsonl").write_text("\n".join([json.dumps(newer), *lines, ""]), "utf-8")
    assert edit(world, settings, edit="newer").usage.llm_calls == 0
    assert not count_requests(world)


@pytest.mark.parametrize("calls", [2, 6, 12])
@pytest.mark.slow
def test_an_edit_that_was_killed_goes_on_without_paying_twice(
    world: Services, settings: Settings, calls: int
) -> None:
    first(settings)
    whole = edit(world, settings, add=(world.url("extra"),), resume="whole")
    paid = count_requests(world)
    path = path_of(whole)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: calls + 1]), "utf-8")
    written = Counter(
        call_subject(line) for line in read_journal_calls(path) if "taken" not in line
    )
    again = edit(world, settings, edit="", resume="whole")
    assert again.answer == whole.answer and again.run and again.run.edits
    assert count_requests(world) == paid - written
    assert again.usage.reused == whole.usage.reused


def test_what_cannot_be_edited(world: Services, settings: Settings, tmp_path: Path) -> None:
    first(settings)
    for changes, said in (
        ({"edit": "nobody"}, "There is no run to edit"),
        ({"edit": "first", "follow": "first"}, "--edit and --follow"),
        ({"edit": "first", "replay": "first"}, "--replay and --edit"),
    ):
        with pytest.raises(UsageError, match=said):
            research("", settings.model_copy(update=changes))
    first(settings, resume="other", max_rounds=1)
    with pytest.raises(UsageError, match="does not edit other"):
        research("", settings.model_copy(update={"resume": "first", "edit": "other"}))


# --- what is said while a run goes on -------------------------------------------------------------


def steer(settings: Settings, topic: str, said: Callable[[Event], str], **more: Any) -> Run:
    """A run to whose events something is said."""
    run = research(topic, settings.model_copy(update=more))
    for event in run:
        if text := said(event):
            run.say(text)
    return run


def at(kind: type[Event], text: str, round: int = 1) -> Callable[[Event], str]:
    def said(event: Event) -> str:
        return text if isinstance(event, kind) and getattr(event, "round", 1) == round else ""

    return said


def said_lines(run: Run) -> list[tuple[int, list[str]]]:
    answer = run.answer()
    lines = read_journal_lines(path_of(answer))
    return [(line["boundary"], line["say"]) for line in lines if "say" in line]


def test_an_instruction_has_a_round_of_its_own_and_is_in_the_journal(
    world: Services, settings: Settings
) -> None:
    run = steer(settings, ORIGINAL.topic, at(Reflected, SAID, 2), resume="first")
    answer = check(run.answer())
    assert [event.said for event in run.research.events_of(Steered)] == [SAID]
    assert run.research.events_of(Queried)[-1].queries == (NORWAY,)
    assert answer.usage.rounds == 3 and answer.run and answer.run.said == (SAID,)
    assert said_lines(run) == [(4, [SAID])]
    prompts = [request.prompt for request in world.model_requests]
    assert [SAID in prompt for prompt in prompts] == [SAID in prompt for prompt in prompts[:3]] + [
        True,
        True,
        *[False] * (len(prompts) - 5),
    ]


@pytest.mark.slow
def test_a_steered_run_is_replayed_resumed_and_edited(world: Services, settings: Settings) -> None:
    run = steer(settings, ORIGINAL.topic, at(Queried, SAID), resume="first")
    whole = check(run.answer())
    replayed, _ = run_to_end("", settings.model_copy(update={"replay": path_of(whole)}))
    assert comparable_events(replayed) == comparable_events(run)
    path = path_of(whole)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for kept in (3, 8, len(lines) - 2):
        path.write_text("".join(lines[:kept]), "utf-8")
        has_said = any('"boundary"' in line for line in lines[:kept])
        again, answer = run_to_end("", settings.model_copy(update={"resume": "first"}))
        assert check(answer).answer == whole.answer or not has_said
        assert bool(again.research.events_of(Steered)) == has_said
    path.write_text("".join(lines), "utf-8")
    edited = edit(world, settings)
    assert not count_requests(world) and edited.run and edited.run.said == (SAID,)


@pytest.mark.slow
def test_a_resumed_run_takes_nothing_new_while_it_repeats(
    world: Services, settings: Settings
) -> None:
    first(settings, max_rounds=1)
    forgotten = len(world.model_requests)
    run = steer(settings, "", at(Queried, SAID), resume="first")
    assert run.research.events_of(Steered) == [] and len(world.model_requests) == forgotten
    warnings = [w for w in run.answer().warnings if "too late" in w]
    assert len(warnings) == 1 or not warnings


@hypothesis_settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.lists(st.sampled_from([SAID, "briefly", ""]), min_size=6, max_size=6), st.booleans())
@pytest.mark.slow
def test_whenever_something_is_said_the_replay_is_the_same(
    world: Services, settings: Settings, texts: list[str], is_report: bool
) -> None:
    told = iter(texts)
    kinds = (Queried, Reflected, PageRead)
    topic = ORIGINAL.topic
    run = steer(
        settings, topic, lambda e: next(told, "") if isinstance(e, kinds) else "", max_seconds=60.0
    )
    answer = run.answer()
    replayed, again = run_to_end("", settings.model_copy(update={"replay": path_of(answer)}))
    assert comparable_events(replayed) == comparable_events(run)
    assert without_times(again.model_dump(mode="json")) | {"usage": 0} == without_times(
        answer.model_dump(mode="json")
    ) | {"usage": 0}


def test_a_site_that_is_ruled_out_is_quoted_no_more(world: Services, settings: Settings) -> None:
    def heed(asked: ModelRequest) -> Any:
        if asked.task == "heed":
            return {"queries": [], "since": "", "without_sites": ["https://www.127.0.0.1/x"]}
        return think(asked)

    world.think = heed
    run = steer(settings, ORIGINAL.topic, at(Reflected, "nothing from that site", 1))
    assert run.research.limits.without == ("127.0.0.1",)
    assert [source.page.text for source in run.research.sources if source.page.text] == []
    answer = check(run.answer())
    assert not answer.citations and answer.status == "insufficient"


@pytest.mark.slow
def test_a_day_limits_queries_and_sources(world: Services, settings: Settings) -> None:
    world.think = lambda asked: (
        {"queries": [], "since": "2024-01-01"} if asked.task == "heed" else think(asked)
    )
    run = steer(settings, ORIGINAL.topic, at(Reflected, "only sources after 2023", 2))
    assert run.research.events_of(Queried)[-1].queries == (f"{ORIGINAL.topic} after:2024-01-01",)
    assert run.research.limits.since == date(2024, 1, 1).isoformat()
    assert not run.research.limits.permits("https://a.example/", "2023-12-31")
    check(run.answer())


@pytest.mark.slow
def test_what_is_too_much_or_too_late(world: Services, settings: Settings) -> None:
    run = research(ORIGINAL.topic, settings)
    for text, said in ((" ", "empty"), ("x" * 501, "too long")):
        with pytest.raises(UsageError, match=said):
            run.say(text)
    for n in range(20):
        run.say(f"wish {n}")
    with pytest.raises(UsageError, match="at most"):
        run.say("one more")
    run.answer()
    with pytest.raises(JournalError, match="has ended"):
        run.say("afterwards")
    capped = settings.model_copy(update={"say": (SAID,), "max_calls": 2})
    warnings = check(run_to_end(ORIGINAL.topic, capped)[1]).warnings
    assert f"Not searched for what was said: {NORWAY}" in warnings
    late = steer(settings, ORIGINAL.topic, lambda e: "late" if e.type == "answered" else "")
    assert "Said too late to change anything: late" in check(late.answer()).warnings


@pytest.mark.slow
def test_a_report_and_a_loop_heed_what_is_said(world: Services, settings: Settings) -> None:
    for strategy in ("loop", "report"):
        report = report_world().set_up(world)
        model = report.think
        actions = iter([{"action": "search_web", "queries": ["founder of Velmora Works"]}])

        def think(asked: ModelRequest, model: Any = model, actions: Any = actions) -> Any:
            if asked.task == "heed":
                return {"queries": [NORWAY], "since": ""}
            if asked.task in ("decide", "synthesize", "conclude"):
                return next(actions, {"action": "return_answer", "answer": "", "citations": []})
            return model(asked)

        world.think = think
        run = steer(settings, report_world().topic, at(Queried, SAID), strategy=strategy)
        answer = check(run.answer())
        assert answer.run and answer.run.said == (SAID,), strategy
        assert NORWAY in run.research.queries
        told = [SAID in request.prompt for request in world.model_requests]
        assert any(told) and not all(told), strategy


@pytest.mark.parametrize("obeys", [True, False])
@pytest.mark.slow
def test_a_report_without_questions_searches_what_was_said_at_the_start(
    services: Services, settings: Settings, obeys: bool
) -> None:
    world = report_world().set_up(services)
    world.pages["norway"] = "Velmora Works of Norway makes nets."
    world.hits = lambda query: {**report_world().hits, NORWAY: ["norway"]}.get(query, [])
    model = report_world().think

    def think(asked: ModelRequest) -> Any:
        if asked.task == "heed":
            return {"queries": [NORWAY]}
        if asked.task == "gather" and not obeys:  # the model searches for something else
            asked = asked._replace(prompt=asked.prompt.replace(NORWAY, "nets"))
        return model(asked)

    world.think = think
    topic, reports = report_world().topic, {"strategy": "report", "credibility": "host"}
    run, answer = run_to_end(topic, settings.model_copy(update={**reports, "say": (SAID,)}))
    check(answer)
    rounds = run.research.events_of(Queried)
    assert rounds[0].queries[0] == NORWAY and world.search_queries.count(NORWAY) == 1
    assert "norway" in world.page_requests
    prompts = [one.prompt for one in world.model_requests if one.task == "gather"]
    assert NORWAY in prompts[0].partition("\nQueries:\n")[2]


@pytest.mark.slow
def test_without_a_model_dates_and_sites_are_heeded_and_the_rest_is_told(
    settings: Settings,
) -> None:
    offline = settings.model_copy(update={"offline": True, "llm": ()})
    first_run = ask(offline, "Who won the 2022 FIFA World Cup?", resume="first")
    cited = first_run.citations[0].url
    edited = ask(offline, edit="first", say=("leave out the history",), without=(cited,))
    assert edited.run and edited.run.edits and edited.run.edits.without == (cited,)
    assert cited not in {one.url for one in edited.citations}
    assert any("leave out the history" in warning for warning in edited.warnings)
    assert any(
        isinstance(e, Edited)
        for e in run_to_end("", offline.model_copy(update={"replay": path_of(edited)}))[
            0
        ].research.events
    )
