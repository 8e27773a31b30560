"""The slot pipeline over the wire: which steps ran, what was asked, and what came out."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent.answer.addresses import CorpusAddresses
from agent.answer.event_format import format_event_line
from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.answer.status import UNPLANNED
from agent.llm.model_chain import MAX_KEPT_REPLY
from agent.llm.schemas import sent_schema
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from agent.state import Failed, PageRead, Queried, Reflected
from agent.steps.reading_tasks import Reading
from tests.support.services import HANGS, ModelRequest, Raw, Reply, Services, source_ids
from tests.support.thinker import FINAL, Fact, Thinker, support_all
from tests.support.worlds import read_journal_calls, run_to_end, two_rounds

MESSI = "Messi scored twice in the final. He was born in Rosario."
TOPIC = "Who won the 2022 FIFA World Cup?"
WON = Fact("winner", "Argentina", "Argentina won")
FACTS = [WON, Fact("score", "4-2", "The score was")]
CUP = {"source": 1, "quote": "Argentina won the cup."}
WRITTEN = ["generate_queries", "reflect", "synthesize", "verify"]
BLANK: dict[str, Any] = {"answer": "", "citations": []}


def ended(settings: Settings, topic: str = TOPIC, **more: Any) -> tuple[Run, Answer]:
    """A run to its end, with what every answer owes its reader checked."""
    run, answer = run_to_end(topic, settings, **more)
    to_json(answer)
    pages = {source.page.sha256: source.page for source in run.research.sources}
    for citation in answer.citations:
        page = pages[citation.page_sha256]
        assert page.text[citation.start : citation.end] == citation.quote
        assert CorpusAddresses(run.corpus).shorten_url(page.url) == citation.url
    ids = [n for claim in answer.claims for n in claim.citations]
    assert list(dict.fromkeys(ids)) == list(range(1, len(set(ids)) + 1))  # by first use, from 1
    return run, answer


@pytest.fixture
def world(services: Services) -> Services:
    """One page that answers, one that leads on, one of no use."""
    services.pages = {"final": FINAL, "messi": MESSI, "other": "Cats sleep most of the day."}
    services.hits = {TOPIC: ["final", "other"], "2022 final score": ["final"]}
    services.think = Thinker(FACTS, ["2022 final score"])
    return services


def script(world: Services, **replies: Reply) -> None:
    """Let the model reply so to these tasks, and as before to the others."""
    honest = world.think
    world.think = lambda asked: replies[asked.task] if asked.task in replies else honest(asked)


def alter(world: Services, task: str, **fields: Any) -> None:
    """Let the model reply as before, but for these fields of one task."""
    honest: Any = world.think
    world.think = lambda a: {**honest(a), **fields} if a.task == task else honest(a)


def read_slots(*rows: tuple[str, str, int, str]) -> dict[str, Any]:
    """The reply of a reader with these names, values, sources and quotes, and without an answer."""
    slots = [dict(zip(("name", "value", "source", "quote"), row, strict=True)) for row in rows]
    return {"slots": slots, "need_more": False, "new_queries": []}


def test_a_stopped_run_quotes_the_sources_of_its_facts(
    services: Services, settings: Settings
) -> None:
    """Also where no sentence of the evidence answers the question by itself."""
    asked = two_rounds()
    asked.set_up(services)
    script(services, synthesize=BLANK)
    run = research(asked.topic, settings)
    for event in run:
        if isinstance(event, Reflected) and not event.need_more:
            run.stop()
    answer = run.answer()
    assert answer.status == "partial" and "synthesize" not in services.tasks()
    assert answer.answer.endswith("Ada Lindqvist was born in Uppsala [3].")
    assert {claim.verdict for claim in answer.claims} == {"quoted"}


def test_happy_path(world: Services, settings: Settings) -> None:
    run, answer = ended(settings)
    assert answer.status == "complete" and not answer.degraded
    assert answer.answer == "The winner is Argentina [1]. The score is 4-2 [1]."
    said = {"Argentina won the cup.", "The score was 3-3, then 4-2."}
    assert {citation.quote for citation in answer.citations} == said
    assert answer.slots["winner"].value == "Argentina"
    assert world.tasks() == ["generate_queries", "reflect", "verify"]
    assert {claim.by for claim in answer.claims} == {"gemini-3.8-flash"}
    assert sorted(world.search_queries) == sorted([TOPIC, "2022 final score"])
    assert sorted(world.page_requests) == ["final", "other"]  # once, though two searches named one
    assert run.research.queries == (TOPIC, "2022 final score")
    assert answer.usage.llm_calls == 3 and answer.usage.searches == 2
    assert answer.usage.usd and answer.run and answer.run.models == ("gemini-3.8-flash",)
    # the evidence is numbered alike from the first prompt to the citation
    shown, judged = (source_ids(request.prompt) for request in world.model_requests[1:])
    assert judged and all(text in shown[n] for n, text in judged.items())
    assert all(citation.quote in shown[citation.id] for citation in answer.citations)
    # the answer comes first, so that a small model does not cite what it put into the slots
    order = ("answerable", "answer", "citations", "slots", "need_more", "new_queries")
    read = world.model_requests[1]
    assert read.fields == order and "in at most 80 words" in read.system
    assert sent_schema(Reading)["required"] == list(order)


@pytest.mark.parametrize(
    ("since", "topic_words", "asked"),
    [
        ("2022-11-20", "2022", "2022 final score after:2022-11-20"),
        ("2026-11-16", "2022", "2022 final score"),
        ("2026-11-16", "this week", "2022 final score"),
        ("this week", "2022", "2022 final score"),
    ],
)
def test_the_plan_may_ask_for_newer_pages_where_the_topic_does(
    since: str, topic_words: str, asked: str, world: Services, settings: Settings
) -> None:
    """The topic itself is searched without, so that a wrong day loses nothing."""
    queries = ["2022 final score after:2026-11-01"]
    alter(world, "generate_queries", since=since, since_words=topic_words, queries=queries)
    run, _ = ended(settings)
    assert run.research.queries[:2] == (TOPIC, asked)
    assert sorted(world.search_queries[:2]) == sorted([TOPIC, "2022 final score"])


def test_two_round_supplement(world: Services, settings: Settings) -> None:
    world.hits = {TOPIC: ["final"], "where was Messi born": ["messi"]}
    facts = [WON, Fact("birthplace", "Rosario", "born in")]
    world.think = Thinker(facts, ["who won in 2022"], {"birthplace": "where was Messi born"})
    run, answer = ended(settings)
    assert answer.status == "complete" and "Rosario [2]" in answer.answer
    assert world.tasks() == ["generate_queries", "reflect", "reflect", "verify"]
    queried = [event.queries for event in run.research.events_of(Queried)]
    assert queried == [(TOPIC, "who won in 2022"), ("where was Messi born",)]
    assert world.search_queries[-1] == "where was Messi born"
    assert "Rosario" in source_ids(world.model_requests[2].prompt)[2]
    assert answer.usage.rounds == 2


def test_no_results(world: Services, settings: Settings) -> None:
    world.hits = {}
    _, answer = ended(settings)
    assert answer.status == "insufficient" and not answer.citations
    assert TOPIC in answer.answer and answer.slots["winner"].status == "missing"
    assert world.tasks() == ["generate_queries"]  # nothing to reflect on, nothing to write from
    assert answer.usage.rounds == 2 and not world.page_requests


def test_http_429(world: Services, settings: Settings) -> None:
    """A search that is refused is told, and what the other one finds is the answer."""
    refusals = iter([Raw(429, json.dumps({"error": "rate limit"}), {"Retry-After": "1"})])
    world.hits = lambda query: next(refusals, ["final"])
    _, answer = ended(settings)
    outcomes = [a.outcome for a in answer.attempts if a.what == "search"]
    assert "rate_limited" in outcomes and "ok" in outcomes
    assert answer.status == "complete" and answer.slots["winner"].value == "Argentina"


def test_timeout(world: Services, settings: Settings) -> None:
    """A query and a page that hang are given up; the answer comes from the rest."""
    world.think = Thinker([WON], ["2022 final score", "hangs", "other words"])
    world.hits = lambda query: HANGS if query == "hangs" else ["final", "messi", "other"]
    world.pages["other"] = HANGS
    run, answer = ended(settings.model_copy(update={"patience": 0.3}))
    assert answer.status == "complete"
    assert any("hangs" in warning for warning in answer.warnings)
    failed = {(e.subject, e.outcome) for e in run.research.events if e.type == "failed"}
    assert failed == {("hangs", "missed"), (world.url("other"), "missed")}
    assert [source.id for source in answer.citations] == [1]


def test_page_that_cannot_be_read_is_stood_in_for_by_its_snippet(
    world: Services, settings: Settings
) -> None:
    del world.pages["other"]
    run, answer = ended(settings)
    snippet = run.research.events_of(PageRead)[1].page
    assert snippet.via == "snippet" and snippet.text == "About other."
    assert answer.sources.failed == 1 and answer.sources.read == 1
    assert not answer.degraded  # the answer does not cite it
    world.hits = {TOPIC: ["other"]}
    world.think = Thinker([Fact("winner", "other", "About")], ["2022 final"])
    _, answer = ended(settings)
    assert answer.degraded and {citation.via for citation in answer.citations} == {"snippet"}


def test_missing_slots_force_more_and_found_ones_forbid_it(
    world: Services, settings: Settings
) -> None:
    world.think = Thinker([WON], [])
    alter(world, "reflect", need_more=True, new_queries=["what else"])
    run, _ = ended(settings)
    assert run.research.round == 1 and "what else" not in world.search_queries
    world.think = Thinker([Fact("mascot", "Laeeb", "The mascot was")], [])
    run, answer = ended(settings)
    assert run.research.round == 2  # the model asked for nothing more, the code does
    assert f"{TOPIC} mascot" in run.research.queries
    assert answer.status == "insufficient" and answer.slots["mascot"].value is None


def test_named_slots_are_kept_and_a_long_answer_is_written_by_itself(
    world: Services, settings: Settings
) -> None:
    named = {"slots": ("winner", "score"), "max_words": 300}
    _, answer = ended(settings.model_copy(update=named))
    assert list(answer.slots) == ["winner", "score"] and answer.status == "complete"
    assert "winner, score" in world.model_requests[0].prompt
    assert world.tasks() == WRITTEN and "answer" not in world.model_requests[1].fields


def test_a_plan_has_only_slots_that_the_topic_or_a_page_names(
    world: Services, settings: Settings
) -> None:
    """A model that copies its slots from elsewhere adds nothing, and nothing is searched for it."""
    invented = [
        {"name": "headquarters", "topic_words": "a company"},
        {"name": "aspect", "description": "one per side"},
        {"name": "score", "description": "how many goals"},
        {"name": "captain", "description": ""},
        {"name": "winner", "topic_words": "who won"},
        {"name": "champion", "topic_words": "Who won"},
    ]
    alter(world, "generate_queries", slots=invented)
    final, won = "The score was 3-3, then 4-2.", "Argentina won the cup."
    rows = (("aspect", "Argentina", 1, won), ("score", "4-2", 1, final))
    script(world, reflect={**read_slots(*rows, ("winner", "Argentina", 1, won)), "need_more": True})
    run, answer = ended(settings)
    assert list(answer.slots) == ["score", "winner"]  # the page has the word score, not aspect
    assert [slot.name for slot in run.research.slots if slot.needed] == ["winner"]
    assert run.research.round == 1 and answer.status == "complete"


def test_an_answer_to_a_plan_that_does_not_fit_is_not_complete(
    world: Services, settings: Settings
) -> None:
    """A small model took the words that ask for those who ask."""
    unfit = [{"name": "winner", "topic_words": "user"}, {"name": "score", "topic_words": "user"}]
    alter(world, "generate_queries", slots=unfit)
    _, answer = ended(settings)
    assert answer.status == "partial" and answer.citations and not answer.slots
    assert answer.state and answer.state.open == (UNPLANNED,)
    alter(world, "generate_queries", slots=[])
    assert ended(settings)[1].status == "complete"


@pytest.mark.slow
def test_order_does_not_depend_on_who_answers_first(world: Services, settings: Settings) -> None:
    """Whatever the latencies: the same events, prompts and calls."""
    world.hits = {TOPIC: ["other", "final"], "2022 final score": ["messi", "final"]}
    seen = []
    for seed in range(4):
        chance = Random(seed)
        world.latency = lambda chance=chance: chance.random() / 10
        world.model_requests.clear()
        run, answer = ended(settings)
        assert answer.run and answer.run.journal
        calls = read_journal_calls(Path(answer.run.journal))
        keys = sorted(call["key"] for call in calls)
        seen.append(([s.page.url for s in run.research.sources], list(world.model_requests), keys))
        assert [event.type for event in run.research.events].count("page_read") == 3
    assert all(one == seen[0] for one in seen)


LIES: dict[str, tuple[str, list[tuple[int, str]]]] = {
    "invented source": ("Brazil won [7].", [(7, "Brazil won")]),
    "invented quote": ("Brazil won [1].", [(1, "Brazil won the cup.")]),
    "quote of another page": ("Cats won [1].", [(1, "Cats sleep most of the day.")]),
    "no citation": ("Brazil won, everybody knows.", []),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_not_an_answer(lie: str, world: Services, settings: Settings) -> None:
    """What the slots were filled from is the answer; where they are not, there is none."""
    text, cited = LIES[lie]
    citations = [{"source": n, "quote": quote} for n, quote in cited]
    script(world, synthesize={"answer": text, "citations": citations})
    _, answer = ended(settings)
    assert answer.status == "partial" and answer.warnings and "mend" not in world.tasks()
    said = ["Argentina won the cup.", "The score was 3-3, then 4-2."]
    assert [claim.text for claim in answer.claims] == said
    script(world, reflect={"answerable": True, **read_slots()})
    _, answer = ended(settings)
    assert answer.status == "insufficient" and not answer.citations
    assert "Brazil" not in answer.answer and "[" not in answer.answer


def test_a_reader_that_finds_nothing_is_believed(world: Services, settings: Settings) -> None:
    """Nothing is written where the sources do not answer and no slot is filled."""
    script(world, reflect={**read_slots(), "answerable": False, "need_more": True})
    _, answer = ended(settings)
    assert answer.status == "insufficient" and not answer.claims
    assert not {"synthesize", "verify", "mend"} & set(world.tasks())


def test_sources_that_disagree_are_a_conflict(world: Services, settings: Settings) -> None:
    world.pages["rival"] = "France won the cup."
    world.hits = {TOPIC: ["final", "rival"]}
    ours, theirs = "Argentina won the cup.", "France won the cup."
    both = read_slots(("winner", "Argentina", 1, ours), ("winner", "France", 2, theirs))
    honest = world.think
    replies = {"verify": support_all, "reflect": lambda asked: both}
    world.think = lambda asked: replies.get(asked.task, honest)(asked)
    run, answer = ended(settings)
    winner = answer.slots["winner"]
    assert winner.status == "conflict" and winner.citations == (1, 2)
    assert (winner.value, winner.weight) == ("Argentina", 0.4)
    (other,) = winner.alternatives
    assert (other.value, other.citations, other.weight) == ("France", (2,), 0.4)
    assert run.research.round == 2
    assert f"{TOPIC} winner Argentina or France" in world.search_queries
    sides = [claim for claim in answer.claims if claim.form == "item"]
    assert [claim.text for claim in sides] == [ours, theirs]
    assert {claim.intro for claim in sides} == {"winner: Argentina / France"}
    assert answer.status == "partial" and "disagree" in " ".join(answer.warnings)


def test_replies_in_another_shape_cost_no_further_call(world: Services, settings: Settings) -> None:
    """The same answer by the same calls; what was mended is counted."""
    _, straight = ended(settings.model_copy(update={"runs_dir": None}))
    honest: Any = world.think

    def think(asked: ModelRequest) -> Any:
        said = honest(asked)
        if asked.task == "generate_queries":
            return {"plan": {**said, "queries": "\n".join(said["queries"])}}
        if asked.task == "reflect":
            rows = {row.pop("name"): row for row in said["slots"]}
            return {**said, "slots": rows, "new_queries": None}
        if asked.task == "verify":
            return {"verdicts": {str(row.pop("claim")): row for row in said["verdicts"]}}
        return said

    world.think = think
    _, answer = ended(settings)
    assert (answer.status, answer.answer) == (straight.status, straight.answer)
    assert answer.slots == straight.slots and answer.usage.llm_calls == 3
    assert (straight.usage.mended, answer.usage.mended) == (0, 3)


@pytest.mark.parametrize(
    ("answer", "citations", "rounds"),
    [
        ("Argentina won [1].", [], 2),
        ("It won [1].", [{"source": 1, "quote": "Brazil won it."}], 2),
        ("Argentina won [1].", [CUP], 1),
    ],
)
def test_a_reader_that_cites_nothing_and_wants_more_gets_more(
    answer: str, citations: list[Any], rounds: int, world: Services, settings: Settings
) -> None:
    """Though every slot is filled: what a trusting value fills does not end the search."""
    alter(world, "reflect", answer=answer, citations=citations)
    alter(world, "reflect", need_more=True, new_queries=["who lifted the trophy"])
    run, given = ended(settings)
    assert run.research.round == rounds
    assert ("who lifted the trophy" in world.search_queries) == (rounds == 2)
    assert all(slot.status == "filled" for slot in given.slots.values())


@pytest.mark.parametrize("needed", [False, True])
def test_only_a_needed_slot_that_is_missing_asks_for_more(
    needed: bool, world: Services, settings: Settings
) -> None:
    slots = [{"name": fact.slot, "description": fact.slot} for fact in FACTS]
    mascot = {"name": "mascot", "topic_words": "FIFA World Cup", "needed": needed}
    alter(world, "generate_queries", slots=[*slots, mascot])
    alter(world, "reflect", need_more=False, new_queries=["the mascot"])
    run, answer = ended(settings)
    assert run.research.round == 1 + needed and answer.slots["mascot"].status == "missing"
    assert answer.status == ("partial" if needed else "complete")


#: Replies that no task can use, each with what the first warning has of it.
UNUSABLE: dict[str, tuple[Reply, str]] = {
    "prose": ("I think that Argentina won.", "no JSON object"),
    "truncated": ('{"queries": ["a", ', "not valid JSON"),
    "empty": ("", "empty"),
    "no fields": ({}, "does not fit the schema"),
    "wrong schema": ({"queries": 3, "action": [], "sections": 2}, "does not fit the schema"),
    "safety": (Raw(200, json.dumps({"promptFeedback": {"blockReason": "SAFETY"}})), "SAFETY"),
    "down": (Raw(503, '{"error": {"code": 503, "message": "overloaded today"}}'), "overloaded"),
}


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [(kind, strategy) for kind in UNUSABLE for strategy in ("slots", "loop", "report")]
    + [("hangs", "slots")],
)
def test_unusable_replies_still_end_in_an_answer(
    kind: str, strategy: str, world: Services, settings: Settings
) -> None:
    """Partial at most, since the model that was chosen answered nothing; its words come first."""
    reply, words = {**UNUSABLE, "hangs": (HANGS, "did not answer")}[kind]
    world.think = lambda asked: reply
    changes = {"strategy": strategy, "llm_timeout": 0.2} if kind == "hangs" else {}
    world.default_hits = ["final"]
    changed = settings.model_copy(update={"strategy": strategy, **changes})
    _, answer = ended(changed, "Who won the cup?")
    assert answer.status == ("partial" if answer.citations else "insufficient") and answer.degraded
    assert words in answer.warnings[0] and "No model replied to: " in answer.warnings[0]
    assert not any("No model" in warning for warning in answer.warnings[1:])
    assert "Who won the cup?" in world.search_queries


def test_a_reply_that_cannot_be_parsed_is_kept(world: Services, settings: Settings) -> None:
    script(world, reflect="Argentina, of course. " * 1000)
    run, answer = ended(settings)
    assert answer.run and answer.run.journal
    kept = [a.reply for e in run.research.events_of(Failed) for a in e.attempts if a.reply]
    assert kept and all(0 < len(one) <= MAX_KEPT_REPLY for one in kept)
    journal = [json.loads(line) for line in Path(answer.run.journal).read_text().splitlines()]
    assert kept[0] in json.dumps(journal) and kept[0] not in to_json(answer)
    lines = [format_event_line(event) for event in run.research.events_of(Failed)]
    assert any("[REPLY] gemini:gemini-3.8-flash: Argentina, of course." in one for one in lines)


def test_fallback_model_is_kept_once_chosen(world: Services, settings: Settings) -> None:
    honest = world.think
    world.think = lambda a: Raw(503, "") if a.model == "gemini-3.8-flash" else honest(a)
    _, answer = ended(settings)
    models = [asked.model for asked in world.model_requests]
    assert models == ["gemini-3.8-flash"] * 4 + ["gemini-3.5-flash-lite"] * 3
    assert answer.degraded and any("answered instead" in told for told in answer.warnings)
    assert answer.run and answer.run.models == ("gemini-3.5-flash-lite",)


@pytest.mark.parametrize("service", ["gemini", "serpapi"])
def test_refused_key_is_an_error_that_says_what_to_do(
    service: str, world: Services, settings: Settings
) -> None:
    """The key itself is not told, and a refused one is not tried on the next model."""
    key = type(settings.gemini_api_key)("sk-wrong")
    wrong = {"gemini_api_key": key} if service == "gemini" else {"keys": {service: key}}
    _, answer = ended(settings.model_copy(update=wrong))
    assert answer.status == "error" and answer.error and len(world.model_requests) == 1
    assert f"{service.upper()}_API_KEY" in answer.error.remedy
    assert service in answer.error.message.lower() and "sk-wrong" not in to_json(answer)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cup.md").write_text("# The 2022 cup\n\nArgentina won the FIFA World Cup of 2022.\n")
    return folder


def test_a_corpus_keeps_a_run_away_from_the_web(
    notes: Path, world: Services, settings: Settings
) -> None:
    """The private-documents mode: a model, and no search and no page of the web."""
    _, answer = ended(settings.model_copy(update={"corpus": notes}))
    assert answer.status == "partial" and "Not found: score." in answer.warnings
    assert not answer.degraded and answer.citations[0].url == "corpus:cup.md"
    # the second round finds nothing new: the same reflection is not paid for twice
    assert world.tasks() == ["generate_queries", "reflect", "verify"]
    assert not world.search_queries and not world.page_requests


def test_a_document_of_the_same_words_does_not_end_the_search(
    notes: Path, world: Services, settings: Settings
) -> None:
    """The web is asked beside it, but for nothing that only a document says."""
    memo = "# World Cup 2022\n\nWho won the FIFA World Cup pool? Ask Quillan in the canteen.\n"
    (notes / "cup.md").write_text(memo)
    world.default_hits = ["final"]
    asked = ["Quillan World Cup", "canteen", "World Cup Lusail"]
    world.think = Thinker([*FACTS, Fact("mascot", "Laeeb", "The mascot was")], ["2022 final score"])
    alter(world, "reflect", new_queries=asked)
    both = {"corpus": notes, "search": ("corpus", "serpapi")}
    run, answer = ended(settings.model_copy(update=both))
    assert answer.slots["winner"].value == "Argentina" and run.research.queries[2:] == tuple(asked)
    sent = [TOPIC, "2022 final score", "World Cup Lusail"]
    assert sorted(world.search_queries) == sorted(sent)
    tried = {(one.provider, one.outcome) for one in answer.attempts if one.what == "search"}
    assert tried >= {("corpus", "ok"), ("serpapi", "ok")}
