"""A claim with a name that its quote lacks, where the judge failed, was switched off, or agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.settings import Settings
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import online
from tests.support.worlds import run_to_end

TOPIC = "Who won the cup of Torvik?"
QUOTE = "Rubel Athletic won the cup."
LIE, TRUE = "Paris Saint-Germain won the cup [1].", "Rubel Athletic won the cup [1]."
CITED: list[Reply] = [{"source": 1, "quote": QUOTE}]  # type: ignore[list-item]


def write(text: str, judge: Any) -> Any:
    """A model that plans, searches once and answers with a text; `judge` replies for it."""
    moves = iter([{"action": "search_web", "queries": [TOPIC]}])

    def think(asked: ModelRequest) -> Reply:
        draft = {"answer": text, "citations": CITED, "answerable": True}
        replies: dict[str, Any] = {
            "generate_queries": {"queries": [TOPIC], "slots": []},
            "reflect": {**draft, "slots": [], "need_more": False, "new_queries": []},
            "decide": next(moves, {"action": "return_answer", **draft}),
            "synthesize": draft,
            "mend": {"answer": "", "citations": []},
            "verify": judge,
        }
        return replies[asked.task]

    return think


def agree(asked: str) -> Reply:
    return {"verdicts": [{"claim": 1, "verdict": asked, "source": 1}]}


@pytest.fixture
def cup(services: Services) -> Services:
    services.pages = {"cup": f"It rained. {QUOTE} All went home."}
    services.default_hits = ["cup"]
    return services


@pytest.mark.parametrize("strategy", ["slots", "loop"])
@pytest.mark.parametrize("verify", ["model", "rules"])
def test_it_is_not_delivered_where_nobody_judged(
    cup: Services, settings: Settings, strategy: str, verify: str
) -> None:
    own = settings.model_copy(update={"strategy": strategy, "verify": verify})
    cup.think = write(LIE, Raw(500, "no judge today"))
    _, answer = run_to_end(TOPIC, own)
    assert ("verify" in cup.tasks()) == (verify == "model")
    assert "Paris" not in answer.answer and not answer.claims
    assert any("Paris Saint-Germain is not in its quotes" in one for one in answer.warnings)
    cup.think = write(TRUE, Raw(500, "no judge today"))
    _, answer = run_to_end(TOPIC, own)
    assert [(one.text, one.verdict) for one in answer.claims] == [(QUOTE, "quoted")]


@pytest.mark.parametrize("strategy", ["slots", "loop"])
def test_no_judge_lifts_it(cup: Services, settings: Settings, strategy: str) -> None:
    own = settings.model_copy(update={"strategy": strategy})
    for text, verdict in ((LIE, "partial"), (TRUE, "supported")):
        cup.think = write(text, agree("supported"))
        _, answer = run_to_end(TOPIC, own)
        assert [one.verdict for one in answer.claims] == [verdict]
        assert answer.status == {"partial": "partial", "supported": "complete"}[verdict]


@pytest.mark.parametrize("changes", [{}, {"verify": "rules"}])
def test_nor_is_it_delivered_over_http(
    cup: Services, tmp_path: Path, changes: dict[str, str]
) -> None:
    cup.think = write(LIE, Raw(500, "no judge today"))
    with online(cup, tmp_path) as web:
        body = {"question": TOPIC, **changes}
        answer = web.client.post("/api/research", json=body).json()
    assert "Paris" not in answer["answer"] and answer["claims"] == []
    assert any("Paris Saint-Germain" in one for one in answer["warnings"])
