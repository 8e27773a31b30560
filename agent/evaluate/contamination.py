"""Contamination: pages that carry the question set itself are blocked, and reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent.errors import ReadFailed
from agent.evaluate.metrics import tokenize
from agent.evaluate.questions import EvaluationQuestion
from agent.run.sources import Sources
from agent.state import Frozen, Hit, Page, SearchResults

#: Sites that publish question sets, and mirrors of them. The list is hand-made.
MIRROR_SITES = (
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
#: Parts of the file names of public sets; the name of the user's file is checked as well.
SET_FILE_NAMES = (
    "simple_qa_test_set",
    "simpleqa_verified",
    "frames-benchmark",
    "hotpot_dev_",
    "hotpot_train",
)
MIN_QUESTION_TOKENS = 6  # a shorter question may stand on a page by chance
MIN_QUESTION_MARKS = 3  # a page with as many is taken for a list of questions


class BlockedPage(Frozen):
    """A page that was withheld from a run, and the reason."""

    url: str
    reason: str


class ContaminationDetector:
    """Detects the question set in hits and pages.

    The signs are sites that publish sets, the set's file name, a canary string, and questions of
    the set in the text. In a corpus of the user's own only the canary counts: its documents may
    well ask questions and answer them.
    """

    def __init__(
        self,
        path: Path,
        questions: Sequence[EvaluationQuestion],
        canary: str = "",
        *,
        own_corpus: bool = False,
    ) -> None:
        # a name without a suffix is a common word, which any address may hold
        self._file_name = path.name.casefold() if path.suffix else ""
        self._canary = canary.casefold()
        self._own_corpus = own_corpus
        self._questions = {q.prompt: _normalize(q.prompt) for q in questions}

    def reason_to_block_hit(self, question: EvaluationQuestion, hit: Hit) -> str:
        """Return why a hit may be neither shown nor followed; empty if it may."""
        host, url = urlsplit(hit.url).hostname or "", unquote(hit.url).casefold()
        if not self._own_corpus and any(host == m or host.endswith(f".{m}") for m in MIRROR_SITES):
            return f"a site where question sets lie: {host}"
        if not self._own_corpus and (file_name := self._match_set_file(url)):
            return f"the file of a question set: {file_name}"
        if reason := self._find_canary(f"{hit.title} {hit.snippet}"):
            return reason
        prompt, snippet = self._questions[question.prompt], _normalize(hit.snippet)
        if self._is_sign(prompt) and prompt in snippet and _holds_answer(question, snippet):
            return "its snippet holds this question with its answer"
        return ""

    def reason_to_block_page(self, question: EvaluationQuestion, page: Page) -> str:
        """Return why a page may not be read; empty if it may."""
        if reason := self._find_canary(page.text):
            return reason
        prompt = self._questions[question.prompt]
        if not self._is_sign(prompt) or prompt not in (text := _normalize(page.text)):
            return ""
        others = (other for other in self._questions.values() if other != prompt)
        if any(_is_long(other) and other in text for other in others):
            return "it holds this question and others of the set, word for word"
        is_list = page.text.count("?") + page.text.count("？") >= MIN_QUESTION_MARKS
        if is_list and _holds_answer(question, text):
            return "it holds this question with its answer in a list of questions"
        return ""

    def _match_set_file(self, url: str) -> str:
        """Return the set's file that a URL names.

        The user's file must be a whole part of the URL; of public sets a part of a name is enough.
        """
        if self._file_name and self._file_name in re.split(r"[/?&=#]", url):
            return self._file_name
        return next((name for name in SET_FILE_NAMES if name in url), "")

    def _is_sign(self, prompt: str) -> bool:
        """Whether a text that holds this normalised question is contaminated, not just alike."""
        return not self._own_corpus and _is_long(prompt)

    def _find_canary(self, text: str) -> str:
        has_canary = self._canary and self._canary in text.casefold()
        return "it holds the canary string" if has_canary else ""


class ContaminationFilter:
    """Withholds contaminated hits and pages from one run; `blocked` lists them."""

    def __init__(self, question: EvaluationQuestion, detector: ContaminationDetector) -> None:
        self.blocked: list[BlockedPage] = []
        self._question = question
        self._detector = detector

    def wrap_sources(self, sources: Sources) -> Sources:
        """Return the sources of a run without what is contaminated."""
        return sources._replace(
            search=lambda query: self._clean(sources.search(query)),
            read=lambda url: self._require_clean(sources.read(url)),
        )

    def _clean(self, results: SearchResults) -> SearchResults:
        reason_of = partial(self._detector.reason_to_block_hit, self._question)
        kept = tuple(hit for hit in results.hits if not self._blocks(hit.url, reason_of(hit)))
        return results.model_copy(update={"hits": kept})

    def _require_clean(self, page: Page) -> Page:
        final_address = Hit(url=page.url, title=page.title)  # the request may have been redirected
        reason = self._detector.reason_to_block_hit(self._question, final_address)
        reason = reason or self._detector.reason_to_block_page(self._question, page)
        if self._blocks(page.url, reason):
            raise ReadFailed(f"Kept away: {reason}", "Nothing to do.", outcome="blocked")
        return page

    def _blocks(self, url: str, reason: str) -> bool:
        """Whether there is a reason to block a page, which is noted once."""
        page = BlockedPage(url=url, reason=reason)
        if reason and page not in self.blocked:
            self.blocked.append(page)
        return bool(reason)


def _normalize(text: str) -> str:
    """Return a text's tokens with a blank on either side of each, so that `in` finds whole ones."""
    return f" {' '.join(tokenize(text))} "


def _is_long(normalized: str) -> bool:
    return normalized.count(" ") - 1 >= MIN_QUESTION_TOKENS  # n tokens have n + 1 blanks


def _holds_answer(question: EvaluationQuestion, text: str) -> bool:
    return any(_normalize(answer) in text for answer in question.answers)
