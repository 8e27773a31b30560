"""What OpenAPI tells is true: requests made from it, odd ones too, get what it promises."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection as REJECTED
from schemathesis.specs.openapi.checks import positive_data_acceptance as ACCEPTED

from tests.support.web import Web

UNTOLD = ("follow", "documents", "messages", "model")
EXAMPLES = 8  # of each operation, good and bad ones
OPERATIONS = [
    ("GET", "/api/health"),
    ("GET", "/api/status"),
    ("GET", "/api/choices"),
    ("GET", "/metrics"),
    ("POST", "/api/research"),
    ("POST", "/api/research/stream"),
    ("POST", "/api/plan"),
    ("POST", "/api/check"),
    ("POST", "/api/check/stream"),
    ("POST", "/api/documents"),
    ("DELETE", "/api/documents/{name}"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{name}"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/api/runs"),
    ("GET", "/api/runs/{name}"),
    ("DELETE", "/api/runs/{name}"),
    ("POST", "/api/runs/{name}/cancel"),
    ("POST", "/api/runs/{name}/follow"),
    ("GET", "/api/runs/{name}/events"),
    ("GET", "/api/runs/{name}/answer"),
    ("GET", "/api/runs/{name}/export"),
    ("PATCH", "/api/runs/{name}"),
]


@pytest.fixture(scope="module")
def api(web: Web) -> BaseSchema:
    return schemathesis.openapi.from_dict(web.client.get("/openapi.json").json())


def takes_something(operation: Any) -> bool:
    return bool(operation.body or operation.query or operation.path_parameters)


def is_untold(body: Any) -> bool:
    """Whether OpenAPI cannot tell if it is taken.

    That is a question with blank ends or without letters, slots' schema, a plan, whose sections
    have an order, a report, which needs sentences, names of runs and documents, and a conversation,
    which needs a question and a model that there is.
    """
    given = body if isinstance(body, dict) else {}
    question = str(given.get("question", ""))
    has_unknown = any(given.get(name) for name in UNTOLD)
    has_unknown |= any(given.get(name) is not None for name in ("slots_schema", "plan"))
    has_unknown |= "report" in given
    return has_unknown or question != question.strip() or not any(map(str.isalnum, question))


@pytest.mark.slow
def test_every_operation_is_asked(api: BaseSchema) -> None:
    told = {(one.ok().method.upper(), one.ok().path) for one in api.get_all_operations()}
    assert told == set(OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_as_openapi_tells(
    api: BaseSchema, web: Web, method: str, path: str
) -> None:
    """Status, content type and schema of each answer are those of its description; no 500."""
    operation = api[path][method]

    def ask(case: Case) -> None:
        response = case.call(base_url=web.base, timeout=20)
        assert response.status_code < 500, case.as_curl_command()
        assert response.headers["x-content-type-options"] == ["nosniff"]
        unknown = [ACCEPTED] * is_untold(case.body) + [REJECTED] * (response.status_code == 413)
        case.validate_response(response, excluded_checks=unknown)

    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    for mode in modes if takes_something(operation) else modes[:1]:
        strategy = operation.as_strategy(generation_mode=mode)
        rules = settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],  # a failing case tells enough; making it smaller takes minutes
            suppress_health_check=list(HealthCheck),
        )
        rules(given(case=strategy)(ask))()
