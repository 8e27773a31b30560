"""How many planted faults a check of a report finds, and how often it cries wolf.

Reports in Markdown are made of sentences of real articles, each citing its own: word for word, with
a frame before it, cut to its main clause, or quoted. In some a fault is planted: another number,
another year, two names exchanged, the citation of another article in the same language, a link that
is dead, a quotation of words that the page does not have. Claims of WiCE, which people found
supported by the whole page that they cite, in words of their own, tell of false alarms on honest
prose. Each report is checked by rules alone, and with a judge that is wrong about 5 % of the
sentences. Beside them stands word overlap: a sentence holds if one of the page has three quarters
of its words. *failed*: called unsupported or contradicted, a dead link unreadable: of a fault, what
is found; of a true sentence, a false alarm. The halves are of articles, by the SHA-1 of their
address.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from agent.documents.reports.reader import read_report
from agent.evidence import content_words, split_sentences
from agent.evidence.language import language_of, main_script
from agent.evidence.names import find_names
from agent.evidence.words import count_words
from agent.settings import Settings
from agent.state import Checked, CheckedClaim, CitedReport, Failed, Hit, Page, PageRead, Research
from agent.strategies.check.judge import JudgeReport
from evals.harness import HALVES, Bench, Cell, Evaluation, Table, main, read_rows, share
from evals.knowing import KnowingJudge, Knows, Word, err_at
from evals.page_kinds import load_articles

AT = "2026-01-01T00:00:00Z"
ARMS = ("rules", "judge of 95 %", "word overlap")
TRUE_KINDS = ("verbatim", "framed", "cut", "quoted", "supported claim of WiCE")
PAGES_PER_REPORT = 12
PER_PAGE = 6  # sentences of an article for each kind of variant
FRAMES = (
    "According to the article, ",
    "As the authors report, ",
    "Reports from the time say that ",
)
OVERLAP = 0.75
FAILING = ("unsupported", "contradicted")
_YEAR = re.compile(r"\b(1[6-9]\d\d|20[0-3]\d)\b")
_NUMBER = re.compile(r"(?<![\w.,:/$€£-])(\d{1,3}(?:,\d{3})+|\d{1,4})(?![\w:/]|[.,-]\d)")


class Planted(NamedTuple):
    """A sentence of a report: what was done to it, and the page that it cites."""

    kind: str
    text: str
    url: str
    own: str  # the page that it was made of

    @property
    def is_true(self) -> bool:
        return self.kind in TRUE_KINDS


class PlantedReport(NamedTuple):
    """What a report is made of, and the pages that can be read."""

    half: str
    planted: tuple[Planted, ...]
    pages: tuple[Page, ...]


class Outcome(NamedTuple):
    """What was said of a planted sentence."""

    half: str
    arm: str
    planted: Planted
    verdict: str
    reason: str

    @property
    def failed(self) -> bool:
        if self.planted.kind == "dead link":
            return self.verdict == "unreadable"
        return self.verdict in ("unsupported", "contradicted")

    @property
    def right(self) -> bool:
        return self.failed != self.planted.is_true


# --- articles and what is made of them ------------------------------------------------------------


def half_of(key: str) -> str:
    """The half that something belongs to."""
    drawn = hashlib.sha1(key.encode(), usedforsecurity=False).digest()[0]
    return "tune" if drawn % 2 else "report"


def load(data: Path) -> Iterator[PlantedReport]:
    """The reports of each half."""
    articles = [one for one in load_articles(data) if len(one.text) > 800 and one.url]
    pages = sorted((Page.from_text(a.url, "", a.text, AT) for a in articles), key=lambda p: p.url)
    for half in reversed(HALVES):
        yield from _plant_reports(half, [page for page in pages if half_of(page.url) == half])
        claims = load_claims(data, half)
        for n in range(0, len(claims), 40):
            read, planted = zip(*claims[n : n + 40], strict=True)
            yield PlantedReport(half, planted, read)


def _plant_reports(half: str, pages: Sequence[Page]) -> Iterator[PlantedReport]:
    planted = list(plant(pages, random.Random(7)))
    for n in range(0, len(pages), PAGES_PER_REPORT):
        own = {page.url for page in pages[n : n + PAGES_PER_REPORT]}
        yield PlantedReport(half, tuple(p for p in planted if p.own in own), tuple(pages))


def tongue_of(page: Page) -> tuple[str, str]:
    """The language and the script of an article, as far as they can be told."""
    head = page.text[:3000]
    return language_of(head).tag, main_script(head)


def plain_sentences(page: Page) -> list[str]:
    """The sentences of an article that can stand in a report as they are."""
    found = (page.text[a:b] for a, b in split_sentences(page.text))
    return [
        s
        for s in dict.fromkeys(found)
        if 8 <= count_words(s) <= 40
        and s[0].isupper()
        and s[-1] == "."
        and s.isascii()
        and not re.search(r"[\[\]<>*_`|#\\\"()&~]|https?:", s)
    ]


def vary(sentence: str, dice: random.Random) -> Iterator[tuple[str, str]]:
    """A sentence in words that say no more: as it is, framed, or without its last clause."""
    yield "verbatim", sentence
    rest = sentence if find_names(sentence)[:1] == [sentence.split()[0]] else lower_first(sentence)
    yield "framed", dice.choice(FRAMES) + rest
    main, comma, _ = sentence.rpartition(", ")
    if comma and count_words(main) >= 8:
        yield "cut", f"{main}."
    yield "quoted", f'"{sentence.rstrip(".")}," the article says.'


def lower_first(text: str) -> str:
    """The text with a small letter first."""
    return text[0].lower() + text[1:]


def change_number(sentence: str, page: Page, dice: random.Random) -> str | None:
    """The sentence with a number that the page has nowhere in the place of its own."""
    found = [m for m in _NUMBER.finditer(sentence) if not _YEAR.fullmatch(m[0])]
    for match in found[:1]:
        value = int(match[0].replace(",", ""))
        for _ in range(20):
            other = max(
                2, round(value * dice.choice((0.5, 0.7, 1.3, 1.6, 2.2))) + dice.randint(1, 3)
            )
            text = f"{other:,}" if "," in match[0] else str(other)
            if other != value and not re.search(rf"(?<!\d){re.escape(text)}(?!\d)", page.text):
                return sentence[: match.start()] + text + sentence[match.end() :]
    return None


def change_year(sentence: str, dice: random.Random) -> str | None:
    """The sentence with another year; the page may have it elsewhere."""
    match = _YEAR.search(sentence)
    if not match:
        return None
    other = int(match[0]) + dice.choice((-7, -3, -2, 2, 3, 6))
    return None if str(other) in sentence else sentence.replace(match[0], str(other))


def swap_names(sentence: str) -> str | None:
    """The sentence with two of its names exchanged."""
    names = [name for name in dict.fromkeys(find_names(sentence)) if sentence.count(name) == 1]
    pairs = (
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if a not in b and b not in a
    )
    first, second = next(pairs, ("", ""))
    if not first:
        return None
    return sentence.replace(first, "\0").replace(second, first).replace("\0", second)


def make_up_quote(sentence: str, other: str) -> str:
    """A quotation that begins as the page does and ends as another page."""
    ours, theirs = sentence.rstrip(".").split(), other.rstrip(".").split()
    said = [*ours[: len(ours) // 2], *theirs[len(theirs) // 2 :]]
    return f'"{" ".join(said)}," the article says.'


def has_fact(sentence: str) -> bool:
    """Whether a sentence names or counts something, so that a reader could look it up."""
    return bool(find_names(sentence[1:]) or _NUMBER.search(sentence))


def plant(pages: Sequence[Page], dice: random.Random) -> Iterator[Planted]:
    """True sentences of each article, and the same with faults."""
    for page in pages:
        alike = [p for p in pages if p != page and tongue_of(p) == tongue_of(page)]
        if not alike:
            continue
        other = dice.choice(alike)
        theirs = plain_sentences(other)
        sentences = [s for s in plain_sentences(page) if has_fact(s)]
        dice.shuffle(sentences)
        for sentence in sentences[:PER_PAGE]:
            variants = list(vary(sentence, dice))
            yield from (Planted(kind, text, page.url, page.url) for kind, text in variants)
            base = dice.choice([text for kind, text in variants if kind != "quoted"])
            if dice.random() < 0.3:
                yield Planted("dead link", base, f"{page.url}/gone", page.url)
            if theirs:
                yield Planted(
                    "made-up quote",
                    make_up_quote(sentence, dice.choice(theirs)),
                    page.url,
                    page.url,
                )
        for sentence in sentences[PER_PAGE : 2 * PER_PAGE]:  # others: the judge knows by the words
            base = dice.choice([text for kind, text in vary(sentence, dice) if kind != "quoted"])
            yield Planted("wrong page", base, other.url, page.url)
        for sentence in plain_sentences(page):
            base = dice.choice([text for kind, text in vary(sentence, dice) if kind != "quoted"])
            for kind, text in (
                ("number", change_number(base, page, dice)),
                ("year", change_year(base, dice)),
                ("swapped subjects", swap_names(base)),
            ):
                if text:
                    yield Planted(kind, text, page.url, page.url)


def load_claims(data: Path, half: str) -> list[tuple[Page, Planted]]:
    """The claims of WiCE that people found supported, each with the page that it cites."""
    found = []
    for n, row in enumerate(read_rows(data / "claims/wice_claim.dev.jsonl")):
        if row["label"] == "supported" and half_of(row["claim"]) == half:
            url = f"https://wice.example/{n}"
            page = Page.from_text(url, "", "\n".join(row["evidence"]), AT)
            found.append((page, Planted("supported claim of WiCE", row["claim"], url, url)))
    return found


# --- checking -------------------------------------------------------------------------------------


def write_report(planted: Sequence[Planted]) -> tuple[str, list[str]]:
    """A report in Markdown with numbered sources, a paragraph a sentence, and its addresses."""
    urls = list(dict.fromkeys(one.url for one in planted))
    lines = [f"{one.text} [{urls.index(one.url) + 1}]\n" for one in planted]
    listed = [f"[{n}] {url}\n" for n, url in enumerate(urls, 1)]
    return "\n".join(["# A report\n", *lines, "## References\n", *listed]), urls


def measure(made: PlantedReport, _: Bench) -> Iterator[Outcome]:
    """What the product says of the sentences of a report, and what word overlap says."""
    by_url = {page.url: page for page in made.pages}
    for arm in ARMS[:2]:
        for one, said in check(made.planted, by_url, judged=arm != "rules"):
            yield Outcome(made.half, arm, one, said.verdict, said.reason)
    for one in made.planted:
        said_so = overlap_verdict(one, by_url.get(one.url))
        yield Outcome(made.half, ARMS[2], one, said_so, "")


def check(
    planted: Sequence[Planted], by_url: dict[str, Page], *, judged: bool
) -> list[tuple[Planted, CheckedClaim]]:
    """What the product says of the sentences of one report."""
    text, urls = write_report(planted)
    report = read_report(text.encode(), "report.md")
    research = Research(report.title)
    for url in urls:
        research.grow(read_event(url, by_url.get(url)))
    judge = KnowingJudge(err_at(make_judge(planted), "check"))
    step = JudgeReport(judge, Settings(verify="model" if judged else "rules"))
    claims = next(e.claims for e in step(research, report, {}) if isinstance(e, Checked))
    return list(match(planted, claims, report))


def read_event(url: str, page: Page | None) -> PageRead | Failed:
    """The event of a page that was read, or that is dead."""
    if page:
        return PageRead(page=page, hit=Hit(url=url))
    return Failed(what="page", subject=url, outcome="not_found", message="404 Not Found")


def make_judge(planted: Sequence[Planted]) -> Knows:
    """A judge that knows which sentences are true."""
    true = {" ".join(one.text.split()) for one in planted if one.is_true}

    def knows(text: str, shown: set[int]) -> Word:
        source = min(shown, default=None)
        return Word("supported" if text in true else "unsupported", source)

    return knows


def match(
    planted: Sequence[Planted], claims: Sequence[CheckedClaim], report: CitedReport
) -> Iterator[tuple[Planted, CheckedClaim]]:
    """The planted sentences with what was said: a sentence may be cut in two."""
    paragraphs = report.text.split("\n\n")[1:]
    at = report.text.find(paragraphs[0])
    for one in planted:
        start = report.text.find(one.text, at)
        at = start + len(one.text)
        inside = [c for c in claims if start <= c.sentence.start < at]
        failing = [c for c in inside if c.verdict in ("unsupported", "contradicted")]
        if inside:
            yield one, (failing or inside)[0]


def overlap_verdict(one: Planted, page: Page | None) -> str:
    """What word overlap says: the best sentence has most of the words, or it does not."""
    if page is None:
        return "unreadable"
    words = set(content_words(one.text))
    sentences = (set(content_words(page.text[a:b])) for a, b in split_sentences(page.text))
    best = max((len(words & other) for other in sentences), default=0)
    return "supported" if best >= OVERLAP * max(1, len(words)) else "unsupported"


def _failed_by(arm: str) -> Cell:
    return share(lambda one: one.failed if one.arm == arm else None)


def _said_by(arm: str, verdict: str) -> Cell:
    return share(lambda one: one.verdict == verdict if one.arm == arm else None)


EVALUATION = Evaluation(
    title="Reports with planted faults",
    load=load,
    measure=measure,
    needs="pages",
    score=lambda one: one.right if one.arm == "rules" else None,
    tables=(
        Table(
            {
                "sentences": lambda one: "true" if one.planted.is_true else "fault",
                "kind": "planted.kind",
                "half": "half",
            },
            {
                "n": lambda rows: str(sum(one.arm == "rules" for one in rows)),
                **{f"failed: {arm}": _failed_by(arm) for arm in ARMS},
                **{
                    f"{verdict}: {arm}": _said_by(arm, verdict)
                    for verdict in ("supported", "unchecked")
                    for arm in ARMS[:2]
                },
            },
        ),
    ),
    missed=lambda one: (
        f"{one.verdict} ({one.reason}): {one.planted.text}"
        if one.half == "tune" and one.arm == "rules" and not one.right
        else ""
    ),
)

if __name__ == "__main__":
    main("check")
