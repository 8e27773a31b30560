"""Synthesize: a concise answer whose every `[n]` stands on a quote that is really there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field, field_validator

from agent.evidence import anchor, fold, select, sentences, show
from agent.outside import Ask, Task
from agent.research import (
    Answered,
    Claim,
    Event,
    Frozen,
    Quote,
    Research,
    Source,
    Verdict,
    Warned,
)
from agent.steps import DATA_RULE, answered, language_rule
from agent.steps.reflect import wanted


class Cited(Frozen):
    """The words of a source that a sentence stands on."""

    source: int = Field(description="id of the source")
    quote: str = Field(description="the words of that source, copied exactly")

    @field_validator("source", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        number = re.search(r"\d{1,6}", str(value))
        return int(number[0]) if number else 0


class Draft(Frozen):
    """An answer as a model writes it."""

    answer: str = Field(
        description="the answer, each sentence ending with its [n]; empty if the sources do not say"
    )
    citations: list[Cited] = Field(default_factory=list, description="a quote for each [n] used")


class WriteAnswer(Task[Draft]):
    """Asks for the answer."""

    max_words: int = 80
    known: tuple[str, ...] = ()  # the slots already settled, as `name: value [n]`

    @property
    def name(self) -> str:
        return "synthesize"

    @property
    def answer(self) -> type[Draft]:
        return Draft

    def system(self) -> str:
        return (
            f"You answer from sources, in at most {self.max_words} words. End each sentence with "
            "the [n] of every source it stands on, and give for each [n] a short quote copied "
            "exactly. If the sources do not answer the topic, return an empty answer and no "
            f"citations. {DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        known = "".join(f"\n- {html.escape(line, quote=False)}" for line in self.known)
        settled = f"\nKnown so far:{known}" if known else ""
        return f"{show(self.evidence)}\n<topic>{topic}</topic>{settled}"


class Synthesize:
    """Writes the answer and maps its citations in code: invented ones are dropped.

    With no sources no model is asked. Where no model answers, `stand_in` does.
    """

    def __init__(
        self, ask: Ask, stand_in: Ask, budget: int, max_words: int, language: str = ""
    ) -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._max_words = max_words
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield nothing_found(research)
            return
        task = WriteAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=select(research.sources, wanted(research), self._budget),
            max_words=self._max_words,
            known=_settled(research),
            language=self._language,
        )
        draft = yield from answered(task, self._ask, self._stand_in)
        answer, warnings = compose(draft, research.sources, self._max_words)
        yield from (Warned(message=warning) for warning in warnings)
        yield answer if answer.quotes else nothing_found(research)


def _settled(research: Research) -> tuple[str, ...]:
    return tuple(
        f"{f.slot}: {f.value} [{f.quotes[0].source}]"
        for f in research.findings.values()
        if f.status == "filled"
    )


def nothing_found(research: Research) -> Answered:
    """Abstention: says that nothing was found and what was looked for, in our words."""
    looked = "; ".join(research.queries) or research.topic
    about = "The sources that were read do not" if research.sources else "No sources were found to"
    text = f"{about} answer this question. Searched for: {looked}."
    return Answered(text=text, quotes=(), claims=())


# --- from a draft to an answer ---------------------------------------------------------------

_LISTED = re.compile(r"[\[【]\s*(?:sources?\s*)?(\d{1,4}(?:\s*[,;，、]\s*\d{1,4})*)\s*[\]】]", re.I)
_MARKER = re.compile(r"\[(\d+)\]")
_LATE = re.compile(r"([.!?。！？]+[)\"'”’»]*)[ \t]*((?:\[\d+\][ \t]*)+)")


def compose(
    draft: Draft, sources: Sequence[Source], max_words: int
) -> tuple[Answered, tuple[str, ...]]:
    """The answer with only those markers that a quote of a source that was read stands behind.

    Returns it with warnings about what was left out. A sentence all of whose citations were
    invented goes with them; so do sentences beyond `max_words`.
    """
    anchored = _anchored(draft, sources)
    found = set(filter(None, anchored))
    quotes = sorted(found, key=lambda quote: (quote.source, quote.start, quote.end, quote.match))
    text = _with_markers(draft.answer, {quote.source for quote in quotes})
    claims: list[Claim] = []
    dropped: list[str] = []
    words = 0
    for sentence in _sentences(text):
        claim = _claim(sentence, quotes, sources)
        words += len(claim.text.split())
        invented = bool(_MARKER.search(sentence)) and not claim.citations
        if invented or (claims and words > max_words):
            dropped.append(claim.text)
        else:
            claims.append(claim)
    cited = {n for claim in claims for n in claim.citations}
    answered = Answered(
        text=" ".join(written(claim) for claim in claims),
        quotes=tuple(quote for quote in quotes if quote.source in cited),
        claims=tuple(claims),
    )
    return answered, _warnings(anchored.count(None), claims, dropped)


def _anchored(draft: Draft, sources: Sequence[Source]) -> list[Quote | None]:
    """Each citation's quote on its page; None for one that is not there."""
    numbered = {source.n: source for source in sources}
    return [
        anchor(cited.quote, source) if (source := numbered.get(cited.source)) else None
        for cited in draft.citations
    ]


def _with_markers(text: str, quoted: set[int]) -> str:
    """A draft's text with markers as `[1][2]` inside their sentence; all quotes if it has none."""
    text = _LISTED.sub(lambda m: "".join(f"[{n}]" for n in re.findall(r"\d+", m[1])), text)
    if not _MARKER.search(text):
        text = text.rstrip() + "".join(f"[{n}]" for n in sorted(quoted))
    return _LATE.sub(lambda m: f" {m[2].replace(' ', '')}{m[1]} ", text)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _claim(sentence: str, quotes: Sequence[Quote], sources: Sequence[Source]) -> Claim:
    quoted = {quote.source for quote in quotes}
    text = " ".join(_MARKER.sub("", sentence).split())
    text = re.sub(r" ([.,;:!?。，；：！？])", r"\1", text)
    cited = dict.fromkeys(int(n) for n in _MARKER.findall(sentence) if int(n) in quoted)
    own = [quote.text for quote in quotes if quote.source in cited]
    titles = [source.page.title for source in sources if source.n in cited]
    return Claim(text=text, citations=tuple(cited), verdict=verdict(text, own, titles))


def verdict(claim: str, quotes: Sequence[str], titles: Sequence[str] = ()) -> Verdict:
    """Whether a claim is supported by the quotes that it cites, read under their pages' titles.

    Word for word in one of them is; else the deterministic checker judges: a number or a name
    that they lack is never supported.
    """
    from agent.checking import check

    if not quotes:
        return "unsupported"
    words = fold(claim)[0].rstrip(".")
    if any(words in fold(quote)[0] for quote in quotes):
        return "supported"
    return check(claim, quotes, titles).verdict


def cited_in(text: str) -> set[int]:
    """The numbers of the markers in a text."""
    return {int(n) for n in _MARKER.findall(text)}


def written(claim: Claim) -> str:
    """A claim as the answer has it: with its markers before the full stop."""
    markers = "".join(f"[{n}]" for n in claim.citations)
    if not markers:
        return claim.text
    body = claim.text.rstrip(".!?。！？")
    end = claim.text[len(body) :]
    space = "" if end[:1] in "。！？" and end else " "
    return f"{body}{space}{markers}{end}"


def _warnings(invented: int, claims: Sequence[Claim], dropped: Sequence[str]) -> tuple[str, ...]:
    lines = [f"Left out of the answer: {text}" for text in dropped]
    if invented:
        lines.append(f"{invented} citations were dropped: their quotes are not on their pages.")
    lines += [f"No citation stands behind: {c.text}" for c in claims if not c.citations]
    lines += [
        f"Its quotes do not say: {c.text}"
        for c in claims
        if c.citations and c.verdict == "unsupported"
    ]
    return tuple(lines)
