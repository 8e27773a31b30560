"""Which pages are read: in the first round by rank, later further ones, for what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.evidence import anchor_quote
from agent.settings import Settings
from agent.state import (
    Event,
    Finding,
    Hit,
    Page,
    PageRead,
    Queried,
    Reflected,
    Research,
    Searched,
    SearchResults,
)
from agent.steps.independent_sources import find_lone
from agent.steps.page_choice import best_hits, choose_pages
from tests.support.services import HANGS, Services
from tests.support.thinker import Fact, Thinker
from tests.support.worlds import comparable_events, run_to_end

TOPIC = "Where was the founder of Velmora Works born?"


def hits_of(*urls: str) -> tuple[Hit, ...]:
    return tuple(Hit(url=f"https://{url}") for url in urls)


def best(hits: Sequence[Hit], limit: int, topic: str = "", query: str = "") -> list[Hit]:
    return best_hits(SearchResults(query=query, hits=tuple(hits), provider="x"), limit, topic)


def names(hits: list[Hit]) -> list[str]:
    return [hit.url.removeprefix("https://") for hit in hits]


def searched(round: int, query: str, hits: tuple[Hit, ...]) -> Searched:
    return Searched(round=round, found=SearchResults(query=query, hits=hits, provider="x"))


def read(hit: Hit) -> PageRead:
    page = Page.from_text(hit.url, hit.title, "It says so.", "2026-01-01T00:00:00Z")
    return PageRead(page=page, hit=hit)


def research_with(*events: Event) -> Research:
    research = Research(TOPIC)
    for event in events:
        research.grow(event)
    return research


def test_one_page_of_each_owner_comes_before_a_second_one() -> None:
    found = hits_of("a.news.com/1", "b.news.com/2", "news.com/3", "one.co.uk/a", "two.co.uk/b")
    assert names(best(found, 3)) == ["a.news.com/1", "one.co.uk/a", "two.co.uk/b"]
    few = found[:3]  # nothing else is left
    assert names(best(few, 2)) == ["a.news.com/1", "b.news.com/2"]


def test_a_near_copy_waits_unless_it_differs_in_a_number() -> None:
    text = "The old bridge over the river Vels was opened on a rainy day in {} by the mayor himself"
    first, copy, other = (
        Hit(url=f"https://{name}.com/", title="The bridge", snippet=text.format(year))
        for name, year in (("a", 1904), ("b", 1904), ("c", 1905))
    )
    plain = Hit(url="https://d.com/", title="Bridges", snippet="They cross rivers.")
    assert best([first, copy, other, plain], 3) == [first, other, plain]


def test_of_pages_that_repeat_the_question_one_is_read_first() -> None:
    topic = "维尔莫拉工厂的创始人出生在哪里？"
    asking = [
        Hit(url=f"https://lies{n}.com/", title=title, snippet=snippet)
        for n, (title, snippet) in enumerate([("A", f"… {topic}"), (topic, "B"), ("C", topic)])
    ]
    honest = hits_of("one.com/", "two.com/")
    found = [*asking, *honest]
    assert best(found, 4, topic) == [asking[0], *honest, asking[1]]


def test_pages_that_say_the_same_give_way_to_reference_works() -> None:
    said = "The founder of Velmora Works was born in {}, as {} know."
    alike = [
        Hit(url=f"https://lies{n}.com/", snippet=said.format("Ulm", who))
        for n, who in enumerate(("locals", "experts", "people"))
    ]
    other = Hit(url="https://one.com/", snippet="Velmora makes pumps for mines near the sea.")
    works = hits_of("en.wikipedia.org/wiki/Velmora", "britannica.com/velmora")
    assert best([*alike, *works], 3) == [alike[0], works[1], works[0]]
    assert best([alike[0], other, alike[1], *works], 3) == [alike[0], other, works[0]]
    assert best([alike[0], other, alike[1], works[0]], 3) == [alike[0], other, works[0]]
    assert best([*works, *alike], 3) == [*works, alike[0]]


@pytest.mark.parametrize(
    ("title", "topic"),
    [
        ("Ada Lund", "What do Bo Ek and Ada Lund have in common?"),
        ("Ada Lund (painter)", "Where was Ada Lund born?"),
        ("维尔莫拉", "维尔莫拉工厂的创始人出生在哪里？"),
    ],
)
def test_a_page_that_the_topic_or_the_query_names_comes_first(title: str, topic: str) -> None:
    named = Hit(url="https://named.com/", title=title)
    found = [*hits_of("a.com/", "b.com/"), named]
    assert best(found, 2, topic)[0] == named
    assert best(found, 2, "Another question?", query=topic)[0] == named


@pytest.mark.parametrize("title", ["", "Ada", "Ada Lund's house"])
def test_a_title_of_other_words_changes_no_order(title: str) -> None:
    found = [*hits_of("a.com/"), Hit(url="https://other.com/", title=title)]
    assert best(found, 2, "Where was Adam Lunden born in?") == found


def test_overlapping_queries_add_no_page_in_the_first_round_and_further_ones_later() -> None:
    found = hits_of(*(f"{name}.com/" for name in "abcdefghijklm"))
    run = research_with(
        Queried(round=1, queries=("one", "two")),
        *(searched(1, query, found) for query in ("one", "two")),
    )
    assert choose_pages(run, 2) == list(found[:2])
    for event in (
        *map(read, found[:2]),
        Queried(round=2, queries=("three", "four")),
        *(searched(2, query, found) for query in ("three", "four")),
    ):
        run.grow(event)
    assert choose_pages(run, 2) == list(found[2:10]), "one for each query, and six more"
    run.grow(read(found[2]))
    assert choose_pages(run, 2) == list(found[3:10]), "a round reads on what it began with"


NO_USE = Queried(round=2, queries=("nothing of use",)), searched(2, "nothing of use", ())


def test_a_later_round_tops_up_with_what_fits_the_topic_and_what_is_missing() -> None:
    found = hits_of("a.com/", "b.com/", "c.com/")
    person = Hit(url="https://person.com/", title="A founder", snippet="She was born in Lund.")
    cats = Hit(url="https://cats.com/", title="Cats", snippet="They sleep.")
    research = research_with(
        Queried(round=1, queries=(TOPIC,)),
        searched(1, TOPIC, (*found, cats, person)),
        *map(read, found),
        *NO_USE,
    )
    assert choose_pages(research, 3) == [person] and choose_pages(research, 0) == []


@pytest.fixture
def world(services: Services) -> Services:
    """Pages of which none answers; queries of the second round overlap with those of the first."""
    services.pages = {name: f"{name} tells nothing of the matter." for name in "abcdefgh"}
    services.pages["founder"] = "Ada Lindqvist was born in Uppsala."
    first, later = ["a", "b", "c", "d", "founder"], ["a", "b", "e", "f"]
    services.hits = {TOPIC: first, "Velmora": first[::-1][1:], "Ada born": later, "Ada": later}
    facts = [Fact("city", "Uppsala", "Ada Lindqvist was born")]
    services.think = Thinker(facts, ["Velmora"], {"city": "Ada born"})
    return services


def test_reading_begins_without_the_page_that_hangs_and_a_replay_does_too(
    world: Services, settings: Settings
) -> None:
    world.pages["c"] = HANGS
    eager = settings.model_copy(update={"patience": 0.2, "max_rounds": 1})
    run, answer = run_to_end(TOPIC, eager)
    failed = [(e.subject, e.outcome) for e in run.research.events if e.type == "failed"]
    assert failed == [(world.url("c"), "missed")] and answer.run and answer.run.journal
    replayed, _ = run_to_end(TOPIC, eager, replay=Path(answer.run.journal))
    assert comparable_events(replayed) == comparable_events(run)


LIE = "The founder of Velmora Works was born in {}, as everybody in the trade knows {}."


def planted(name: str, end: str) -> Hit:
    return Hit(url=f"https://{name}.com/", title="Answer", snippet=LIE.format("Lund", end))


HONEST = Hit(url="https://works.net/", title="Velmora", snippet="Its founder came from Uppsala.")


@pytest.mark.parametrize(
    ("second", "value", "expected"),
    [
        (planted("b", "today"), "Lund", ["works.net/"]),
        (HONEST, "Uppsala", []),  # another kind of page says it
        (Hit(url="https://en.wikipedia.org/wiki/V", title="V", snippet=""), "Lund", []),
    ],
)
def test_what_one_kind_of_page_says_is_asked_of_another(
    second: Hit, value: str, expected: list[str]
) -> None:
    first = planted("a", "well")
    hits = (first, second, planted("c", "now"), planted("d", "here"), HONEST)
    research = research_with(Queried(round=1, queries=(TOPIC,)), searched(1, TOPIC, hits))
    for n, hit in enumerate((first, second), 1):
        text = hit.snippet or "Lund it was."
        page = Page.from_text(hit.url, hit.title, text, "2026-01-01T00:00:00Z")
        research.grow(PageRead(page=page, hit=hit))
        assert research.sources[n - 1].hit == hit
    places = ((1, "Lund"), (2, value if hit.snippet else "Lund"))
    quotes = [anchor_quote(word, research.sources[n - 1]) for n, word in places]
    found = Finding(
        slot="town", status="filled", value="Lund", quotes=tuple(filter(None, quotes)), weight=0.7
    )
    assert len(found.quotes) == 2
    assert [one.slot for one in find_lone(research, [found])] == (["town"] if expected else [])
    research.grow(Reflected(round=1, findings=(found,), need_more=True, new_queries=("town",)))
    research.grow(Queried(round=2, queries=("town",)))
    research.grow(searched(2, "town", hits))
    if expected:
        assert names(choose_pages(research, 1))[:1] == expected
