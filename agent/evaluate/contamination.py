"""Contamination: pages that carry the question set itself are kept from the runs, and told of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent.errors import ReadFailed
from agent.evaluate.measures import units
from agent.evaluate.questions import Question
from agent.sources.sources import Sources
from agent.state import Found, Frozen, Hit, Page

#: Sites where public question sets lie, with their mirrors: of our own knowledge.
MIRRORS = (
    "huggingface.co",
    "hf.co",
    "hf-mirror.com",
    "modelscope.cn",
    "kaggle.com",
    "paperswithcode.com",
    "hotpotqa.github.io",
    "openaipublic.blob.core.windows.net",
    "curtis.ml.cmu.edu",
)
#: Names by which the files of public sets are known, besides that of the user's file.
FILES = (
    "simple_qa_test_set",
    "simpleqa_verified",
    "frames-benchmark",
    "hotpot_dev_",
    "hotpot_train",
)
SHORTEST = 6  # tokens of a question that is only there by being copied
ASKING = 3  # question marks of a page that lists questions


class Block(Frozen):
    """A page that was kept away, and why."""

    url: str
    reason: str


class Contamination:
    """What betrays the set: its file's name, sites, a canary string, its own questions."""

    def __init__(
        self, path: Path, questions: Sequence[Question], canary: str = "", *, own: bool = False
    ) -> None:
        self._file = path.name.casefold() if path.suffix else ""  # one word may be any page's
        self._canary = canary.casefold()
        self._own = own  # a corpus of the user's own: its documents may well ask and answer
        self._asked = {q.prompt: _line(q.prompt) for q in questions}

    def watch(self, question: Question) -> Watch:
        """What stands between the web and the run of one question."""
        return Watch(question, self)

    def in_hit(self, question: Question, hit: Hit) -> str:
        """Why a hit is not to be shown or followed; empty: it may be."""
        host, url = urlsplit(hit.url).hostname or "", unquote(hit.url).casefold()
        if not self._own and any(host == m or host.endswith(f".{m}") for m in MIRRORS):
            return f"a site where question sets lie: {host}"
        if not self._own and (named := self._named(url)):
            return f"the file of a question set: {named}"
        if reason := self._in(f"{hit.title} {hit.snippet}"):
            return reason
        asked, told = self._asked[question.prompt], _line(hit.snippet)
        with_answer = any(_line(answer) in told for answer in question.answers)
        if not self._own and asked.count(" ") > SHORTEST and asked in told and with_answer:
            return "its snippet holds this question with its answer"
        return ""

    def _named(self, url: str) -> str:
        """The file of a set that an address names; of the user's set, the whole name."""
        if self._file and self._file in re.split(r"[/?&=#]", url):
            return self._file
        return next((name for name in FILES if name in url), "")

    def in_page(self, question: Question, page: Page) -> str:
        """Why a page is not to be read; empty: it may be."""
        if reason := self._in(page.text):
            return reason
        asked = self._asked[question.prompt]
        if self._own or asked.count(" ") <= SHORTEST or asked not in (text := _line(page.text)):
            return ""
        others = (other for other in self._asked.values() if other != asked)
        if any(other.count(" ") > SHORTEST and other in text for other in others):
            return "it holds this question and others of the set, word for word"
        listed = page.text.count("?") + page.text.count("？") >= ASKING
        if listed and any(_line(answer) in text for answer in question.answers):
            return "it holds this question with its answer in a list of questions"
        return ""

    def _in(self, text: str) -> str:
        held = self._canary and self._canary in text.casefold()
        return "it holds the canary string" if held else ""


class Watch:
    """Filters what one run finds and reads; `blocked` tells what was kept away."""

    def __init__(self, question: Question, by: Contamination) -> None:
        self.blocked: list[Block] = []
        self._question = question
        self._by = by

    def between(self, ways: Sources) -> Sources:
        """The ways of a run, with what carries the set left out."""
        return ways._replace(search=self._search(ways.search), read=self._read(ways.read))

    def _search(self, search: Callable[[str], Found]) -> Callable[[str], Found]:
        def clean(query: str) -> Found:
            found = search(query)
            return found.model_copy(update={"hits": tuple(self._clean(found.hits))})

        return clean

    def _clean(self, hits: Iterable[Hit]) -> Iterable[Hit]:
        for hit in hits:
            if reason := self._by.in_hit(self._question, hit):
                self._note(hit.url, reason)
            else:
                yield hit

    def _read(self, read: Callable[[str], Page]) -> Callable[[str], Page]:
        def clean(url: str) -> Page:
            page = read(url)
            moved = Hit(url=page.url, title=page.title)  # it may have redirected
            reason = self._by.in_hit(self._question, moved) or self._by.in_page(
                self._question, page
            )
            if reason:
                self._note(page.url, reason)
                raise ReadFailed(f"Kept away: {reason}", "Nothing to do.", outcome="blocked")
            return page

        return clean

    def _note(self, url: str, reason: str) -> None:
        block = Block(url=url, reason=reason)
        if block not in self.blocked:
            self.blocked.append(block)


def _line(text: str) -> str:
    return f" {' '.join(units(text))} "
