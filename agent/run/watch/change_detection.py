"""Whether the sources say something new, or a run merely chose another of them.

Pages are found in another order, read with other advertisements, or down for a day: then a run may
answer otherwise, and nothing in the world has changed. So a change counts on one of three grounds:

- the page that says so was read before, and did not have these words then;
- the pages with the old value were read again, and none has the old words any more;
- the page that says so dates itself on the day on which the old value was last reported, or later.

It never counts while a page with the old value cannot be read, nor where the words of the
new one were on their page before. A page that is gone is no source any more. Where no ground is
left, a change counts once `ENOUGH_RUNS` runs in succession say the same: the answer has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.answer.addresses import CorpusAddresses
from agent.calls.journal_reader import read_journal
from agent.errors import ExternalCallError, JournalError
from agent.evidence import fold, split_sentences
from agent.run.changes import Change, QuotedPage
from agent.search.parent_pages import pages_of
from agent.slots.conversion import holds_value
from agent.state import Failed, Outcome, Page, Scalar, canonical_url

if TYPE_CHECKING:
    from agent.run.loop import Run

ENOUGH_RUNS = 3
GONE = "\0"  # the text of a page that is there no more
Weight = Literal["none", "some", "enough"]
Texts = dict[str, list[str]]  # folded, by the canonical address of their page


class Grounds:
    """What the pages say in this run, and what they said in earlier ones.

    `journals`: of earlier runs; they are read once a change is to be looked at. `read`: reads a
    page of the old value that this run did not come to.
    """

    def __init__(self, run: Run, journals: Iterable[str], read: Callable[[str], Page]) -> None:
        self._journals = tuple(journals)
        self._read = read
        self._addresses = CorpusAddresses(run.corpus)
        self._earlier: Texts | None = None
        self._now: dict[str, str | None] = {  # None: it could not be read
            self._key(failed.subject): _text_of_failure(failed.outcome)
            for failed in run.research.events_of(Failed)
            if failed.what == "page"
        }
        for source in run.research.sources:
            if source.page.via == "page":
                self._note(source.page, source.hit.url)

    def weigh(self, change: Change) -> Weight:
        """How far the sources bear a change out. With `some` it is to be seen again."""
        if change.old is None:  # what was never reported is no second choice
            return "enough"
        if self._earlier is None:
            self._earlier = self._read_texts()
        new = [
            page
            for page in change.new.sources
            if not _stands(page, change.new.value, self._said_before(page))
        ]
        now = [(page, self._text_now(page.url)) for page in change.old.sources]
        if not new or any(text is None for _, text in now):
            return "none"
        there = [(page, text) for page, text in now if text and text != GONE]
        has_gone = bool(there) and not any(
            _stands(page, change.old.value, [text]) for page, text in there
        )
        was_read = any(self._said_before(page) for page in new)
        is_later = any(page.date >= change.old.since[:10] for page in new)
        return "enough" if has_gone or was_read or is_later else "some"

    def _note(self, page: Page, *urls: str) -> str:
        text = _plain(page.text)
        self._now |= {self._key(url): text for url in (page.url, *urls)}
        return text

    def _key(self, url: str) -> str:
        """What identifies a page, in a journal and in an answer."""
        return canonical_url(self._addresses.shorten_url(url))

    def _text_now(self, url: str) -> str | None:
        key = self._key(url)
        if key not in self._now:
            try:
                self._note(self._read(self._addresses.expand_url(url)), url)
            except ExternalCallError as error:
                self._now[key] = _text_of_failure(error.outcome)
        return self._now[key]

    def _said_before(self, page: QuotedPage) -> list[str]:
        return (self._earlier or {}).get(self._key(page.url), [])

    def _read_texts(self) -> Texts:
        """What the pages of journals said; a journal that has gone says nothing."""
        texts: Texts = {}
        for journal in self._journals:
            try:
                calls = list(read_journal(Path(journal)).calls.values())
            except JournalError:
                continue
            for page, hit in pages_of(calls):
                if page.via == "page":
                    for key in {self._key(page.url), self._key(hit.url)}:
                        texts.setdefault(key, []).append(_plain(page.text))
        return texts


def _text_of_failure(outcome: Outcome | None) -> str | None:
    return GONE if outcome == "not_found" else None


def _stands(page: QuotedPage, value: Scalar, texts: Iterable[str]) -> bool:
    """Whether what a quote says of a value is in one of the texts of its page.

    Beside that sentence a quote may hold others, which change with every visit.
    """
    sentences = [page.quote[start:end] for start, end in split_sentences(page.quote)]
    said = [one for one in sentences if holds_value(one, value)] or [page.quote]
    return any(all(_plain(one) in text for one in said) for text in texts)


def _plain(text: str) -> str:
    return " ".join(fold(text).split())
