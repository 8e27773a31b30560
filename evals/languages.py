"""Whether the engine without a model answers in every language at least as often as a plain search.

`python -m evals.languages [--misses]`: ten languages besides English, six pages in the style of an
encyclopedia each, as a corpus of that language, and four questions a page with the words that
answer (`languages.toml`). Against it stands one sentence: the best by BM25 of the page that
answers, which is given, over plain words; Chinese and Japanese are cut into pairs of characters.
Each question is asked twice: of pages with their titles, and of pages with a number for a title.
Tables were made with the first, third and fifth page of each language in view (`tune`).
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evals.extractive import HALVES

PAGES = Path(__file__).with_name("languages.toml")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_SENTENCE = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])")


class Page(NamedTuple):
    """A page, and the questions about it with the words of it that answer."""

    language: str
    half: str
    title: str
    text: str
    asked: tuple[tuple[str, str], ...]


class Answered(NamedTuple):
    """What became of one question."""

    page: Page
    titled: bool  # pages have their titles
    question: str
    gold: str
    answer: str  # empty where it abstained
    read: bool  # the page that answers
    status: str
    plain: str  # the best sentence of that page

    @property
    def right(self) -> bool:
        """Whether the answer holds the words that answer."""
        return contains(self.answer, self.gold)


def load_pages() -> list[Page]:
    """The pages of all languages; raises ValueError where words that answer stand on none."""
    made = []
    for language, rows in tomllib.loads(PAGES.read_text("utf-8")).items():
        for n, row in enumerate(rows):
            asked = tuple((question, gold) for question, gold in row["asked"])
            made.append(Page(language, HALVES[n % 2], row["title"], row["text"], asked))
    for page in made:
        if missing := [gold for _, gold in page.asked if not contains(page.text, gold)]:
            raise ValueError(f"{page.title}: {missing[0]} does not stand in the text")
    return made


def contains(text: str, gold: str) -> bool:
    """Whether words stand in a text, whatever their case; Arabic puts letters before a word."""
    return gold.casefold() in re.sub(r"\s*\[\d+\]", "", text).casefold()


def plain_words(text: str) -> list[str]:
    """The words of a text as they are written; pairs of characters of Chinese and Japanese."""
    found: list[str] = []
    for run in _WORD.findall(text.casefold()):
        spaced = len(run) < 2 or not "\u3040" <= run[0] <= "\u9fff"
        found += [run] if spaced else [run[i : i + 2] for i in range(len(run) - 1)]
    return found


def best_sentence(text: str, question: str) -> str:
    """The sentence of a page that BM25 ranks first (k1 1.2, b 0.75), with no table of any kind."""
    pieces = [piece for piece in _SENTENCE.split(text) if piece]
    bags = [Counter(plain_words(piece)) for piece in pieces]
    mean = sum(map(Counter.total, bags)) / len(bags)
    held = Counter(word for bag in bags for word in bag)

    def score(bag: Counter[str]) -> float:
        length = 0.25 + 0.75 * bag.total() / mean
        return sum(
            math.log(1 + (len(bags) - held[w] + 0.5) / (held[w] + 0.5))
            * (bag[w] * 2.2 / (bag[w] + 1.2 * length))
            for w in dict.fromkeys(plain_words(question))
        )

    return pieces[max(range(len(pieces)), key=lambda n: score(bags[n]))]


def ask(question: tuple[Page, str, str], work: Path, titled: bool) -> Answered:
    """Run one question with the product over the pages of its language."""
    from agent.run import research
    from agent.settings import Settings

    page, text, gold = question
    corpus = work / f"{page.language}-{titled}.jsonl"
    settings = Settings(offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs")
    run = research(text, settings)
    for _ in run:
        pass
    answer = run.answer()
    told = answer.answer if answer.status in ("complete", "partial") else ""
    read = any(source.page.text == page.text for source in run.research.sources)
    plain = best_sentence(page.text, text)
    return Answered(page, titled, text, gold, told, read, answer.status, plain)


def write_corpora(pages: Sequence[Page], work: Path) -> None:
    """A corpus for each language, with titles and without."""
    for titled in (True, False):
        for language in {page.language for page in pages}:
            rows = [
                {"title": page.title if titled else f"{n}", "text": page.text}
                for n, page in enumerate(pages)
                if page.language == language
            ]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (work / f"{language}-{titled}.jsonl").write_text(lines, "utf-8")


def measure() -> list[Answered]:
    """All questions, with titles and without."""
    pages = load_pages()
    asked = [(page, *pair) for page in pages for pair in page.asked]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        work = Path(folder)
        write_corpora(pages, work)
        return [
            answered
            for titled in (True, False)
            for answered in pool.map(partial(ask, work=work, titled=titled), asked, chunksize=12)
        ]


HEAD = (
    "| language | half | n | **right** | best BM25 sentence of the page that answers | page read "
    "| abstained | right, pages without titles | abstained, without titles |\n"
    f"|{'---|' * 9}"
)


def report(made: Sequence[Answered]) -> str:
    """The part of RESULTS.md."""
    return "\n".join(
        [
            HEAD,
            *_rows(made),
            "",
            "*right*: the answer is no abstention, and the words that answer stand in it. *best",
            "BM25 sentence*: one sentence of the very page, by words as they are written; pairs of",
            "characters of Chinese and Japanese. Pages and questions are invented.",
        ]
    )


def _rows(made: Sequence[Answered]) -> Iterator[str]:
    languages = dict.fromkeys(one.page.language for one in made)
    for half in HALVES:
        own = [one for one in made if one.page.half == half]
        for language in languages:
            yield _row(language, half, [one for one in own if one.page.language == language])
        yield _row("all", half, own)


def _row(language: str, half: str, own: Sequence[Answered]) -> str:
    titled, bare = ([one for one in own if one.titled == way] for way in (True, False))
    shares = (
        [contains(one.plain, one.gold) for one in titled],
        [one.read for one in titled],
        [not one.answer for one in titled],
        [one.right for one in bare],
        [not one.answer for one in bare],
    )
    right = sum(one.right for one in titled) / len(titled)
    cells = " | ".join(f"{sum(share) / len(share):.0%}" for share in shares)
    return f"| {language} | {half} | {len(titled)} | **{right:.0%}** | {cells} |"


def _misses(made: Sequence[Answered]) -> Iterator[str]:
    """What was not answered of the half to tune on; that of the other half stays unseen."""
    for one in made:
        if not one.right and one.page.half == "tune":
            won = " (BM25 is right)" if contains(one.plain, one.gold) else ""
            titled = "" if one.titled else " (no titles)"
            yield f"{one.page.language}{titled}: {one.question} = {one.gold}{won}\n   {one.answer}"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.languages")
    parser.add_argument("--misses", action="store_true", help="what of the half `tune` was missed")
    made = measure() if (given := parser.parse_args()) else []
    print(report(made))
    if given.misses:
        print("\n".join(_misses(made)))


if __name__ == "__main__":
    main()
