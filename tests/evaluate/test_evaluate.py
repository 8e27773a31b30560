"""The evaluation: sets in their published forms, arms side by side, figures, judge, resume."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer import Answer, Usage
from agent.cli.evaluate import command
from agent.errors import UsageError
from agent.evaluate.arms import Arm, settings_at_equal_tokens
from agent.evaluate.contamination import ContaminationDetector
from agent.evaluate.evaluation import ABSTENTION
from agent.evaluate.judge import SAMPLE_FILE, load_sample, measure_agreement
from agent.evaluate.markdown import render_results
from agent.evaluate.questions import EvaluationQuestion, load_questions
from agent.evaluate.summary import TrialRow, compare_arms, summarize_trials
from agent.evaluate.trials import Trial
from agent.settings import Settings
from agent.state import Claim, Hit
from agent.state.json_data import Json
from tests.support.services import ModelRequest, Raw, Services
from tests.support.thinker import Fact, Thinker

Evaluate = Callable[..., tuple[int, Json]]


@pytest.fixture
def evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """The door over some rows: its exit status and what it printed."""

    def run(rows: list[Any], *arguments: str) -> tuple[int, Json]:
        path = tmp_path / "set.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        given = [str(path), "--results", str(tmp_path / "kept"), *arguments]
        status = command.main(given, standalone_mode=False)
        return status, json.loads(capsys.readouterr().out)

    return run


HOTPOT = {"_id": "1", "question": "Q?", "answer": "A", "context": []}
HOTPOT |= {"supporting_facts": [["T", 0], ["T", 2], ["U", 1]]}
FRAMES = "\tPrompt\tAnswer\twiki_links\n0\tQ?\tA\t\"['https://e.org/T']\""


@pytest.mark.parametrize(
    ("name", "text", "answers", "gold"),
    [
        ("d.json", '[{"prompt": "Q?", "answer": "A"}]', ("A",), ()),
        ("a.jsonl", '{"question": "Q?", "answers": ["A", "B"], "gold": ["x"]}', ("A", "B"), ("x",)),
        ("hotpot.json", json.dumps([HOTPOT]), ("A",), ("T", "U")),
        ("frames.tsv", FRAMES, ("A",), ("https://e.org/T",)),
        ("simpleqa.csv", "metadata,problem,answer\n\"{'topic': 'Art'}\",Q?,A\n", ("A",), ()),
        ("null.json", '[{"question": "Q?", "answers": null}]', (), ()),
        ("number.json", '[{"question": "Q?", "answer": 1907}]', ("1907",), ()),
    ],
)
def test_published_forms_are_read(
    name: str, text: str, answers: Any, gold: Any, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    asked = EvaluationQuestion(prompt="Q?", answers=answers, gold=gold)
    assert load_questions(tmp_path / name) == (asked,)


def test_a_line_ends_where_json_lines_say(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"problem": "Q\u2028R?", "answer": "A"}\r\n', "utf-8")
    assert load_questions(tmp_path / "s.jsonl")[0].prompt == "Q\u2028R?"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[{"prompt": "Q?", "answer": "A"}, {"prompt": "R?"}]', "row 2 holds no answer"),
        ('[{"prompt": "Q?", "answer": "A"}, {"id": 2, "prompt": "R?"}]', "row 2 holds no answer"),
        ('[{"answer": "A"}]', "row 1 holds no question"),
        ('[{"prompt": "Q?", "answer": {"a": 1}}]', "the answer of row 1 is no text"),
        ("[]", "holds no questions"),
        ("{not json}", "neither JSON nor JSON lines"),
        ('{"prompt": "Q?", "answer": "A"}\nnot json', "in line 2"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=fault):
        load_questions(tmp_path / "set.json")


@given(text=st.text(max_size=80), name=st.sampled_from(["s.json", "s.csv", "s.tsv"]))
def test_any_text_is_a_set_or_a_clear_error(text: str, name: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert load_questions(path)
    except UsageError as error:
        assert error.remedy


def row(text: str, answers: tuple[str, ...], label: str, **more: Any) -> TrialRow:
    """A row with two claims, of which one is cited and supported, unless told otherwise."""
    sound = more.pop("sound", None)
    claims = more.pop("claims", [([1], "supported"), ([], "unsupported")])
    made = tuple(Claim(text="c", citations=tuple(ids), verdict=v) for ids, v in claims)
    usage = Usage(llm_calls=2, input_tokens=90, output_tokens=10, usd=0.01, searches=3, pages=4)
    usage = usage.model_copy(update={"seconds": 1.5, **more.pop("usage", {})})
    said: Any = {"status": "complete", "claims": made} if text else {"status": "insufficient"}
    answer = Answer(topic="q", usage=usage, **said)
    trial = Trial(prompt="q", arm="a", text=text, answer=answer, **more)
    asked = EvaluationQuestion(prompt="q", answers=answers, gold=("g1", "g2"))
    return TrialRow(asked, trial, label, sound)


HAND = [
    row("Ulm", ("Ulm",), "right", found=("g1", "g2"), read=("g1",), cited=("g1",), sound=1),
    row("It is Bonn", ("Ulm",), "wrong", claims=[([1], "partial"), ([2], "supported")]),
    row("", ("Ulm",), "abstained", found=("g1",)),
    row("", (), "abstained"),
    row("Ulm", (), "wrong", sound=0),
]


def test_figures_by_hand() -> None:
    told = summarize_trials(HAND)
    assert told["n"] == 5 and told["accuracy"]["value"] == 0.4  # the first and the fourth
    assert [told[name] for name in ("answered", "abstained", "wrong", "failed")] == [3, 2, 2, 0]
    assert told["accuracy_of_answered"]["value"] == round(1 / 3, 4)
    assert told["exact_match"]["value"] == told["contains"]["value"] == told["f1"]["value"] == 0.4
    assert told["gold_found"]["value"] == 3 / 10 and told["gold_cited"]["value"] == 1 / 10
    assert told["citation_precision"]["value"] == 3 / 4  # of four claims that cite, one is partial
    assert told["citation_recall"]["value"] == round(4 / 6, 4)
    assert told["citation_precision_judged"]["value"] == 0.5  # 1 of 1 and 0 of 1 were judged
    assert (told["seconds"], told["usd"], told["tokens"]) == (7.5, 0.05, 500)
    assert (told["llm_calls"], told["searches"], told["pages"]) == (10, 15, 20)
    unpriced = row("x", ("x",), "right", usage={"usd": None})
    assert summarize_trials([*HAND, unpriced])["usd"] is None, "an unknown price makes no sum"


def test_differences_are_paired_by_question() -> None:
    other = [row("Rome", ("Ulm",), "wrong"), *HAND[1:]]
    (told,) = compare_arms([("a", HAND), ("b", other)])
    assert (told["arm"], told["less"], told["n"]) == ("a", "b", 5)
    assert told["accuracy"]["value"] == 0.2 and told["tokens_a_question"]["value"] == 0


DEMO = [
    {"prompt": "Who won the 2022 FIFA World Cup?", "answer": "Argentina"},
    {"question": "Who founded LEGO?", "answers": ["Nobody at all"]},
    {"prompt": "What is the shoe size of the mayor of Xanadu?", "answer": None},
]


def test_offline_end_to_end_and_again(evaluate: Evaluate, tmp_path: Path) -> None:
    out = tmp_path / "predictions.json"
    status, told = evaluate(DEMO, "--offline", "--predictions", str(out), "--concurrency", "2")
    assert status == 0 and told["n"] == 3 and told["accuracy"]["value"] == 0.6667
    assert (told["answered"], told["abstained"], told["wrong"], told["failed"]) == (2, 1, 1, 0)
    assert told["citation_precision"]["value"] == told["citation_recall"]["value"] == 1
    assert told["arms"].keys() == {"slots", "closed_book", "single_search"}
    assert "remembers nothing" in told["arms"]["closed_book"]["skipped"]
    assert told["arms"]["single_search"]["searches"] == 3 and told["searches"] > 3
    predictions = json.loads(out.read_text("utf-8"))
    assert [row["prompt"] for row in predictions] == [str(list(row.values())[0]) for row in DEMO]
    assert predictions[0]["answer"].startswith("Argentina") and "[1]" not in str(predictions)
    assert predictions[2]["answer"] == ABSTENTION

    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept/trials").rglob("*.json")}
    assert len(kept) == 6
    _, again = evaluate(DEMO, "--offline")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert again | {"wall_seconds": 0} == told | {"wall_seconds": 0}


def test_tasks_that_others_judge_become_articles(evaluate: Evaluate, tmp_path: Path) -> None:
    tasks = [
        {"id": n, "topic": "Art", "prompt": row["prompt"]}
        for n, row in ((7, DEMO[0]), ("b", DEMO[2]))
    ]
    out = tmp_path / "articles.jsonl"
    status, told = evaluate(tasks, "--offline", "--no-baselines", "--predictions", str(out))
    assert (status, told["n"], told["answered"], told["abstained"]) == (0, 2, 1, 1)
    assert told["accuracy"]["value"] is None and told["f1"]["value"] is None
    lines = [json.loads(line) for line in out.read_text("utf-8").split("\n")[:-1]]
    assert [(row["id"], row["prompt"]) for row in lines] == [(t["id"], t["prompt"]) for t in tasks]
    assert "Argentina" in lines[0]["article"] and "corpus:" in lines[0]["article"]
    (tmp_path / "written.jsonl").write_bytes(out.read_bytes())
    assert [q.task for q in load_questions(tmp_path / "written.jsonl")] == [7, "b"]


def test_a_folder_of_other_settings_is_not_gone_on_with(evaluate: Evaluate) -> None:
    evaluate(DEMO[:1], "--offline", "--no-baselines")
    status, told = evaluate(DEMO[:1], "--offline", "--no-baselines", "--max-words", "20")
    assert status == 2 and "other settings" in told["error"]["message"]


@pytest.mark.slow
def test_strategies_stand_side_by_side(evaluate: Evaluate) -> None:
    arguments = ("--offline", "--strategy", "slots,loop", "--depth", "quick", "--no-baselines")
    _, told = evaluate(DEMO, *arguments)
    assert list(told["arms"]) == ["slots, quick", "loop, quick"]
    (apart,) = told["differences"]
    assert (apart["arm"], apart["less"], apart["n"]) == ("slots, quick", "loop, quick", 3)


TOPIC = "In which year did the old ferry company Velmora Lines open its first harbour?"
FERRY = "Velmora Lines opened its first harbour in 1931. It had nine ships."
ROWS = [{"prompt": TOPIC, "answer": "1931"}, {"prompt": "x" * 2001, "answer": "y"}]


@pytest.fixture
def ferry(services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Services:
    """A model that reads one page, remembers another year, and judges by the word `1931`."""
    for name, value in services.environment(tmp_path, CACHE_TTL="0").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    reader = Thinker([Fact("year", "1931", "first harbour in 1931")], ["Velmora Lines harbour"])

    def think(asked: ModelRequest) -> Any:
        if asked.task == "recall":
            return {"reasoning": "", "remembered": "In 1925."}
        if asked.task == "judge":
            said = asked.prompt.split("<answer>")[1]
            return {"reasoning": "", "ruling": "right" if "1931" in said else "wrong"}
        return reader(asked)

    services.think = think
    services.pages = {"ferry": FERRY}
    services.default_hits = ["ferry"]
    return services


@pytest.mark.slow
def test_baselines_stand_beside_and_a_crash_costs_one(ferry: Services, evaluate: Evaluate) -> None:
    status, told = evaluate(ROWS, "--concurrency", "1")
    assert status == 0 and (told["n"], told["failed"], told["answered"]) == (2, 1, 1)
    assert told["accuracy"]["value"] == 0.5 and told["arms"]["closed_book"]["wrong"] == 1
    single = told["arms"]["single_search"]
    assert (single["searches"], single["llm_calls"], single["answered"]) == (1, 1, 1)
    assert ferry.tasks().count("recall") == 1
    recalled = next(asked for asked in ferry.model_requests if asked.task == "recall")
    assert FERRY not in recalled.prompt and "nothing to search" in recalled.system
    assert [row["less"] for row in told["differences"]] == ["closed_book", "single_search"]
    assert told["differences"][0]["accuracy"]["value"] == 0.5
    assert told["usd"] > 0 and told["tokens"] > 0


def test_the_single_search_may_show_as_many_tokens_as_ours_spent() -> None:
    arm = Arm(name="s", settings=Settings(baseline="single_search", evidence_tokens=3000))
    assert settings_at_equal_tokens(arm, 9000).evidence_tokens == 9000
    assert settings_at_equal_tokens(arm, 10).evidence_tokens == 3000
    assert settings_at_equal_tokens(arm, 10**9).evidence_tokens == 60_000


@pytest.mark.slow
def test_only_a_question_that_failed_is_asked_again(ferry: Services, evaluate: Evaluate) -> None:
    rows = [{"prompt": TOPIC, "answer": "1931"}, {"prompt": f"Again: {TOPIC}", "answer": "1931"}]
    hits = ferry.default_hits
    ferry.hits = lambda query: Raw(500, "down") if query.startswith("Again") else hits
    think = ferry.think
    ferry.think = lambda asked: (
        Raw(500, "down") if asked.task == "recall" and "Again" in asked.prompt else think(asked)
    )
    _, told = evaluate(rows, "--concurrency", "1")
    assert told["arms"]["closed_book"]["failed"] == 1 and told["failed"] == 0
    ferry.think, ferry.hits = think, lambda query: hits
    ferry.model_requests.clear()
    _, told = evaluate(rows)
    assert told["arms"]["closed_book"]["failed"] == 0
    assert {"Again" in asked.prompt for asked in ferry.model_requests} == {True}


@pytest.mark.slow
def test_a_model_judges_and_its_agreement_is_told(ferry: Services, evaluate: Evaluate) -> None:
    _, told = evaluate(ROWS[:1], "--judge", "gemini:gemini-3.8-flash", "--no-baselines")
    judged = told["judged_by"]
    assert told["accuracy"]["value"] == 1 and judged["model"] == "gemini-3.8-flash"
    assert told["citation_precision_judged"]["value"] == 1
    checked = [asked.prompt for asked in ferry.model_requests if asked.task == "verify"][-1]
    assert "first harbour in 1931" in checked and "It had nine ships" not in checked
    assert "<gold>GOLD</gold>" in judged["prompt"] and "grade an answer" in judged["prompt"]
    rows = load_sample(SAMPLE_FILE)
    as_scripted = sum(row.label == ("right" if "1931" in row.answer else "wrong") for row in rows)
    assert judged["agreement"]["n"] == len(rows)
    assert judged["agreement"]["value"] == round(as_scripted / len(rows), 4)
    asked = ferry.tasks().count("judge")
    evaluate(ROWS[:1], "--judge", "gemini:gemini-3.8-flash", "--no-baselines")
    assert ferry.tasks().count("judge") == asked  # rulings are kept


def test_the_rules_agree_with_the_sample_as_far_as_they_can() -> None:
    rows = load_sample(SAMPLE_FILE)
    assert {row.label for row in rows} == {"right", "wrong", "abstained"} and len(rows) == 40
    told = measure_agreement(rows, None)
    assert told and told["value"] == 18 / 40 and told["interval"] == [0.3, 0.6]


def test_pages_that_carry_the_set_are_kept_away(ferry: Services, evaluate: Evaluate) -> None:
    other = "Which of the nine ships of Velmora Lines was the first to sink?"
    leak = "A dump of answers, canary 9f3c-77, first harbour in 1931."
    copy = f"Q: {TOPIC} A: 1931. Q: {other} A: The Gull."
    ferry.pages = {"copy": copy, "leak": leak, "set.json": FERRY, "ferry": FERRY}
    ferry.default_hits = [*ferry.pages]
    rows = [{"prompt": TOPIC, "answer": "1931"}, {"prompt": other, "answer": "The Gull"}]
    _, told = evaluate(rows, "--limit", "1", "--canary", "9F3C-77", "--no-baselines")
    blocked = {row["url"].rpartition("/")[2]: row["reason"] for row in told["blocked"]}
    assert blocked == {
        "copy": "it holds this question and others of the set, word for word",
        "leak": "it holds the canary string",
        "set.json": "the file of a question set: set.json",
    }
    assert {row["prompt"] for row in told["blocked"]} == {TOPIC}
    shown = "".join(asked.prompt for asked in ferry.model_requests if asked.task == "reflect")
    assert "harbour in 1931" in shown and "canary" not in shown and "The Gull" not in shown
    assert "set.json" not in ferry.page_requests and told["accuracy"]["value"] == 1


@pytest.mark.parametrize(
    ("name", "url", "kept_away"),
    [
        ("test.tsv", "https://a.example/data/test.tsv?raw=1", True),
        ("test.tsv", "https://a.example/latest.tsv", False),
        ("questions", "https://stackoverflow.com/questions/7", False),
        ("mine.json", "https://a.example/hotpot_dev_fullwiki_v1.json", True),
        ("mine.json", "https://huggingface.co/datasets/x", True),
    ],
)
def test_a_set_is_known_by_its_file_not_by_a_word(name: str, url: str, kept_away: bool) -> None:
    asked = EvaluationQuestion(prompt="Who was first?", answers=("Ann",))
    contamination = ContaminationDetector(Path(name), [asked])
    assert bool(contamination.reason_to_block_hit(asked, Hit(url=url, title=""))) == kept_away


def test_the_documents_of_a_corpus_may_ask_and_answer(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "faq").mkdir()
    text = f"{TOPIC}\nVelmora Lines opened its first harbour in 1931.\n\nWhy? Who? Where?"
    (tmp_path / "faq/faq.md").write_text(text, encoding="utf-8")
    corpus = ("--offline", "--corpus", str(tmp_path / "faq"), "--no-baselines")
    _, told = evaluate(ROWS[:1], *corpus)
    assert told["blocked"] == [] and told["answered"] == 1


@pytest.mark.slow
def test_results_are_kept_as_json_and_markdown(evaluate: Evaluate, tmp_path: Path) -> None:
    _, told = evaluate(DEMO, "--offline", "--strategy", "slots,loop")
    kept = tmp_path / "kept"
    assert json.loads((kept / "results.json").read_text("utf-8")) == told
    page = (kept / "results.md").read_text("utf-8")
    assert "| slots | 3 | 2 | 1 | 1 | 0 | 0.667 (0 to 1) |" in page
    assert "closed\\_book: skipped." in page and "| slots less loop | 3 |" in page


def test_a_page_of_results_is_inert_to_what_others_wrote() -> None:
    hostile = {"url": "https://x.org/|<script>", "reason": "[a](b)", "arm": "slots"}
    told = {**summarize_trials(HAND), "judged_by": {"model": None, "rule": "r", "agreement": None}}
    arms = {"slots": summarize_trials(HAND)}
    page = render_results({**told, "arms": arms, "differences": [], "blocked": [hostile]}, "# t")
    assert "\\|\\<script\\>" in page and "\\[a\\](b)" in page and "# \\# t" in page


def test_what_cannot_be_written_is_told(
    ferry: Services, evaluate: Evaluate, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file/out.json"
    status, told = evaluate(ROWS, "--predictions", str(out))
    assert status == 2 and "cannot be written" in told["error"]["message"]
    assert not ferry.model_requests
    (tmp_path / "kept/arms.json").write_text("{", encoding="utf-8")
    status, told = evaluate(ROWS)
    assert status == 2 and "cannot be read" in told["error"]["message"]


def test_a_judge_without_a_key_is_told(evaluate: Evaluate) -> None:
    status, told = evaluate(DEMO, "--offline", "--judge", "gemini")
    assert status == 1 and "GEMINI_API_KEY is not set" in told["error"]["message"]
    status, told = evaluate(DEMO, "--offline", "--judge", "extractive")
    assert status == 2 and "cannot judge" in told["error"]["message"]
