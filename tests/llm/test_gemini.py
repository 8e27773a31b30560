"""Gemini on the wire: what is sent, how replies are read, and what each refusal is taken for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import responses
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from agent.calls.gemini_api import GeminiAccount, GeminiConnection
from agent.calls.prices import Price, find_price, load_prices
from agent.errors import ModelFailed, NotConfigured, UsageError
from agent.llm import ModelChain
from agent.llm.gemini import Gemini
from agent.run.models import make_models
from agent.search.google_grounding import GoogleGrounding
from agent.search.search_options import SearchOptions
from agent.settings import Variable, make_settings, parse_settings, read_variables
from agent.state import Outcome
from agent.steps.generate_queries import MakeQueries
from tests.support.catcher import Catcher
from tests.support.services import GEMINI_KEY, ModelRequest, Raw, Services, gemini_reply

TASK = MakeQueries(topic="Who won?")
GOOD = {"queries": ["a", "b", "c"], "slots": [{"name": "winner"}]}


def gemini(
    services: Services, key: str = GEMINI_KEY, version: str = "", timeout: float = 5
) -> Gemini:
    connection = GeminiConnection(GeminiAccount(key, f"{services.base}/gemini", version), timeout)
    return Gemini(
        "gemini-3.8-flash", connection, Price(**{"from": "2026-01-01"}, input=1, output=2)
    )


def ask(services: Services, **more: Any) -> tuple[Any, list[float]]:
    """A reply to TASK and the waits before it."""
    waits: list[float] = []
    models = ModelChain([gemini(services)], 5, (2, 4, 8), sleep=waits.append, **more)
    return models(TASK), waits


def error(code: int, status: str, *details: dict[str, Any]) -> Raw:
    body = {"error": {"code": code, "message": f"said {status}", "status": status}}
    body["error"]["details"] = list(details)
    return Raw(code, json.dumps(body))


def retry_info(delay: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def quota(name: str) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": name}]}


def reply(parts: list[dict[str, Any]], reason: str = "STOP") -> Raw:
    body = gemini_reply("", ModelRequest("", "m", "", ""), reason)
    body["candidates"][0]["content"]["parts"] = parts
    body["usageMetadata"] = {"promptTokenCount": 100, "candidatesTokenCount": 10}
    body["usageMetadata"]["thoughtsTokenCount"] = 40
    return Raw(200, json.dumps(body))


@pytest.mark.parametrize(
    ("version", "path"), [("v1beta", "v1beta"), ("beta", "v1beta"), ("", "v1")]
)
def test_what_is_sent_and_to_which_version(version: str, path: str, services: Services) -> None:
    services.think = lambda asked: GOOD
    gemini(services, version=version).generate(TASK, "")
    assert services.posted_paths == [f"/gemini/{path}/models/gemini-3.8-flash:generateContent"]
    assert "<topic>Who won?</topic>" in services.model_requests[0].prompt


def test_no_other_name_counts(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    monkeypatch.setenv("GOOGLE_API_KEY", "another-key")
    monkeypatch.setenv("GOOGLE_GENAI_CLIENT_MODE", "replay")
    services.think = lambda asked: GOOD
    assert ask(services)[0].answer.queries == ["a", "b", "c"]


@pytest.mark.parametrize(("status", "call"), [(302, "generate"), (307, "generate"), (308, "probe")])
def test_no_redirect_is_followed_with_the_key(status: int, call: str) -> None:
    with Catcher() as elsewhere:
        location = f"http://{elsewhere.host}/v1/models?key={GEMINI_KEY}"
        with Catcher(status, location) as gateway:
            connection = GeminiConnection(GeminiAccount(GEMINI_KEY, f"http://{gateway.host}"), 5)
            model = Gemini("gemini-3.8-flash", connection, None)
            with pytest.raises(ModelFailed) as failure:
                model.generate(TASK, "") if call == "generate" else model.probe()
            connection.close()
        assert len(gateway.requests) == 1 and GEMINI_KEY in gateway.text
        assert elsewhere.requests == []
    error = failure.value
    assert error.outcome == "rejected" and "GOOGLE_GEMINI_BASE_URL" in error.remedy
    assert error.message == (f"Gemini: HTTP {status}, a redirect to 127.0.0.1 that is not followed")


def test_thoughts_are_paid_for_and_not_read(services: Services) -> None:
    services.think = lambda asked: reply(
        [{"text": "hm {", "thought": True}, {"text": json.dumps(GOOD)}]
    )
    answered, _ = ask(services)
    assert answered.answer.queries == ["a", "b", "c"]
    assert (answered.input_tokens, answered.output_tokens) == (100, 50)
    assert answered.usd == pytest.approx((100 * 1 + 50 * 2) / 1e6)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (reply([{"text": '{"queries": ["a"'}], "MAX_TOKENS"), "cut off"),
        (Raw(200, json.dumps({"candidates": []})), "empty"),
        (reply([{"text": '{"queries": 7}'}]), "does not fit"),
        (reply([{"text": "queries: a"}]), "no JSON object"),
    ],
)
def test_a_reply_that_is_no_answer_is_asked_for_again_saying_why(
    first: Raw, said: str, services: Services
) -> None:
    replies: list[Any] = [first]
    services.think = lambda asked: replies.pop() if replies else GOOD
    answered, waits = ask(services)
    assert answered.answer.queries == ["a", "b", "c"] and not waits
    assert said in services.model_requests[1].prompt and len(services.model_requests) == 2


@pytest.mark.parametrize(
    "blocked",
    [
        Raw(200, json.dumps({"promptFeedback": {"blockReason": "SAFETY"}})),
        *(reply([], why) for why in ("SAFETY", "SPII")),
    ],
)
def test_a_safety_block_is_not_argued_with(blocked: Raw, services: Services) -> None:
    """Nor is the next model asked, and its cost is counted."""
    services.think = lambda asked: blocked
    with pytest.raises(ModelFailed, match="refused to reply") as caught:
        ModelChain([gemini(services), gemini(services)], 5, ())(TASK)
    assert caught.value.outcome == "blocked" and len(services.model_requests) == 1
    assert "promptFeedback" in blocked.body or caught.value.spent.output_tokens == 50


REFUSALS: list[tuple[Raw, Outcome, list[float]]] = [
    (error(429, "RESOURCE_EXHAUSTED"), "rate_limited", [2, 4, 8]),
    (error(429, "RESOURCE_EXHAUSTED", retry_info("5s")), "rate_limited", [5, 5, 8]),
    (error(429, "RESOURCE_EXHAUSTED", retry_info("3600s")), "rate_limited", []),
    (error(429, "X", quota("GenerateRequestsPerDayPerProject")), "no_credit", []),
    (error(503, "UNAVAILABLE"), "unavailable", [2, 4, 8]),
    (error(504, "DEADLINE_EXCEEDED"), "timeout", [2, 4, 8]),
    (Raw(200, "<html>a gateway</html>"), "unavailable", [2, 4, 8]),
    (Raw(0, ""), "unavailable", [2, 4, 8]),
    (error(400, "INVALID_ARGUMENT"), "rejected", []),
    (error(403, "PERMISSION_DENIED"), "bad_key", []),
    (error(404, "NOT_FOUND"), "not_found", []),
]


@pytest.mark.parametrize(("raw", "outcome", "waits"), REFUSALS)
def test_refusals(raw: Raw, outcome: Outcome, waits: list[float], services: Services) -> None:
    services.think = lambda asked: raw
    waited: list[float] = []
    with pytest.raises(ModelFailed) as caught:
        ModelChain([gemini(services)], 5, (2, 4, 8), sleep=waited.append)(TASK)
    assert caught.value.outcome == outcome and waited == waits
    assert [attempt.outcome for attempt in caught.value.attempts] == [outcome] * (len(waits) + 1)
    assert len(services.model_requests) == len(waits) + 1
    assert all(attempt.detail for attempt in caught.value.attempts)


def test_retry_after_of_the_header_counts(services: Services) -> None:
    replies: list[Any] = [Raw(429, "{}", {"Retry-After": "7"})]
    services.think = lambda asked: replies.pop() if replies else GOOD
    assert ask(services)[1] == [7]


def test_a_model_that_hangs_is_left_at_its_deadline(services: Services) -> None:
    services.think = lambda asked: Raw(200, "{}", delay=3)
    model = gemini(services, timeout=30)
    with pytest.raises(ModelFailed) as caught:
        ModelChain([model], 0.3, ())(TASK)
    assert caught.value.outcome == "timeout"
    model.close()


def test_a_refused_key_is_not_reported(services: Services) -> None:
    services.think = lambda asked: error(403, "KEY my-wrong-key REFUSED")
    with pytest.raises(ModelFailed) as refused:
        ModelChain([gemini(services, key="my-wrong-key")], 5, ())(TASK)
    assert "my-wrong-key" not in repr(refused.value.attempts) + refused.value.message


def test_prices_are_dated(tmp_path: Path) -> None:
    prices = load_prices(None)
    before, after = date(2026, 12, 31), date(2027, 1, 1)
    dated = [find_price(prices, "gemini-3.8-flash", day) for day in (before, after)]
    assert [row.input for row in dated if row] == [0.75, 1.5]
    assert find_price(prices, "gemini-3.8-flash", date(2020, 1, 1)) is None
    assert find_price(prices, "unheard-of", before) is None
    with pytest.raises(UsageError, match="RESEARCH_AGENT_PRICES_FILE"):
        load_prices(tmp_path / "missing.json")


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service account of Google Cloud, as its libraries find one, and its token server."""
    secret = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    uri = "https://token.test/token"
    rows = {"type": "service_account", "client_email": "a@b.test"}
    rows |= {"token_uri": uri, "project_id": "of-the-account"}
    file = tmp_path / "account.json"
    file.write_text(json.dumps(rows | {"private_key": secret.decode()}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with responses.RequestsMock() as mock:
        mock.post(uri, json={"access_token": "t0ken", "expires_in": 3600, "token_type": "Bearer"})
        yield


VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "my-project"}
VERTEX["GOOGLE_CLOUD_LOCATION"] = "europe-west4"


def test_vertex_ai_is_asked_where_the_user_sets_it(
    account: None, services: Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment = services.environment(tmp_path, **VERTEX)
    variables = {name: Variable(value, "shell") for name, value in environment.items()}
    settings = make_settings(variables, tmp_path)
    answer = gemini_reply(json.dumps(GOOD), ModelRequest("", "m", "", ""))
    services.fault = lambda: Raw(200, json.dumps(answer))
    model = make_models(settings)[0]
    assert ModelChain([model], 5, ())(TASK).answer.queries == ["a", "b", "c"]
    model.close()
    google = GoogleGrounding(settings, SearchOptions())
    assert google.search("q").hits == ()
    google.close()
    path = "/gemini/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/"
    assert services.posted_paths == [f"{path}gemini-3.8-flash:generateContent"] * 2
    (notice,) = caplog.messages
    assert "Vertex AI" in notice and "my-project" in notice and "europe-west4" in notice


def test_vertex_ai_without_a_project_or_an_account_is_an_error(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = services.environment(tmp_path, GOOGLE_GENAI_USE_VERTEXAI="1")
    with pytest.raises(NotConfigured, match="GOOGLE_CLOUD_PROJECT is not"):
        make_models(parse_settings(environment))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    model = make_models(parse_settings(environment | VERTEX))[0]
    with pytest.raises(ModelFailed) as failed:
        model.generate(TASK, "")
    assert failed.value.outcome == "bad_key" and "gcloud auth" in failed.value.remedy
    model.close()


def test_a_folder_does_not_choose_the_project(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GOOGLE_CLOUD_PROJECT=theirs\n")
    shell = {"GOOGLE_GENAI_USE_VERTEXAI": "true"}
    with pytest.raises(NotConfigured, match="GOOGLE_CLOUD_PROJECT"):
        make_settings(read_variables(shell, tmp_path), tmp_path)
