"""What a run does when it is told less: `--strategy auto`, `--depth`, `research` from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.run import research
from agent.run.estimate import estimate
from agent.settings import DEPTHS, Effort, Settings, parse_settings
from agent.state import Started
from agent.strategies.choice import strategy_for_topic
from tests.support.worlds import read_journal_lines

ALL, KEY = ("slots", "loop", "report"), {"GEMINI_API_KEY": "x"}
ASKED = {
    "Who won the 2022 FIFA World Cup?": "slots",
    "When was LEGO founded?": "slots",
    "How tall is the Eiffel Tower?": "slots",
    "2022年世界杯的冠军是谁？": "slots",
    "What is the place of birth of the director of the film Titanic?": "loop",
    "Who is the mother of the author of the book that Kubrick filmed in 1980?": "loop",
    "What is the seat of the county where Van Hook Township is located?": "loop",
    "Who was born earlier, Simone Bolelli or Caroline Wozniacki?": "loop",
    "电影《泰坦尼克号》的导演的妻子是谁？": "loop",
    "Compare HPA and KEDA": "report",
    "Give me an overview of CRISPR therapies": "report",
    "What is the state of battery research?": "report",
    "Why did Nokia fail?": "report",
    "Should I learn Python or Java?": "report",
    "Postgres vs MySQL for analytics": "report",
    "Who won Argentina vs France in 2022?": "slots",
    "How has the EU regulated AI?": "report",
    "Tell me about the history of the Suez Canal": "report",
    "人工智能对就业的影响": "report",
    "写一份关于全球变暖的报告": "report",
    "微信应用程序的开发者是谁？": "slots",
    "HPA和KEDA的区别": "report",
}


def test_the_kind_of_question_chooses() -> None:
    chosen = {topic: strategy_for_topic(topic, ALL) for topic in ASKED}
    assert {topic: choice.strategy for topic, choice in chosen.items()} == ASKED
    assert all(choice.reason for choice in chosen.values())
    assert strategy_for_topic("Compare HPA and KEDA", ALL, slots=True).strategy == "slots"
    some = ("slots", "loop")  # only what there is
    assert {strategy_for_topic(topic, some).strategy for topic in ASKED} == set(some)


RESEARCH = (
    "Does creatine harm the kidneys?",
    "What is known about the efficacy of semaglutide?",
    "Which studies show that naps help memory?",
    "司美格鲁肽的临床试验结果是什么？",
)


def test_questions_of_research_are_known() -> None:
    assert all(strategy_for_topic(topic, ALL).is_research for topic in RESEARCH)
    assert not any(strategy_for_topic(topic, ALL).is_research for topic in ASKED)
    assert strategy_for_topic(RESEARCH[0], ALL, slots=True).is_research


def test_auto_says_what_it_chose_and_why(tmp_path: Path) -> None:
    """In the first event, in the answer and in the journal; a resumed run keeps its strategy."""
    plain = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    named = research("Who founded LEGO?", plain).answer().run
    assert named and (named.strategy, named.reason) == ("slots", "")  # it needs no reason
    topic = "Where is the headquarters of the company of the founder of LEGO?"
    settings = Settings(offline=True, strategy="auto", runs_dir=tmp_path, cache_dir=tmp_path)
    run = research(topic, settings, resume="named")
    answer = run.answer()
    reason = "one fact must be found to look for the next"
    assert answer.run and (answer.run.strategy, answer.run.reason) == ("loop", reason)
    assert run.research.events_of(Started)[0].reason == reason
    header = read_journal_lines(tmp_path / "named.jsonl")[0]
    assert header["strategy"] == header["settings"]["strategy"] == "loop"
    for again in ({"replay": "named"}, {"resume": "named", "strategy": "slots"}):
        told = research("", settings, **again).answer()
        assert told.run and (told.run.strategy, told.run.reason) == ("loop", reason)
        assert told.answer == answer.answer


def test_a_depth_sets_what_is_not_given() -> None:
    quick, normal, deep = (Settings(depth=d) for d in ("quick", "normal", "deep"))
    for name in ("max_rounds", "max_iterations", "max_steps", "max_words"):
        assert getattr(quick, name) < getattr(normal, name) < getattr(deep, name)
    for name in ("pages_per_query", "pages_per_step", "report_tokens", "evidence_tokens"):
        sizes = [getattr(one.effort, name) for one in (quick, normal, deep)]
        assert sizes == sorted(set(sizes)) and len(sizes) == 3
    assert normal == Settings() and normal.max_seconds is None
    assert quick.max_tokens and deep.max_tokens and quick.max_tokens < deep.max_tokens
    assert deep.max_seconds == 600


def test_what_is_given_wins_over_the_depth() -> None:
    asked = parse_settings({}, depth="deep", max_rounds=1, max_usd=0.5)
    assert (asked.max_rounds, asked.effort.double_check, asked.max_usd) == (1, True, 0.5)
    assert asked.max_steps == DEPTHS["deep"]["max_steps"]
    with pytest.raises(UsageError, match="--depth"):
        parse_settings({}, depth="bottomless")


def test_a_resumed_run_is_as_deep_as_it_was_begun(tmp_path: Path) -> None:
    begun = Settings(offline=True, depth="deep", runs_dir=tmp_path, cache_dir=tmp_path)
    topic = "Who founded LEGO?"
    first = research(topic, begun, resume="deep")
    first.answer()
    header = read_journal_lines(tmp_path / "deep.jsonl")[0]["settings"]
    assert (header["depth"], header["max_steps"]) == ("deep", 8)
    assert header["effort"]["evidence_tokens"] == 8000
    quick = begun.model_copy(update={"depth": "quick", "effort": Effort(evidence_tokens=2000)})
    again = research(topic, quick, resume="deep")
    again.answer()
    assert [e.type for e in again.research.events] == [e.type for e in first.research.events]


def test_an_estimate_knows_strategy_and_depth() -> None:
    def calls(strategy: str, depth: str) -> float:
        given = parse_settings(KEY, strategy=strategy, depth=depth)
        made = estimate("Who founded LEGO?", given)
        assert made.calls.min < made.calls.max and made.tokens.min < made.tokens.max
        return made.calls.max

    for strategy in ALL:
        assert calls(strategy, "quick") < calls(strategy, "normal") < calls(strategy, "deep")
    assert calls("auto", "normal") == calls("slots", "normal") != calls("loop", "normal")


@pytest.mark.parametrize("strategy", ALL)
def test_an_estimate_counts_the_judge_at_least_once(strategy: str) -> None:
    rules, model = (
        estimate("Who founded LEGO?", parse_settings(KEY, strategy=strategy, verify=how))
        for how in ("rules", "model")
    )
    assert model.calls.min == rules.calls.min + 1 and model.tokens.min > rules.tokens.min


def test_the_function_is_the_packages_own() -> None:
    import agent
    from agent import research as begin
    from agent.run import research as the_same

    assert begin is agent.research is the_same
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agent.nothing  # noqa: B018 - asking is the test


def test_settings_are_those_of_the_environment_unless_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RESEARCH_AGENT_LLM", "extractive")
    monkeypatch.setenv("SEARCH_PROVIDERS", "nobody")
    with pytest.raises(UsageError, match="nobody"):
        research("Who founded LEGO?")


def test_an_answer_runs_the_run_once(tmp_path: Path) -> None:
    settings = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path)
    run = research("Who founded LEGO?", settings)
    first, events = run.answer(), len(run.research.events)
    assert first.status == "complete" and run.answer().answer == first.answer
    assert len(run.research.events) == events > 5


@pytest.mark.parametrize("strategy", ALL)
def test_a_run_that_is_left_early_says_so(strategy: str, tmp_path: Path) -> None:
    settings = parse_settings(
        {}, offline=True, strategy=strategy, runs_dir=tmp_path, cache_dir=tmp_path
    )
    run = research("Who founded LEGO?", settings)
    for event in run:
        if event.type == "searched":
            break
    answer = run.answer()
    assert answer.status == "error" and answer.error and answer.error.kind == "stopped"
    events = list(run.research.events)
    assert list(run) == events == run.research.events
