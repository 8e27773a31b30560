"""Reports built from hand-made events, as a strategy would leave them, without a run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.answer.build import build_answer
from agent.answer.schema import Answer, RunInfo, Usage
from agent.calls import AnswerT, Reply, Task
from agent.evidence import anchor_quote
from agent.evidence.citing import render_claim
from agent.state import (
    Alternative,
    Answered,
    Claim,
    Failed,
    Finding,
    Hit,
    Page,
    PageRead,
    Queried,
    Quote,
    Reflected,
    Report,
    Research,
    Searched,
    SearchResults,
    Section,
    Slot,
)
from agent.steps.verify import Verify

AT = "2026-01-02T03:04:05Z"
RUN = RunInfo(id="monday", strategy="report", started_at=AT, journal="runs/monday.jsonl")
USAGE = Usage(llm_calls=5, input_tokens=51_200, output_tokens=4_100, usd=0.0213, searches=4)


@dataclass(frozen=True)
class ReadPage:
    """A page as a run reads it."""

    url: str
    title: str
    text: str
    via: Literal["page", "snippet"] = "page"

    def event(self) -> PageRead:
        sha256 = hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()
        fields = {"url": self.url, "title": self.title, "text": self.text, "via": self.via}
        page = Page.model_validate({**fields, "sha256": sha256, "retrieved_at": AT})
        return PageRead(page=page, hit=Hit(url=self.url, title=self.title, snippet=self.text[:80]))


@dataclass(frozen=True)
class CitedSentence:
    """A sentence and its quotes, as (source, quote)."""

    text: str
    quotes: Sequence[tuple[int, str]] = ()


class AnswerBuilder:
    """Builds the answer of a run whose pages have been read."""

    def __init__(
        self, topic: str, pages: Sequence[ReadPage], slots: Sequence[Finding] = ()
    ) -> None:
        names = tuple(Slot(name=finding.slot) for finding in slots)
        self.research = Research(topic, names)
        queries = (topic, "2022 final attendance")
        self.research.grow(Queried(round=1, queries=queries))
        hits = tuple(page.event().hit for page in pages)
        for query in queries:
            found = SearchResults(query=query, hits=hits, provider="corpus", at=AT)
            self.research.grow(Searched(round=1, found=found))
        for page in pages:
            self.research.grow(page.event())
        blocked = Failed(
            what="page", subject="https://blog.example/", outcome="blocked", message="HTTP 403"
        )
        self.research.grow(blocked)
        self.research.grow(Reflected(round=1, findings=tuple(slots), need_more=False))
        self._quotes: list[Quote] = []

    def quote(self, source: int, text: str) -> Quote:
        found = anchor_quote(text, self.research.sources[source - 1])
        assert found is not None, text
        return found

    def claims(self, sentences: Sequence[CitedSentence]) -> tuple[Claim, ...]:
        """Return sentences as claims, and keep their quotes for the answer."""
        for one in sentences:
            self._quotes += [self.quote(*pair) for pair in one.quotes]
        return tuple(
            Claim(text=one.text, citations=tuple(dict.fromkeys(n for n, _ in one.quotes)))
            for one in sentences
        )

    def build_answer(
        self, summary: Sequence[CitedSentence], report: Report | None = None
    ) -> Answer:
        """Build the answer object from a summary and a report, verified by rules."""
        claims = self.claims(summary)
        text = " ".join(map(render_claim, claims))
        quotes = tuple(self._quotes)
        self.research.grow(Answered(text=text, quotes=quotes, claims=claims, report=report))
        for event in Verify(_reject_task, 0, mode="rules", on_unsupported="flag")(self.research):
            self.research.grow(event)
        return build_answer(self.research, usage=USAGE, run=RUN)


def _reject_task(task: Task[AnswerT]) -> Reply[AnswerT]:
    raise AssertionError(f"{task.name} was asked of a model")


FINAL = ReadPage(
    "https://en.wikipedia.org/wiki/2022_FIFA_World_Cup_final",
    "2022 FIFA World Cup final",
    "The 2022 final was played at Lusail Stadium on 18 December 2022. Argentina beat France 4-2 on "
    "penalties after a 3-3 draw. Lionel Messi scored twice. Kylian Mbappé scored a hat-trick. "
    "The attendance was 88,966.",
)
NEWS = ReadPage(
    "https://news.example/world-cup?id=7&lang=en",
    "Argentina win an unforgettable final | The Example Times",
    "It was called the greatest final of all. Lionel Messi lifted the trophy. "
    "Officials counted 89,000 people in the stadium.",
)
SNIPPET = ReadPage(
    "https://stats.example/", "Finals in figures", "The final had 6 goals.", "snippet"
)
UNCITED = ReadPage("https://unused.example/", "Never cited", "Cats sleep most of the day.")
CHINESE = ReadPage(
    "https://zh.wikipedia.org/wiki/决赛",
    "2022年世界杯决赛",
    "阿根廷队击败法国队，夺得冠军。梅西攻入两球。",
)
ARABIC = ReadPage(
    "https://ar.wikipedia.org/wiki/نهائي",
    "نهائي كأس العالم 2022",
    "فازت الأرجنتين على فرنسا بركلات الترجيح. أقيمت المباراة في استاد لوسيل.",
)
TOPIC = "Who won the 2022 FIFA World Cup, and why is the final remembered?"


def cited(text: str, *sources: int) -> CitedSentence:
    """A sentence that its sources have word for word."""
    return CitedSentence(text, [(n, text) for n in sources])


def world_cup_answer(topic: str = TOPIC) -> Answer:
    """Build an answer with every part: themes in three scripts, verdicts, conflicts, slots."""
    pages = [FINAL, NEWS, SNIPPET, UNCITED, CHINESE, ARABIC]
    quoted = AnswerBuilder(topic, pages)
    crowd = (1, "The attendance was 88,966.")
    count = (2, "Officials counted 89,000 people in the stadium.")
    beat = "Argentina beat France 4-2 on penalties after a 3-3 draw."
    other = Alternative(value="89,000", citations=(2,), weight=0.4)
    both = (quoted.quote(*crowd), quoted.quote(*count))
    won = {"value": "Argentina", "quotes": (quoted.quote(1, beat),)}
    slots = [
        Finding(slot="winner", status="filled", **won),
        Finding(
            slot="attendance", status="conflict", value="88,966", quotes=both, alternatives=(other,)
        ),
        Finding(slot="man_of_the_match", status="missing"),
    ]
    run = AnswerBuilder(topic, pages, slots)
    summary = [
        cited(beat, 1),
        CitedSentence(
            "The match was played at Lusail Stadium on 18 December 2022.",
            [(1, "The 2022 final was played at Lusail Stadium on 18 December 2022.")],
        ),
        CitedSentence(
            "Many call it the greatest final.", [(2, "It was called the greatest final of all.")]
        ),
    ]
    hat_trick = "Kylian Mbappé scored a hat-trick"
    match = [
        cited("Lionel Messi scored twice.", 1),
        CitedSentence(f"{hat_trick}, the second in a final.", [(1, f"{hat_trick}.")]),
        cited("The final had 6 goals.", 3),
        CitedSentence("Nobody slept that night."),
    ]
    chinese = [cited("阿根廷队击败法国队，夺得冠军。", 5), cited("梅西攻入两球。", 5)]
    beaten, where = "فازت الأرجنتين على فرنسا بركلات الترجيح.", "أقيمت المباراة في استاد لوسيل."
    conflict = CitedSentence(
        "One source says that the attendance was 88,966, another 89,000.", [crowd, count]
    )
    report = Report(
        title="The 2022 FIFA World Cup final",
        themes=(
            Section(heading="The match", claims=run.claims(match)),
            Section(heading="中文报道", claims=run.claims(chinese)),
            Section(heading="بالعربية", claims=run.claims([cited(beaten, 6), cited(where, 6)])),
        ),
        conflicts=run.claims([conflict]),
    )
    return run.build_answer(summary, report)
