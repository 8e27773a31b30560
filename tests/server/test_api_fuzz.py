"""The OpenAPI description is true: requests made from it get the responses that it names."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection as REJECTED
from schemathesis.specs.openapi.checks import positive_data_acceptance as ACCEPTED

from tests.support.web import Web

NOT_DESCRIBED = ("follow", "documents", "messages", "model", "slots_schema", "plan", "report")
RULES = settings(
    max_examples=5,  # of each operation, valid and invalid ones
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # making a failing case smaller takes minutes
    suppress_health_check=list(HealthCheck),
)


def may_be_refused(body: Any) -> bool:
    """Whether the schema cannot say that a body is accepted.

    Names must exist, a plan has an order, a report needs sentences, a question needs a letter and
    no blank ends.
    """
    fields = body if isinstance(body, dict) else {}
    question = str(fields.get("question", ""))
    has_field = any(fields.get(name) is not None for name in NOT_DESCRIBED)
    return has_field or question != question.strip() or not any(map(str.isalnum, question))


@pytest.mark.slow
def test_every_response_is_as_openapi_describes_it(web: Web) -> None:
    """Status, content type and schema of each response are those of its description; no 500."""

    def ask(case: Case) -> None:
        response = case.call(base_url=web.base, timeout=20)
        assert response.status_code < 500, case.as_curl_command()
        assert response.headers["x-content-type-options"] == ["nosniff"]
        excluded = [ACCEPTED] * may_be_refused(case.body)
        excluded += [REJECTED] * (response.status_code == 413)
        case.validate_response(response, excluded_checks=excluded)

    api = schemathesis.openapi.from_dict(web.client.get("/openapi.json").json())
    operations = [one.ok() for one in api.get_all_operations()]
    assert len(operations) > 20
    for operation in operations:
        ask_all(operation, ask)


def ask_all(operation: Any, ask: Any) -> None:
    modes = [GenerationMode.POSITIVE]
    if operation.body or operation.query or operation.path_parameters:
        modes.append(GenerationMode.NEGATIVE)
    for mode in modes:
        RULES(given(case=operation.as_strategy(generation_mode=mode))(ask))()
