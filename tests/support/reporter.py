"""A scripted model that researches with tools and knows its prompt alone.

It searches the queries of its prompt, reads every page of the results, and ends. It writes what the
sources of its prompt state.
"""

from __future__ import annotations

import html
import re
from typing import Any

from tests.support.services import ModelRequest, Reply, read_topic, source_ids
from tests.support.thinker import Fact, Thinker, find_sentence

Calls = list[dict[str, Any]]


def search_calls(*queries: str) -> Calls:
    return [{"name": "search_web", "arguments": {"query": query}} for query in queries]


def fetch_calls(*urls: str) -> Calls:
    return [{"name": "fetch_page", "arguments": {"url": url}} for url in urls]


def hit_urls(result: str) -> list[str]:
    """Return the URLs in a search result."""
    return [html.unescape(url) for url in re.findall(r'<hit url="([^"]*)"', result)]


def round_queries(request: ModelRequest) -> list[str]:
    """Return the queries in the prompt of a round."""
    listed = request.prompt.partition("\nQueries:\n")[2].partition("\nSearched before:")[0]
    return [
        html.unescape(row) for row in re.findall(r"^- \[\w+\] (.*?)(?: \(.*\))?$", listed, re.M)
    ]


class Reporter:
    """`queries` are its plan; `follow` maps a missing fact to the query that finds it."""

    def __init__(
        self,
        facts: list[Fact],
        queries: list[str],
        follow: dict[str, str] | None = None,
        has_questions: bool = False,  # in its plan
    ) -> None:
        self._facts = facts
        self._queries = queries
        self._follow = follow or {}
        self._has_questions = has_questions

    def __call__(self, request: ModelRequest) -> Reply:
        return {
            "plan": self.plan,
            "gather": self.gather,
            "section": self.write,
            "summary": self.sum_up,
            "verify": Thinker(self._facts, []),
            "reflect": Thinker(self._facts, [], self._follow),
        }[request.task](request)

    def plan(self, request: ModelRequest) -> dict[str, Any]:
        rows = [
            {"query": query, "priority": "Medium", "reasoning": "needed"} for query in self._queries
        ]
        questions = [fact.slot for fact in self._facts] * self._has_questions
        return {
            "question_type": "factual",
            "search_strategy": "breadth-first",
            "sections": [{"heading": read_topic(request.prompt), "questions": questions}],
            "prioritized_sub_queries": rows,
        }

    def gather(self, request: ModelRequest) -> dict[str, Any]:
        if not request.results:
            return {"calls": search_calls(*round_queries(request))}
        if len(request.results) > 1:
            return {"text": "That is enough."}
        found = [url for result in request.results[0] for url in hit_urls(result)]
        return {"calls": fetch_calls(*dict.fromkeys(found))}

    def write(self, request: ModelRequest) -> dict[str, Any]:
        shown = source_ids(request.prompt)
        sentences = [
            {
                "text": f"The {fact.slot} is {fact.value}.",
                "citations": [{"source": n, "quote": quote}],
            }
            for fact in self._facts
            for n, quote in [find_sentence(fact.phrase, shown)]
            if n
        ]
        return {"sentences": sentences}

    def sum_up(self, request: ModelRequest) -> dict[str, Any]:
        """A sentence for each of the first three sentences of the report."""
        rows = re.findall(r"^(\d+)\. The (.*)$", request.prompt, re.M)[:3]
        sentences = [
            {"text": f"In short, the {html.unescape(text)}", "of": [int(n)]} for n, text in rows
        ]
        return {"title": "What was found", "summary": sentences}
