"""A scripted model that writes reports of sections and knows its prompt alone.

It knows which words of a page answer which question of its plan.
"""

from __future__ import annotations

import html
import re
from typing import Any

from tests.support.services import ModelRequest, Reply, parse_claims, source_ids
from tests.support.thinker import Fact, find_sentence


class Analyst:
    """`plan` is its plan; `follow` maps a question to the query that answers it."""

    def __init__(
        self, facts: list[Fact], plan: dict[str, Any], follow: dict[str, str] | None = None
    ) -> None:
        self.facts = {fact.slot: fact for fact in facts}
        self._plan = plan
        self._follow = follow or {}

    def __call__(self, request: ModelRequest) -> Reply:
        shown = source_ids(request.prompt)
        if request.task == "plan":
            return self._plan
        if request.task == "summary":
            return self._sum_up(request)
        if request.task == "verify":
            return self._judge(parse_claims(request.prompt), shown)
        if request.task == "synthesize":  # it mends nothing
            return {"answer": "", "citations": []}
        return {"reflect": self._reflect, "section": self._write}[request.task](request, shown)

    def _questions_of(self, request: ModelRequest) -> list[str]:
        """The questions that a prompt lists."""
        listed = re.split(r"\n(?:Slots|Questions):\n", request.prompt)[-1]
        rows = re.findall(r"^- (.*?)(?:: .*|:)? *$", re.split(r"\n[A-Z][\w ]+:\n", listed)[0], re.M)
        return [html.unescape(row) for row in rows]

    def _reflect(self, request: ModelRequest, shown: dict[int, str]) -> dict[str, Any]:
        rows, queries = [], []
        for name in self._questions_of(request):
            fact = self.facts.get(name)
            n, sentence = find_sentence(fact.phrase, shown) if fact else (None, "")
            value = fact.value if fact and n else None
            rows.append({"name": name, "value": value, "source": n, "quote": sentence})
            if not n and name in self._follow:
                queries.append(self._follow[name])
        is_open = any(row["source"] is None for row in rows)
        return {"slots": rows, "need_more": is_open, "new_queries": queries}

    def _write(self, request: ModelRequest, shown: dict[int, str]) -> dict[str, Any]:
        sentences = [
            {
                "text": f"{fact.slot.replace('?', ':')} {fact.value}.",
                "citations": [{"source": n, "quote": quote}],
            }
            for name in self._questions_of(request)
            if (fact := self.facts.get(name))
            for n, quote in [find_sentence(fact.phrase, shown)]
            if n
        ]
        return {"sentences": sentences}

    def _sum_up(self, request: ModelRequest) -> dict[str, Any]:
        """A sentence for each of the first three sentences of the report."""
        rows = re.findall(r"^(\d+)\. (.*)$", request.prompt, re.M)[:3]
        sentences = [
            {"text": f"In short: {html.unescape(text)}", "of": [int(n)]} for n, text in rows
        ]
        return {"title": "What was found", "summary": sentences}

    def _judge(self, claims: dict[int, tuple[list[int], str]], shown: dict[int, str]) -> Any:
        """Support a claim that a source which it cites has, or of which that has the fact."""
        verdicts = []
        for n, (cites, text) in claims.items():
            facts = [fact for fact in self.facts.values() if fact.value in text]
            phrases = [text.rstrip("."), *(fact.phrase for fact in facts)]
            holds = any(one in shown.get(c, "") for one in phrases for c in cites)
            verdict = "supported" if holds else "unsupported"
            verdicts.append({"claim": n, "verdict": verdict, "source": cites[0] if holds else None})
        return {"verdicts": verdicts}
