"""A scripted model that follows what it reads, to measure where a strategy leads a reader.

It sees prompts alone, as a model does. It knows of a question what stands in it and, where its data
set tells, the *relations* to follow (`director`, `place of birth`, `where did #1 die?`): never a
name, a title or an answer that it has not read. Names that the shown passages give and that have no
page of their own yet are searched for, best first: those of sentences that fit the question.
It never finds that it has read enough, so what it spends is the most that a reader would.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from agent.evidence import STOP_WORDS, fold, rank, sentences, tokens, words
from agent.llm import Generated
from agent.llm.extractive.finders import names
from agent.llm.extractive.question import understood
from agent.outside import Task
from agent.outside.tools import Exchange

QUERIES = 3
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

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task from its prompt."""
        turns = [f"{_calls(turn)}\n{CALL.join(turn.results)}" for turn in task.exchanges]
        prompt = TURN.join([task.prompt(), *turns])  # the conversation, as a model sees it
        answers = {
            "plan": self._sub_queries,
            "gather": self._call,
            "gaps": self._gaps,
            "draft": self._draft,
            "generate_queries": self._plan,
            "reflect": self._reflect,
            "decide": self._decide,
            "synthesize": self._write,
        }
        text = json.dumps(answers[task.name](prompt), ensure_ascii=False)
        spent = tokens(task.system()) + tokens(prompt)
        return Generated(text=text, input_tokens=spent, output_tokens=tokens(text))

    def warm(self) -> None:
        """Nothing is needed."""

    def close(self) -> None:
        """Nothing is held."""

    def probe(self) -> str:
        """It can always be asked."""
        return "it needs nothing"

    def price(self, generated: Generated) -> float:
        """Nothing."""
        return 0.0

    # --- what it answers -----------------------------------------------------------------------

    def _plan(self, _: str) -> dict[str, Any]:
        return {"queries": self._first(), "slots": [{"name": "what_is_asked", "description": ""}]}

    def _reflect(self, prompt: str) -> dict[str, Any]:
        rows = [{"name": "what_is_asked", "value": None, "source": None, "quote": ""}]
        return {"slots": rows, "need_more": True, "new_queries": self._next(prompt)}

    def _decide(self, prompt: str) -> dict[str, Any]:
        found = self._next(prompt) if "<source" in prompt else self._first()
        return {"action": "search_web", "queries": found}

    def _write(self, prompt: str) -> dict[str, Any]:
        pieces = [(s.n, s.text[a:b]) for s in _shown(prompt) for a, b in sentences(s.text)]
        if not pieces:
            return {"answer": "", "citations": []}
        scores = rank([text for _, text in pieces], self._question)
        n, text = pieces[scores.index(max(scores))]
        return {"answer": f"{text} [{n}]", "citations": [{"source": n, "quote": text}]}

    # --- the same for a report -----------------------------------------------------------------

    def _sub_queries(self, _: str) -> dict[str, Any]:
        rows = [{"query": query, "priority": "High", "reasoning": ""} for query in self._first()]
        about = {"question_type": "factual", "search_strategy": ""}
        return {**about, "prioritized_sub_queries": rows}

    def _call(self, prompt: str) -> dict[str, Any]:
        """Search, read what was found, search for what that names, read that; then end."""
        asked, *turns = prompt.split(TURN)
        if not turns:
            queries = [html.unescape(query) for query in _QUERY.findall(asked)]
        elif "<hit " in turns[-1]:
            lists = (map(html.unescape, _HIT.findall(told)) for told in turns[-1].split(CALL))
            ranked = [url for row in zip_longest(*lists) for url in row if url]
            best = list(dict.fromkeys(ranked))[:PAGES]
            return {"calls": [_called("fetch_page", "url", url) for url in best]}
        else:
            queries = self._next(prompt) if len(turns) == TURNS - 3 else []
        return {"calls": [_called("search_web", "query", query) for query in queries]}

    def _gaps(self, prompt: str) -> dict[str, Any]:
        return {"gaps": ["what is asked"], "follow_up_queries": self._next(prompt)}

    def _draft(self, prompt: str) -> dict[str, Any]:
        written = self._write(prompt)
        text, rows = re.sub(r" \[\d+\]$", "", written["answer"]), written["citations"]
        sentence = [{"text": text, "citations": rows}] if text else []
        return {"title": "Report", "summary": sentence, "confidence": "Low"}

    def _first(self) -> list[str]:
        """The question, what it names, and the sub-questions that depend on no other."""
        named = list(understood(self._question).names)
        ready = [relation for relation in self._relations if _depends_on_none(relation)]
        return _distinct([self._question, *ready, *named])[:QUERIES]

    def _next(self, prompt: str) -> list[str]:
        shown, before = _shown(prompt), _searched(prompt)
        found = self._names(shown)
        asked = [self._about(name) for name in found]
        return [query for query in _distinct(asked) if fold(query)[0] not in before][:QUERIES]

    def _about(self, name: str) -> str:
        """What to search for of a name: what the relations ask of what came before."""
        left = [relation for relation in self._relations if not _depends_on_none(relation)]
        said = " ".join(re.sub(r"#\d", " ", relation) for relation in left)
        plain = (word for word in re.findall(r"\w+", said) if word.casefold() not in STOP_WORDS)
        return " ".join([name, *plain])

    def _names(self, shown: Sequence[Shown]) -> list[str]:
        """The names in the passages without a page of their own, best first."""
        own = {fold(_bare(source.title))[0] for source in shown}
        told = fold(self._question)[0]
        pieces = [(s.title, s.text[a:b]) for s in shown for a, b in sentences(s.text)]
        wanted = f"{self._question} {' '.join(self._relations)}"
        scores = rank([f"{title}. {text}" for title, text in pieces], wanted)
        best: dict[str, float] = {}
        for (_, text), score in zip(pieces, scores, strict=True):
            for name in dict.fromkeys(names(text)):
                key = fold(name)[0]
                if key not in own and key not in told and len(words(name)) > 0:
                    best[name] = max(score, best.get(name, 0.0))
        return sorted(best, key=lambda name: -best[name])


def relations(question: dict[str, Any]) -> list[str]:
    """What a data set tells of the way to an answer, without any name that must be found first.

    Of 2wiki's triples the relation alone; of musique's sub-questions the text, in which `#1` stands
    for the answer to the first.
    """
    if "evidences" in question:
        return list(dict.fromkeys(f"#1 >> {relation}" for _, relation, _ in question["evidences"]))
    steps = question.get("decomposition", [])
    return [step["question"].replace(">>", " ") for step in steps if isinstance(step, dict)]


def _calls(turn: Exchange) -> str:
    """A turn's own searches, which a model sees as well as their results."""
    given = (call.arguments.get("query") for call in turn.turn.calls)
    return "\n".join(f"- {html.escape(str(query))}" for query in given if query)


def _called(name: str, argument: str, value: str) -> dict[str, Any]:
    return {"name": name, "arguments": {argument: value}}


def _depends_on_none(relation: str) -> bool:
    return "#" not in relation


def _shown(prompt: str) -> list[Shown]:
    return [
        Shown(int(n), html.unescape(title), html.unescape(text))
        for n, title, text in _SOURCE.findall(prompt)
    ]


def _searched(prompt: str) -> set[str]:
    lists = (json.loads(html.unescape(line)) for line in _SEARCHED.findall(prompt))
    told = map(html.unescape, _QUERY.findall(prompt))
    return {fold(query)[0] for query in (*told, *(q for queries in lists for q in queries))}


def _bare(title: str) -> str:
    return re.sub(r"\s*\(.*?\)$", "", title)


def _distinct(queries: Sequence[str]) -> list[str]:
    return list({fold(query)[0]: query for query in reversed(queries)}.values())[::-1]
