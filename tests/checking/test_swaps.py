"""What is measured at length by `evals`, in small: the promises of a verdict, and its measures.

False sentences made of true ones, and true ones in other words, go through `Verify`: all of them by
`python -m evals.swaps`, a sample here. The measures of judges and of whole runs are tried with
scripted services on loopback.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.outside import Reply, Task
from evals import calibration, claims, local_model, swaps
from evals.calibration import SaidValue, calibration_error
from evals.firms import FIRMS, gold_in, is_true
from evals.judges import is_drawn
from evals.pairs import Pair, build_pairs, demo_pages, load_paraphrases
from evals.swaps import ARMS, check_pair
from tests.conftest import DATA
from tests.support.services import ModelRequest, Services, source_ids

SAMPLE = 25  # of so many pairs one is run


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """The pairs of the demo corpus alone."""
    return build_pairs(Path("no such folder"))


@pytest.mark.slow
def test_the_pairs_are_enough_and_of_every_kind(pairs: list[Pair]) -> None:
    false = [pair for pair in pairs if not pair.true]
    retold = [pair for pair in pairs if pair.true and pair.kind != "word for word"]
    assert len({pair.quote for pair in false}) >= 300 and len(retold) >= 300
    assert len({pair.language for pair in retold} - {"en"}) == 10
    assert len({pair.kind for pair in false}) == 7
    assert all(pair.quote in pair.pages[0].text for pair in pairs)


def test_no_false_sentence_is_one_of_the_pages(pairs: list[Pair]) -> None:
    false = [p for p in pairs if not p.true and p.kind != "another event's sentence"]
    said = "\n".join(page.text for page in demo_pages().values())
    assert not [pair.claim for pair in false if pair.claim in said]


@pytest.mark.parametrize("arm", ARMS)
def test_no_promise_is_broken(pairs: list[Pair], arm: str) -> None:
    outcomes = [check_pair(pair, arm) for pair in pairs[::SAMPLE]]
    assert list(swaps.violations(outcomes)) == []
    assert {outcome.verdict for outcome in outcomes} > {"supported"}  # and something was at stake


def test_no_true_sentence_in_another_language_is_lost() -> None:
    told = [pair for pair in load_paraphrases() if pair.kind == "language"][::7]
    assert {check_pair(pair, "none").verdict for pair in told} == {"unchecked"}
    assert {check_pair(pair, "perfect").verdict for pair in told} == {"supported"}


def test_an_erring_judge_errs_in_its_share() -> None:
    drawn = [is_drawn(f"claim {n}", "swaps", 0.05) for n in range(4000)]
    assert 0.04 < sum(drawn) / len(drawn) < 0.06


def test_a_broken_promise_is_seen(pairs: list[Pair]) -> None:
    false = next(pair for pair in pairs if pair.wrong)
    true = next(pair for pair in pairs if pair.kind == "count")
    broken = [
        swaps.Outcome(false, "none", "supported", ""),
        swaps.Outcome(false, "agrees", "supported", "supported"),
        swaps.Outcome(true, "none", "dropped", ""),
        swaps.Outcome(true, "perfect", "partial", "supported"),
    ]
    assert len(list(swaps.violations(broken))) == 4
    assert not swaps.Outcome(true, "errs", "dropped", "unsupported").broken


# --- judges --------------------------------------------------------------------------------------


def test_a_judge_is_measured_by_its_batch(tmp_path: Path) -> None:
    rows = [
        claims.Row(f"Claim {n} holds.", ("Claim 1 holds.",), "attributable" if n % 2 else "refute")
        for n in range(8)
    ]

    def ask(task: Task[Any]) -> Reply[Any]:
        """Right by itself; in a batch it calls all supported, and forgets the last."""
        alone = len(task.claims) == 1  # type: ignore[attr-defined]
        right = int(task.claims[0].text.split()[1]) % 2  # type: ignore[attr-defined]
        said = "supported" if right or not alone else "contradicted"
        several = range(1, len(task.claims) + alone)  # type: ignore[attr-defined]
        verdicts = [{"claim": n, "verdict": said, "source": None} for n in several]
        return Reply(answer=task.answer_type.model_validate({"verdicts": verdicts}), model="x")

    single, batch = claims.measure(rows, ask, (1, 4))
    assert single["balanced_accuracy"] == 1 and single["false_called_supported"] == 0
    assert batch["refuted_called_supported"] == 4 and batch["no_verdict"] == 2
    claims.keep("x", [single, batch], tmp_path / "judges.json")
    assert claims.report(tmp_path / "judges.json").count("| x |") == 2


@pytest.mark.skipif(not DATA.is_dir(), reason="shared/data is not beside this checkout")
def test_claims_are_of_the_half_not_tuned_on() -> None:
    rows = claims.sample_rows(DATA / "claims", 4)
    assert {claims.half(row.claim) for row in rows} == {"report"}
    assert sum(row.supported for row in rows) == len(rows) / 2 == 6
    assert all(sum(map(len, row.quotes)) <= claims.EVIDENCE for row in rows)


# --- calibration ---------------------------------------------------------------------------------


def test_calibration_error_is_the_mean_gap() -> None:
    sure = [SaidValue("a", "report", 0.9, n < 9) for n in range(10)]
    vain = [SaidValue("a", "report", 1.0, n < 5) for n in range(10)]
    assert calibration_error(sure) == pytest.approx(0)
    assert calibration_error(vain) == pytest.approx(0.5)
    assert calibration_error([*sure, *vain]) == pytest.approx(0.25)
    assert "| a | 0.9 to 1.0 | 20 | 0.95 | 0.70 | +0.25 |" in calibration.report([*sure, *vain])


def test_the_table_says_no_more_than_the_tune_half_can_tell() -> None:
    few = [SaidValue("a", "tune", 0.4, n > 0, "words") for n in range(5)]
    many = [SaidValue("a", "tune", 0.4, True, "row") for _ in range(500)]
    other = [SaidValue("a", "report", 0.4, False, "row") for _ in range(500)]
    made = calibration.fit([*few, *many, *other])
    assert made == {"row": 0.95, "words": 0.38, "sentence": 0.5}


# --- whole runs with a model that lies -----------------------------------------------------------

ONE, SISTER = FIRMS[0], FIRMS[10]
TOPIC = f"Who founded {ONE.name}, and when?"


@pytest.mark.parametrize(
    ("text", "true"),
    [
        (f"{ONE.founder} founded {ONE.name} in {ONE.founded}.", True),
        (f"The founder was {ONE.founder}.", True),
        (ONE.founder, True),
        (f"founder: {ONE.founder}", True),
        (f"{SISTER.founder} founded {SISTER.name}.", True),
        (f"{SISTER.founder} founded {ONE.name}.", False),
        (f"{ONE.founder} did not found {ONE.name}.", False),
        (f"founder: {SISTER.founder}", False),
        (f"founded: {ONE.headquarters}", False),
        (f"{ONE.name} was founded in {ONE.headquarters}.", False),
        (ONE.headquarters, False),  # not what the topic asks for
        (f"{ONE.founder} founded {ONE.name} and was a great inventor.", False),
        ("The sources do not say.", False),
    ],
)
def test_the_facts_of_the_world_tell_what_is_true(text: str, true: bool) -> None:
    assert is_true(text, TOPIC) is true


def test_a_gold_answer_is_found_in_a_text() -> None:
    assert gold_in(f"Perhaps {ONE.founder}?", TOPIC)
    assert not gold_in(f"{ONE.headquarters}, perhaps", TOPIC)


def _lie(request: ModelRequest) -> dict[str, Any]:
    """A model that says what a page says, then a lie, and calls all of it supported."""
    n, text = next(iter(source_ids(request.prompt).items()), (1, ""))
    said = (text.split(". ") + ["", ""])[1]
    answer = f"{said} [{n}]. The founder is {SISTER.founder} [{n}]."
    cited = [{"source": n, "quote": said}]
    value = {"name": "founder", "value": SISTER.founder, "source": n, "quote": said}
    replies: dict[str, dict[str, Any]] = {
        "generate_queries": {"queries": [f"{ONE.name} founder"], "slots": []},
        "reflect": {"answerable": True, "slots": [value], "need_more": False, "new_queries": []},
        "synthesize": {"answer": answer, "citations": cited},
        "verify": {
            "verdicts": [{"claim": i, "verdict": "supported", "source": n} for i in (1, 2, 3)]
        },
    }
    return replies[request.task]


def test_nothing_false_is_supported_but_by_the_model_s_own_word(
    services: Services, tmp_path: Path
) -> None:
    services.think = _lie
    environment = {
        "OPENAI_BASE_URL": f"{services.base}/openai",
        "OPENAI_API_KEY": "openai-secret-key",
        "OPENAI_MODEL": "small",
        "LLM": "openai",
        "LLM_RETRY_WAITS": "0",
    }
    own, facts = local_model.measure(environment, tmp_path, ("slots",), runs=1)
    lies = [said for said in own.said if said.verdict == "supported" and not said.true]
    assert lies and {said.by for said in lies} == {"small"} and all(said.shown for said in lies)
    assert not [said for said in facts.said if said.verdict == "supported" and not said.true]
    assert [said for said in facts.said if said.verdict == "supported" and said.gold]
    asked = services.tasks()
    assert (
        asked.count("generate_queries") == asked.count("reflect") == 1
    )  # the second run's replies were kept
    found = local_model.summarize([own, facts])
    assert [one["not_true"] for one in found] == [len(lies), 0]
    (tmp_path / "local_model.json").write_text(json.dumps({"small": found}), encoding="utf-8")
    assert local_model.report(tmp_path / "local_model.json").count("| small |") == 2


def test_a_verdict_that_no_call_shows_is_seen() -> None:
    assert local_model.supported_in([]) == set()
    prompt = '<claim id="1" cites="1">A &amp; B.</claim>\n<claim id="2" cites="1">C.</claim>'
    rows = [{"claim": 1, "verdict": "supported"}, {"claim": 2, "verdict": "partial"}]
    call = {
        "request": {"task": "verify", "prompt": prompt},
        "response": {"answer": {"verdicts": rows}},
    }
    assert local_model.supported_in([call]) == {"a & b."}
