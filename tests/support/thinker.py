"""A scripted model that answers from its prompt alone.

It knows which words state which fact. It finds a fact only if a sentence with these words is
in a source of the prompt.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any, NamedTuple

from agent.evidence import split_sentences
from tests.support.services import ModelRequest, parse_claims, read_topic, source_ids

FINAL = "The final was played in Lusail. Argentina won the cup. The score was 3-3, then 4-2."


class Fact(NamedTuple):
    """A slot, its value, and words of the sentence that states it."""

    slot: str
    value: str
    phrase: str


class Thinker:
    """`queries` for the first round; `follow` maps a missing slot to the query that finds it.

    Where a reading asks for an answer too, `Services` adds the one of the task `synthesize`.
    """

    def __init__(
        self, facts: list[Fact], queries: list[str], follow: dict[str, str] | None = None
    ) -> None:
        self._facts = facts
        self._queries = queries
        self._follow = follow or {}

    def __call__(self, request: ModelRequest) -> dict[str, Any]:
        shown = source_ids(request.prompt)
        if request.task == "verify":
            return self._judge(parse_claims(request.prompt), shown)
        if request.task == "generate_queries":
            return self._plan(read_topic(request.prompt))
        return {"reflect": self._reflect, "synthesize": self._write}[request.task](shown)

    def _plan(self, topic: str) -> dict[str, Any]:
        """A slot for each fact, which another word of the topic each time asks for."""
        words = cycle(topic.split())
        slots = [
            {"name": fact.slot, "description": f"the {fact.slot}", "topic_words": next(words)}
            for fact in self._facts
        ]
        return {"queries": self._queries, "slots": slots}

    def _reflect(self, shown: dict[int, str]) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        queries: list[str] = []
        for fact in self._facts:
            n, sentence = find_sentence(fact.phrase, shown)
            value = fact.value if n else None
            rows.append({"name": fact.slot, "value": value, "source": n, "quote": sentence})
            if not n and fact.slot in self._follow:
                queries.append(self._follow[fact.slot])
        is_open = any(row["source"] is None for row in rows)
        return {"slots": rows, "need_more": is_open, "new_queries": queries}

    def _write(self, shown: dict[int, str]) -> dict[str, Any]:
        found = [(fact, *find_sentence(fact.phrase, shown)) for fact in self._facts]
        known = [(fact, n, sentence) for fact, n, sentence in found if n]
        text = " ".join(f"The {fact.slot} is {fact.value} [{n}]." for fact, n, _ in known)
        return {
            "answer": text,
            "citations": [{"source": n, "quote": sentence} for _, n, sentence in known],
        }

    def _judge(self, claims: dict[int, tuple[list[int], str]], shown: dict[int, str]) -> Any:
        """Support a claim that a source which it cites has, or of which that has the fact."""
        verdicts = []
        for n, (cites, text) in claims.items():
            facts = [f for f in self._facts if f.value in text and f.slot in text]
            phrases = [text.rstrip("."), *(f.phrase for f in facts)]
            holds = any(one in shown.get(c, "") for one in phrases for c in cites)
            verdict = "supported" if holds else "unsupported"
            verdicts.append({"claim": n, "verdict": verdict, "source": cites[0] if holds else None})
        return {"verdicts": verdicts}


def support_all(request: ModelRequest) -> dict[str, Any]:
    """The reply of a judge who takes every claim for supported."""
    numbers = parse_claims(request.prompt)
    return {"verdicts": [{"claim": n, "verdict": "supported", "source": None} for n in numbers]}


def find_sentence(phrase: str, shown: dict[int, str]) -> tuple[int | None, str]:
    for n, text in shown.items():
        for start, end in split_sentences(text):
            if phrase in text[start:end]:
                return n, text[start:end]
    return None, ""
