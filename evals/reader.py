"""A scripted model that reads and tells the truth: it answers when a prompt shows the answer.

It understands what it is shown as a person does who knows the answer: of each passage that the
question needs, some sentence that tells must stand in the prompt. Then it answers, cites them and
wants no more. Else it says that the sources do not answer, cites what it recognised, and searches
for the names in the shown passages that have no page of their own yet; names in sentences that fit
the question come first.
It knows no passage beforehand, and what it recognises is never used to search.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from agent.calls import Task
from agent.calls.model_tools import Exchange
from agent.evidence import content_words, fold, rank_texts, split_sentences
from agent.evidence.proper_names import find_names, find_question_names
from evals.knowing import Word, judge_prompt
from evals.questions import Passages, contains_answer
from evals.scripted import Scripted, Shown, shown_sources

QUERIES = 3
SLOT = "what_is_asked"
PAGES = 8  # calls of a turn that a report runs
TURN, CALL = "\n<turn>\n", "\n<call>\n"
_HIT = re.compile(r'<hit url="([^"]*)"')
_QUERY = re.compile(r"^- (?:\[\w+\] )?(.+)$", re.M)
_SLOT = re.compile(r"\nSlots:\n- (.*?): ?$", re.M)
_SEARCHED = re.compile(r"^Search Queries: (.*)$", re.M)


class Step(NamedTuple):
    """A sub-question, and the names that must be read before it can be asked."""

    query: str
    needs: tuple[str, ...]


class AnswerKey(NamedTuple):
    """What a reader recognises: of each passage the sentences that tell, the best ones first."""

    answer: str
    telling: tuple[tuple[str, ...], ...]


def make_key(question: Mapping[str, Any], passages: Passages) -> AnswerKey:
    """The key of a question.

    A sentence tells if it has the answer, the answer of a step, or the title of another passage
    that is needed; of a passage without such a sentence, every one does.
    """
    golds = [passages[gold] for gold in question["gold"]]
    answers, steps = question["answers"], [tells for _, tells in _known_steps(question)]
    telling = []
    for passage in golds:
        titles = [_bare(other["title"]) for other in golds if other is not passage]
        sentences = [passage["text"][a:b] for a, b in split_sentences(passage["text"])]
        best = [said for said in sentences if contains_answer(said, answers)]
        linking = [said for said in sentences if contains_answer(said, [*steps, *titles])]
        telling.append(tuple(dict.fromkeys([*best, *linking])) or tuple(sentences))
    return AnswerKey(answers[0], tuple(telling))


def make_steps(question: Mapping[str, Any]) -> list[Step]:
    """The sub-questions that a data set tells, with the names in them as they are read."""
    known = _known_steps(question)
    answers = [tells for _, tells in known]
    told = fold(question["question"])
    steps = []
    for text, _ in known:
        filled = re.sub(r"#(\d)", lambda found: answers[int(found[1]) - 1], text)
        named = {answers[int(n) - 1] for n in re.findall(r"#(\d)", text)}
        named |= {a for a in answers if text.startswith(f"{a} >> ") and fold(a) not in told}
        steps.append(Step(" ".join(filled.replace(">>", " ").split()), tuple(sorted(named))))
    return steps


def _known_steps(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each step's question, as `subject >> relation` or in words, and its answer."""
    if "evidences" in question:
        return [(f"{subject} >> {asked}", told) for subject, asked, told in question["evidences"]]
    steps = question.get("decomposition", [])
    return [(step["question"], step["answer"]) for step in steps if isinstance(step, dict)]


def _bare(title: str) -> str:
    return re.sub(r"\s*\(.*?\)$", "", title)


class HonestReader(Scripted):
    """A reader of one question; with `steps` it asks sub-questions as soon as it can."""

    name = "reader"

    def __init__(self, question: str, key: AnswerKey, steps: Sequence[Step] = ()) -> None:
        super().__init__(self._reply)
        self._question = question
        self._key = key
        self._steps = tuple(steps)
        self.has_answered = False

    def _reply(self, task: Task[Any]) -> Mapping[str, Any]:
        answers = {
            "plan": self._plan_report,
            "gather": self._gather,
            "section": self._write_section,
            "summary": self._sum_up,
            "generate_queries": self._generate_queries,
            "reflect": self._reflect,
            "decide": self._decide,
            "synthesize": self._answer,
            "verify": self._verify,
            "mend": lambda _: {"answer": "", "citations": []},
        }
        return answers[task.name](self.read(task))

    def read(self, task: Task[Any]) -> str:
        """The conversation, as a model sees it."""
        turns = [f"{_render_queries(turn)}\n{CALL.join(turn.results)}" for turn in task.exchanges]
        return TURN.join([task.prompt(), *turns])

    # --- what it understands -------------------------------------------------------------------

    def _recognise(self, shown: Sequence[Shown]) -> list[tuple[int, str]]:
        """Of each passage that is needed the best sentence that is shown, with its source."""
        texts = [(source.n, fold(source.text)) for source in shown]
        found = []
        for sentences in self._key.telling:
            places = ((n, said) for said in sentences for n, text in texts if fold(said) in text)
            found.extend(list(places)[:1])
        return found

    def _understand(self, prompt: str) -> list[tuple[int, str]]:
        """The sentences on which the answer stands; none if one is not shown."""
        found = self._recognise(shown_sources(prompt))
        return found if len(found) == len(self._key.telling) else []

    def _answer(self, prompt: str) -> dict[str, Any]:
        found = self._understand(prompt)
        self.has_answered |= bool(found)
        markers = "".join(f"[{n}]" for n in dict.fromkeys(n for n, _ in found))
        rows = [{"source": n, "quote": said} for n, said in found]
        return {"answer": f"{self._key.answer} {markers}." if found else "", "citations": rows}

    def _reflect(self, prompt: str) -> dict[str, Any]:
        found = self._understand(prompt)
        queries = [] if found else self._next_queries(prompt)
        name = next(iter(_SLOT.findall(html.unescape(prompt))), SLOT)
        row = {**self._fill(found), "name": name}
        coverage = {"slots": [row], "need_more": not found, "new_queries": queries}
        needed = [{"source": n, "quote": q} for n, q in self._recognise(shown_sources(prompt))]
        answer = self._answer(prompt) | {"citations": needed}
        return {"answerable": bool(found), **answer, **coverage}

    def _fill(self, found: Sequence[tuple[int, str]]) -> dict[str, Any]:
        """The slot's row: the answer, by a sentence that has it where there is one."""
        if not found:
            return {"name": SLOT, "value": None, "source": None, "quote": ""}
        n, said = max(found, key=lambda row: contains_answer(row[1], [self._key.answer]))
        return {"name": SLOT, "value": self._key.answer, "source": n, "quote": said}

    def _decide(self, prompt: str) -> dict[str, Any]:
        if self._understand(prompt):
            return {"action": "return_answer", **self._answer(prompt)}
        found = self._next_queries(prompt) if "<source" in prompt else self._first_queries()
        return {"action": "search_web", "queries": found}

    def _verify(self, prompt: str) -> dict[str, Any]:
        """A judge who knows: what has the answer is supported, and words that a source has."""
        shown = [fold(source.text) for source in shown_sources(prompt)]

        def judge(text: str, _: set[int]) -> Word:
            told = any(fold(text).rstrip(". ") in words for words in shown)
            right = contains_answer(text, [self._key.answer])
            return Word("supported" if told or right else "unsupported")

        return {"verdicts": judge_prompt(prompt, judge, {})}

    # --- the same for a report -----------------------------------------------------------------

    def _plan_report(self, _: str) -> dict[str, Any]:
        """One section, as the prompt asks for a topic of one fact."""
        rows = [
            {"query": query, "priority": "High", "reasoning": ""} for query in self._first_queries()
        ]
        about = {"question_type": "factual", "search_strategy": ""}
        sections = [{"heading": "Answer", "questions": [self._question]}]
        return {**about, "prioritized_sub_queries": rows, "sections": sections}

    def _gather(self, prompt: str) -> dict[str, Any]:
        """Search, read the best hits, end the round."""
        asked, *turns = prompt.split(TURN)
        if not turns:
            queries = [html.unescape(query) for query in _QUERY.findall(asked)][:QUERIES]
            return {"calls": [_tool_call("search_web", "query", query) for query in queries]}
        if "<hit " not in turns[-1]:
            return {"calls": []}
        lists = (map(html.unescape, _HIT.findall(told)) for told in turns[-1].split(CALL))
        ranked = [url for row in zip_longest(*lists) for url in row if url]
        best = list(dict.fromkeys(ranked))[:PAGES]
        return {"calls": [_tool_call("fetch_page", "url", url) for url in best]}

    def _write_section(self, prompt: str) -> dict[str, Any]:
        written = self._answer(prompt)
        text, rows = re.sub(r" \[\d+\]$", "", written["answer"]), written["citations"]
        return {"sentences": [{"text": text, "citations": rows}] if text else []}

    def _sum_up(self, prompt: str) -> dict[str, Any]:
        told = re.findall(r"^1\. (.*)$", prompt, re.M)
        return {"title": "Report", "summary": [{"text": html.unescape(t), "of": [1]} for t in told]}

    # --- what it searches for ------------------------------------------------------------------

    def _generate_queries(self, _: str) -> dict[str, Any]:
        slots = [{"name": SLOT, "description": "", "needed": False}]
        return {"queries": self._first_queries(), "slots": slots}

    def _first_queries(self) -> list[str]:
        """The question, the sub-questions that depend on no other, and its names."""
        ready = [step.query for step in self._steps if not step.needs]
        named = find_question_names(self._question)
        return _deduplicate([self._question, *ready, *named])[:QUERIES]

    def _next_queries(self, prompt: str) -> list[str]:
        """The sub-questions that can be asked now, then the names that were read."""
        shown = shown_sources(prompt)
        read, before = [said for _, said in self._recognise(shown)], _earlier_queries(prompt)
        ready = [s.query for s in self._steps if s.needs and _are_read(s.needs, read)]
        found = _deduplicate([*ready, *self._unread_names(shown)])
        return [query for query in found if fold(query) not in before][:QUERIES]

    def _unread_names(self, shown: Sequence[Shown]) -> list[str]:
        """The names in the passages that have no page of their own, best first."""
        own = {fold(_bare(source.title)) for source in shown}
        told = fold(self._question)
        pieces = [(s.title, s.text[a:b]) for s in shown for a, b in split_sentences(s.text)]
        scores = rank_texts([f"{title}. {text}" for title, text in pieces], self._question)
        best: dict[str, float] = {}
        for (_, text), score in zip(pieces, scores, strict=True):
            for name in dict.fromkeys(find_names(text)):
                key = fold(name)
                if key not in own and key not in told and content_words(name):
                    best[name] = max(score, best.get(name, 0.0))
        return sorted(best, key=lambda name: -best[name])


def _are_read(names: Sequence[str], sentences: Sequence[str]) -> bool:
    return all(any(contains_answer(said, [name]) for said in sentences) for name in names)


def _render_queries(turn: Exchange) -> str:
    """Render a turn's own searches, which a model sees together with their results."""
    given = (call.arguments.get("query") for call in turn.turn.calls)
    return "\n".join(f"- {html.escape(str(query))}" for query in given if query)


def _tool_call(name: str, argument: str, value: str) -> dict[str, Any]:
    return {"name": name, "arguments": {argument: value}}


def _earlier_queries(prompt: str) -> set[str]:
    lists = (json.loads(html.unescape(line)) for line in _SEARCHED.findall(prompt))
    told = map(html.unescape, _QUERY.findall(prompt))
    return {fold(query) for query in (*told, *(q for queries in lists for q in queries))}


def _deduplicate(queries: Sequence[str]) -> list[str]:
    return list({fold(query): query for query in reversed(queries)}.values())[::-1]
