"""The report of a check as Markdown, with what does not hold struck, and what sources say instead.

Nothing is changed silently: each change is told as a line too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent.answer.check import FAILING, OPEN, CheckResult, ClaimCheck
from agent.answer.shown_check import VERDICTS
from agent.state.sanitizing import sanitize_line

LONGEST_QUOTE = 500  # characters
EMPHASIS = "*_"  # around a claim: it is struck with it, so that both are closed where they began
#: Of a line: what makes it an item, a quotation, a heading; it stays outside what is struck.
_OPENING = re.compile(r"\s*(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+|\s+")
_MARKUP = re.compile(r"([\\`*_\[\]<>|~])")


class FixedReport(NamedTuple):
    """The text, and a line for each change and for what was left as it is."""

    text: str
    changes: tuple[str, ...]


def fix_report(result: CheckResult) -> FixedReport:
    """Strike claims that do not hold, and mark those that hold in part. Others stay as they are."""
    text, at = (result.report.text if result.report else ""), 0
    parts: list[str] = []
    changes: list[str] = []
    for claim in sorted(result.claims, key=lambda one: one.start):
        if claim.start < at or claim.verdict not in (*FAILING, "partial"):
            continue
        start = len(text[: claim.start].rstrip(EMPHASIS))
        end = len(text) - len(text[claim.end :].lstrip(EMPHASIS))
        parts += [text[at:start], _fix_claim(claim, text[start:end])]
        changes.append(_tell_change(claim, text.count("\n", 0, claim.start) + 1))
        at = end
    return FixedReport("".join((*parts, text[at:])), (*changes, *_tell_left(result)))


def _fix_claim(claim: ClaimCheck, words: str) -> str:
    """The words of a claim, struck if it fails, and in brackets why; rows of tables stay rows."""
    struck = _strike(words) if claim.verdict in FAILING else words
    body, note = struck.rstrip(), f" [{_explain(claim)}]"
    if body.endswith("|"):
        return f"{body[:-1].rstrip()}{note} |{struck[len(body) :]}"
    return f"{body}{note}{struck[len(body) :]}"


def _strike(words: str) -> str:
    return "\n".join("|".join(map(_strike_cell, line.split("|"))) for line in words.split("\n"))


def _strike_cell(words: str) -> str:
    opening = _OPENING.match(words)
    start = opening.end() if opening else 0
    body = words[start:].rstrip()
    return f"{words[:start]}~~{body}~~{words[start + len(body) :]}" if body else words


def _explain(claim: ClaimCheck) -> str:
    """What is wrong; of a page that says otherwise its words, and the number of the source."""
    reason = claim.reason or VERDICTS[claim.verdict].label
    if claim.verdict not in FAILING or not claim.quote:
        return _escape(reason)
    near = "" if claim.verdict == "contradicted" else "nearest in "
    quote = sanitize_line(claim.quote, LONGEST_QUOTE)
    return f"{_escape(reason)}; {near}source {claim.source}: “{_escape(quote)}”"


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _tell_change(claim: ClaimCheck, line: int) -> str:
    done = "struck" if claim.verdict in FAILING else "marked"
    why = f"{VERDICTS[claim.verdict].label}: {claim.reason}" if claim.reason else claim.verdict
    return f"line {line}, {done} ({why}): {sanitize_line(claim.text, LONGEST_QUOTE)}"


def _tell_left(result: CheckResult) -> Iterator[str]:
    for verdict in OPEN:
        if count := result.counts.get(verdict):
            yield f"left as they are, {VERDICTS[verdict].label}: {count}"
