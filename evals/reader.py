"""A scripted model that searches for the names it reads, to measure where a strategy leads.

It sees prompts alone, as a model does. It knows the words of the question and, where the data set
has them, the *relations* to follow (`director`, `place of birth`, `where did #1 die?`). It knows no
name, title or answer that it has not read. It searches for the names in the shown passages that
have no page of their own yet; names in sentences that fit the question come first. It never decides
that it has read enough, so its usage is an upper limit.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from agent.evidence import (
    content_words,
    estimate_tokens,
    fold,
    rank_texts,
    split_sentences,
    stop_words,
)
from agent.evidence.names import find_names
from agent.llm import Generation
from agent.llm.extractive.question import parse_question
from agent.outside import Task
from agent.outside.tools import Exchange
from evals.judges import Word, judge_prompt

QUERIES = 3
SLOT = "what_is_asked"
_SOURCE = re.compile(r'<source id="(\d+)" title="([^"]*)"[^>]*>(.*?)</source>', re.S)
_HIT = re.compile(r'<hit url="([^"]*)"')
_QUERY = re.compile(r"^- (?:\[\w+\] )?(.+)$", re.M)
PAGES = 8  # calls of a turn that a report runs
TURNS = 5  # of a round of a report: the last one is left to end it
TURN, CALL = "\n<turn>\n", "\n<call>\n"
_SEARCHED = re.compile(r"^Search Queries: (.*)$", re.M)


class Shown(NamedTuple):
    """A source as a prompt shows it."""

    n: int
    title: str
    text: str


class Reader:
    """One question's reader; `relations` in the order in which they are followed."""

    provider = "scripted"
    name = "reader"

    def __init__(self, question: str, relations: Sequence[str] = ()) -> None:
        self._question = question
        self._relations = tuple(relations)
        self.spent: list[tuple[str, int]] = []  # the task and the prompt's tokens of each call

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task from its prompt."""
        turns = [f"{_render_queries(turn)}\n{CALL.join(turn.results)}" for turn in task.exchanges]
        prompt = TURN.join([task.prompt(), *turns])  # the conversation, as a model sees it
        answers = {
            "plan": self._plan_report,
            "gather": self._gather,
            "gaps": self._gaps,
            "draft": self._draft,
            "generate_queries": self._generate_queries,
            "reflect": self._reflect,
            "decide": self._decide,
            "synthesize": self._answer,
            "verify": self._verify,
            "mend": lambda _: {"answer": "", "citations": []},
        }
        said = answers[task.name](prompt)
        asked_for = [field for field in task.answer_type.model_fields if field in said]
        text = json.dumps({field: said[field] for field in asked_for}, ensure_ascii=False)
        spent = estimate_tokens(task.system_prompt()) + estimate_tokens(prompt)
        self.spent.append((task.name, spent))
        return Generation(text=text, input_tokens=spent, output_tokens=estimate_tokens(text))

    def warm(self) -> None:
        """Nothing is needed."""

    def close(self) -> None:
        """Nothing is held."""

    def probe(self) -> str:
        """It can always be asked."""
        return "it needs nothing"

    def cost_usd(self, generation: Generation) -> float:
        """Nothing."""
        return 0.0

    # --- what it answers -----------------------------------------------------------------------

    def _generate_queries(self, _: str) -> dict[str, Any]:
        return {
            "queries": self._first_queries(),
            "slots": [{"name": SLOT, "description": "", "needed": False}],
        }

    def _reflect(self, prompt: str) -> dict[str, Any]:
        """What is asked of a reading; `generate` drops the fields that are not asked for."""
        rows = [{"name": SLOT, "value": None, "source": None, "quote": ""}]
        found = self._next_queries(prompt)
        coverage = {"slots": rows, "need_more": True, "new_queries": found}
        return {"answerable": True, **self._answer(prompt), **coverage}

    def _decide(self, prompt: str) -> dict[str, Any]:
        found = self._next_queries(prompt) if "<source" in prompt else self._first_queries()
        return {"action": "search_web", "queries": found}

    def _answer(self, prompt: str) -> dict[str, Any]:
        pieces = [
            (s.n, s.text[a:b]) for s in _parse_sources(prompt) for a, b in split_sentences(s.text)
        ]
        if not pieces:
            return {"answer": "", "citations": []}
        scores = rank_texts([text for _, text in pieces], self._question)
        n, text = pieces[scores.index(max(scores))]
        return {"answer": f"{text} [{n}]", "citations": [{"source": n, "quote": text}]}

    def _verify(self, prompt: str) -> dict[str, Any]:
        """Call a claim supported if a source that is shown has its words, else partial."""

        def holds(text: str, source: Shown) -> bool:
            return fold(text).rstrip(". ") in fold(source.text)

        def judge(text: str, _: set[int]) -> Word:
            found = next((s.n for s in _parse_sources(prompt) if holds(text, s)), None)
            return Word("supported" if found else "partial", found)

        return {"verdicts": judge_prompt(prompt, judge, {})}

    # --- the same for a report -----------------------------------------------------------------

    def _plan_report(self, _: str) -> dict[str, Any]:
        rows = [
            {"query": query, "priority": "High", "reasoning": ""} for query in self._first_queries()
        ]
        about = {"question_type": "factual", "search_strategy": ""}
        return {**about, "prioritized_sub_queries": rows}

    def _gather(self, prompt: str) -> dict[str, Any]:
        """Search, read the hits, search for the names in them, read those hits; then end."""
        asked, *turns = prompt.split(TURN)
        if not turns:
            queries = [html.unescape(query) for query in _QUERY.findall(asked)]
        elif "<hit " in turns[-1]:
            lists = (map(html.unescape, _HIT.findall(told)) for told in turns[-1].split(CALL))
            ranked = [url for row in zip_longest(*lists) for url in row if url]
            best = list(dict.fromkeys(ranked))[:PAGES]
            return {"calls": [_tool_call("fetch_page", "url", url) for url in best]}
        else:
            queries = self._next_queries(prompt) if len(turns) == TURNS - 3 else []
        return {"calls": [_tool_call("search_web", "query", query) for query in queries]}

    def _gaps(self, prompt: str) -> dict[str, Any]:
        return {"gaps": ["what is asked"], "follow_up_queries": self._next_queries(prompt)}

    def _draft(self, prompt: str) -> dict[str, Any]:
        written = self._answer(prompt)
        text, rows = re.sub(r" \[\d+\]$", "", written["answer"]), written["citations"]
        sentence = [{"text": text, "citations": rows}] if text else []
        return {"title": "Report", "summary": sentence, "confidence": "Low"}

    def _first_queries(self) -> list[str]:
        """Return the question, its names, and the sub-questions that depend on no other."""
        named = list(parse_question(self._question).names)
        ready = [relation for relation in self._relations if _is_independent(relation)]
        return _deduplicate([self._question, *ready, *named])[:QUERIES]

    def _next_queries(self, prompt: str) -> list[str]:
        shown, before = _parse_sources(prompt), _earlier_queries(prompt)
        found = self._unread_names(shown)
        asked = [self._query_for(name) for name in found]
        return [query for query in _deduplicate(asked) if fold(query) not in before][:QUERIES]

    def _query_for(self, name: str) -> str:
        """Return the query for a name: the name, with the words of the dependent relations."""
        left = [relation for relation in self._relations if not _is_independent(relation)]
        said = " ".join(re.sub(r"#\d", " ", relation) for relation in left)
        plain = (word for word in re.findall(r"\w+", said) if word.casefold() not in stop_words())
        return " ".join([name, *plain])

    def _unread_names(self, shown: Sequence[Shown]) -> list[str]:
        """Return the names in the passages that have no page of their own, best first."""
        own = {fold(_without_brackets(source.title)) for source in shown}
        told = fold(self._question)
        pieces = [(s.title, s.text[a:b]) for s in shown for a, b in split_sentences(s.text)]
        wanted = f"{self._question} {' '.join(self._relations)}"
        scores = rank_texts([f"{title}. {text}" for title, text in pieces], wanted)
        best: dict[str, float] = {}
        for (_, text), score in zip(pieces, scores, strict=True):
            for name in dict.fromkeys(find_names(text)):
                key = fold(name)
                if key not in own and key not in told and len(content_words(name)) > 0:
                    best[name] = max(score, best.get(name, 0.0))
        return sorted(best, key=lambda name: -best[name])


def relations(question: dict[str, Any]) -> list[str]:
    """Return the relations that a data set gives for a question, without names to be found.

    Of 2wiki's triples the relation alone; of musique's sub-questions the text, in which `#1` stands
    for the answer to the first.
    """
    if "evidences" in question:
        return list(dict.fromkeys(f"#1 >> {relation}" for _, relation, _ in question["evidences"]))
    steps = question.get("decomposition", [])
    return [step["question"].replace(">>", " ") for step in steps if isinstance(step, dict)]


def _render_queries(turn: Exchange) -> str:
    """Render a turn's own searches, which a model sees together with their results."""
    given = (call.arguments.get("query") for call in turn.turn.calls)
    return "\n".join(f"- {html.escape(str(query))}" for query in given if query)


def _tool_call(name: str, argument: str, value: str) -> dict[str, Any]:
    return {"name": name, "arguments": {argument: value}}


def _is_independent(relation: str) -> bool:
    return "#" not in relation


def _parse_sources(prompt: str) -> list[Shown]:
    return [
        Shown(int(n), html.unescape(title), html.unescape(text))
        for n, title, text in _SOURCE.findall(prompt)
    ]


def _earlier_queries(prompt: str) -> set[str]:
    lists = (json.loads(html.unescape(line)) for line in _SEARCHED.findall(prompt))
    told = map(html.unescape, _QUERY.findall(prompt))
    return {fold(query) for query in (*told, *(q for queries in lists for q in queries))}


def _without_brackets(title: str) -> str:
    return re.sub(r"\s*\(.*?\)$", "", title)


def _deduplicate(queries: Sequence[str]) -> list[str]:
    return list({fold(query): query for query in reversed(queries)}.values())[::-1]
