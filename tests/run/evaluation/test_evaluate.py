"""The evaluation: sets in their published forms, figures, what is gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.json_format import to_json
from agent.answer.schema import Answer, Usage
from agent.cli.evaluate import command
from agent.cli.shell import fail_as_json
from agent.errors import AgentError, UsageError
from agent.run.evaluation.figures import ABSTENTION, summarize_answers
from agent.run.evaluation.questions import EvaluationQuestion, load_questions
from agent.state import Claim
from agent.state.json_data import Json
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

Evaluate = Callable[..., tuple[int, Json]]


@pytest.fixture
def evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """The command over some rows: its exit status and what it printed."""

    def run(rows: list[Any], *arguments: str) -> tuple[int, Json]:
        path = tmp_path / "set.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        given = [str(path), "--results", str(tmp_path / "kept"), *arguments]
        try:
            status = command.main(given, standalone_mode=False)
        except AgentError as error:
            status = fail_as_json(error)
        return status, json.loads(capsys.readouterr().out)

    return run


HOTPOT = {"_id": "1", "question": "Q?", "answer": "A", "supporting_facts": [["T", 0]]}


@pytest.mark.parametrize(
    ("name", "text", "answers"),
    [
        ("a.jsonl", '{"question": "Q?", "answers": ["A", "B"], "gold": ["x"]}', ("A", "B")),
        ("hotpot.json", json.dumps([HOTPOT]), ("A",)),
        ("frames.tsv", "\tPrompt\tAnswer\twiki_links\n0\tQ?\tA\t['https://e.org/T']", ("A",)),
        ("simpleqa.csv", "metadata,problem,answer\n\"{'topic': 'Art'}\",Q?,A\n", ("A",)),
    ],
)
def test_published_forms_are_read(name: str, text: str, answers: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_questions(tmp_path / name) == (EvaluationQuestion(prompt="Q?", answers=answers),)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[{"prompt": "Q?", "answer": "A"}, {"prompt": "R?"}]', "row 2 holds no answer"),
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


def row(text: str, **more: Any) -> Json:
    """A row of results with two claims, of which one is cited and supported."""
    claims = more.pop("claims", [([1], "supported"), ([], "unsupported")]) if text else []
    made = tuple(Claim(text="c", citations=tuple(ids), verdict=v) for ids, v in claims)
    usage = Usage(llm_calls=2, input_tokens=90, output_tokens=10, usd=0.01, searches=3, pages=4)
    usage = usage.model_copy(update={"seconds": 1.5, **more})
    status: Any = "complete" if text else "insufficient"
    answer = Answer(topic="q", status=status, answer=text, claims=made, usage=usage)
    return {"id": 1, **json.loads(to_json(answer, compact=True))}


ULM, NOTHING = (EvaluationQuestion(prompt="q", answers=given) for given in (("Ulm",), ()))
HAND = [
    (ULM, row("Ulm [1]")),
    (ULM, row("It is Bonn", claims=[([1], "partial"), ([2], "supported")])),
    (ULM, row("")),
    (NOTHING, row("")),
    (NOTHING, row("Ulm")),
]


def test_figures_by_hand() -> None:
    told = summarize_answers(HAND)
    assert told["n"] == 5 and told["accuracy"]["value"] == 0.4  # the first and the fourth
    assert [told[name] for name in ("answered", "abstained", "wrong", "failed")] == [3, 2, 2, 0]
    assert told["citation_precision"]["value"] == 3 / 4  # of four claims that cite, one is partial
    assert told["citation_recall"]["value"] == round(4 / 6, 4)
    assert (told["seconds"], told["usd"], told["tokens"]) == (7.5, 0.05, 500)
    assert (told["llm_calls"], told["searches"], told["pages"]) == (10, 15, 20)
    unpriced = (ULM, row("Ulm", usd=None))
    assert summarize_answers([*HAND, unpriced])["usd"] is None, "an unknown price makes no sum"


DEMO = [
    {"prompt": "Who won the 2022 FIFA World Cup?", "answer": "Argentina"},
    {"question": "Who founded LEGO?", "answers": ["Nobody at all"]},
    {"prompt": "What is the shoe size of the mayor of Xanadu?", "answer": None},
]


def test_a_set_is_answered_offline_and_not_again(evaluate: Evaluate, tmp_path: Path) -> None:
    out = tmp_path / "predictions.json"
    status, told = evaluate(DEMO, "--offline", "--predictions", str(out), "--concurrency", "2")
    assert status == 0 and told["n"] == 3 and told["accuracy"]["value"] == 0.6667
    assert (told["answered"], told["abstained"], told["wrong"], told["failed"]) == (2, 1, 1, 0)
    assert told["citation_precision"]["value"] == told["citation_recall"]["value"] == 1
    predictions = json.loads(out.read_text("utf-8"))
    assert [row["prompt"] for row in predictions] == [str(list(row.values())[0]) for row in DEMO]
    assert predictions[0]["answer"].startswith("Argentina") and "[1]" not in str(predictions)
    assert predictions[2]["answer"] == ABSTENTION
    kept = (tmp_path / "kept").read_bytes()
    _, again = evaluate(DEMO, "--offline")
    assert again == told and (tmp_path / "kept").read_bytes() == kept


def test_a_file_of_other_questions_is_not_gone_on_with(evaluate: Evaluate) -> None:
    evaluate(DEMO[:1], "--offline")
    status, told = evaluate(DEMO[1:], "--offline")
    assert status == 2 and "another question" in told["error"]["message"]


TOPIC = "In which year did the old ferry company Velmora Lines open its first harbour?"
ROWS = [{"prompt": TOPIC, "answer": "1931"}, {"prompt": f"Again: {TOPIC}", "answer": "1931"}]


@pytest.fixture
def ferry(services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Services:
    """A model that reads one page."""
    for name, value in services.environment(tmp_path, CACHE_TTL="0").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    facts = [Fact("year", "1931", "first harbour in 1931")]
    services.think = Thinker(facts, ["Velmora Lines harbour"])
    services.pages = {"ferry": "Velmora Lines opened its first harbour in 1931. It had nine ships."}
    services.default_hits = ["ferry"]
    return services


@pytest.mark.slow
def test_only_a_question_that_failed_is_asked_again(ferry: Services, evaluate: Evaluate) -> None:
    hits = ferry.default_hits
    ferry.hits = lambda query: Raw(500, "down") if query.startswith("Again") else hits
    think = ferry.think
    ferry.think = lambda asked: Raw(500, "down") if "Again" in asked.prompt else think(asked)
    _, told = evaluate(ROWS, "--concurrency", "1")
    assert (told["failed"] + told["abstained"], told["accuracy"]["value"]) == (1, 0.5)
    ferry.think, ferry.hits = think, lambda query: hits
    ferry.model_requests.clear()
    _, again = evaluate(ROWS)
    asked = {"Again" in asked.prompt for asked in ferry.model_requests}
    assert asked == ({True} if told["failed"] else set())


def test_a_cap_ends_it_and_what_is_there_is_counted(ferry: Services, evaluate: Evaluate) -> None:
    status, told = evaluate(ROWS, "--max-calls", "1", "--concurrency", "1")
    assert (status, told["stopped"]) == (1, "--max-calls is used up") and told["n"] <= 1
