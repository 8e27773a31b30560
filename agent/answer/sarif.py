"""The format `sarif` of a check: a result for each sentence that is not confirmed, for CI.

SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any
from urllib.parse import quote

from agent import __version__
from agent.answer.check import CheckResult, ClaimCheck
from agent.answer.phrases import describe_differences
from agent.answer.shown_check import VERDICTS
from agent.state.reports import CheckVerdict

Json = dict[str, Any]
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[CheckVerdict, str] = {
    "contradicted": "error",
    "unsupported": "error",
    "partial": "warning",
    "unreadable": "warning",
    "unchecked": "note",
}
RULES: dict[CheckVerdict, str] = {
    "contradicted": "A page that the sentence cites says otherwise.",
    "unsupported": "The pages that the sentence cites do not say it.",
    "partial": "The pages that the sentence cites say a part of it.",
    "unreadable": "A page that the sentence cites could not be read.",
    "unchecked": "Rules could not decide, and no model judged.",
}


def to_check_sarif(result: CheckResult) -> str:
    """The check as a SARIF log with one run."""
    tool = {
        "driver": {
            "name": "llm-research-agent check",
            "version": __version__,
            "rules": [
                {"id": verdict, "shortDescription": {"text": text}}
                for verdict, text in RULES.items()
            ],
        }
    }
    text = result.report.text if result.report else ""
    lines = [0, *(n + 1 for n, char in enumerate(text) if char == "\n")]
    run: Json = {
        "tool": tool,
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(claim, result, lines) for claim in result.claims if claim.verdict != "supported"
        ],
        "invocations": [_invocation(result)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _invocation(result: CheckResult) -> Json:
    invocation: Json = {"executionSuccessful": result.error is None}
    if result.error:
        notice = {"level": "error", "message": {"text": result.error["message"]}}
        invocation["toolExecutionNotifications"] = [notice]
    return invocation


def _result(claim: ClaimCheck, result: CheckResult, lines: list[int]) -> Json:
    message = f"{VERDICTS[claim.verdict].label}: {claim.reason or RULES[claim.verdict]}"
    notes = describe_differences(claim.differences, claim.verdict, "report")
    message += "".join(f" ({note})" for note in notes)
    if claim.quote:
        message += f" Nearest: “{claim.quote}”"
    region = _region(claim, lines) if result.report and _is_of_file(result) else {}
    name = quote(result.report.name if result.report else "")
    location: Json = {"artifactLocation": {"uri": name or "report"}, **region}
    found: Json = {
        "ruleId": claim.verdict,
        "level": LEVELS[claim.verdict],
        "message": {"text": f"{message} ({claim.text})"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"sentence": claim.text[:200]},
    }
    if notes:
        found["properties"] = {"differences": [one.model_dump() for one in claim.differences]}
    if claim.link:
        found["relatedLocations"] = [
            {
                "physicalLocation": {"artifactLocation": {"uri": claim.link}},
                "message": {"text": claim.quote},
            }
        ]
    return found


def _is_of_file(result: CheckResult) -> bool:
    """Whether offsets are those of the file, so that it has these lines."""
    form = result.report.form if result.report else ""
    return form in ("markdown", "wikitext", "bibtex")


def _region(claim: ClaimCheck, lines: list[int]) -> Json:
    """Lines and columns, which count from 1; the end is behind the last character."""
    first, last = bisect_right(lines, claim.start), bisect_right(lines, claim.end)
    return {
        "region": {
            "startLine": first,
            "startColumn": claim.start - lines[first - 1] + 1,
            "endLine": last,
            "endColumn": claim.end - lines[last - 1] + 1,
            "charOffset": claim.start,
            "charLength": claim.end - claim.start,
        }
    }
