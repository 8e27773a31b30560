"""Pictures of the page for the documents: `make pictures`.

    python -m tests.support.pictures FOLDER [STATE ...]

Each state is a run against services on loopback, whose sites and pages are invented, in a real
browser: on a desktop and on a phone, light and dark.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

from tests.support.browser import Browser, Tab, find_chromium
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import Web, configure_from

STATES = ("empty", "quote")
SIZES = {1280: 900, 390: 844}
ENDED = "document.querySelector('.state strong:not(.live)')?.textContent"
QUESTION = "Which cities have hosted the Summer Olympics more than once?"
ALMANAC, CITIES = "https://worldalmanac.example/games", "https://olympic-studies.example/cities"
TOKYO, ANGELES = "https://museumofsport.example/tokyo", "https://laledger.example/2028"
LOGIN = "https://statport.example/games"  # found, and not in the corpus
#: The date, the title and the text of each page; they are read from a corpus.
PAGES = {
    ALMANAC: ("2024-09-02", "Host cities of the Games, 1896 to 2024",
              "Most hosts were chosen once. London (1908, 1948, 2012) and Paris (1900, 1924, 2024) "
              "have staged the Games three times each. No other city has passed two."),
    CITIES: ("2024-08-14", "One city, many Games",
             "The list of the faithful is short. Athens, Los Angeles and Tokyo have each been "
             "hosts twice. Paris returned a century after 1924."),
    TOKYO: ("2022-02-01", "The Games that came a year late",
            "The stands were empty. Tokyo held its second Games in 2021. The torch had waited a "
            "year."),
    ANGELES: ("2025-05-11", "Los Angeles prepares for 2028",
              "The stadium is old. Los Angeles is to host the Games of 2028. It will be the third "
              "city with three."),
}  # fmt: skip
HITS = {
    QUESTION: [ALMANAC, CITIES, LOGIN],
    "summer olympics host cities list": [ALMANAC, CITIES],
    "olympic games moved or cancelled": [TOKYO, ANGELES],
}
#: Of each sentence of the answer: the page, the text, and words of its quote.
SENTENCES = [
    (ALMANAC, "London and Paris have each hosted the Games three times", "London"),
    (CITIES, "Athens, Los Angeles and Tokyo have each been hosts twice", "Athens"),
    (TOKYO, "Tokyo held its second Games in 2021", "2021"),
    (ANGELES, "Los Angeles is to host the Games of 2028", "is to host"),
]
SLOTS = {"three_times": "London, Paris", "twice": "Athens, Los Angeles, Tokyo"}
SLOTS |= {"last_host": "Tokyo", "next_to_host_again": "Los Angeles"}


def reply_to(request: ModelRequest) -> Reply:
    """The reply of the model: one sentence and one slot for each page."""
    quotes = [quote_with(url, words) for url, _, words in SENTENCES]
    citations = [{"source": n, "quote": quote} for n, quote in enumerate(quotes, 1)]
    text = " ".join(f"{sentence} [{n}]." for n, (_, sentence, _) in enumerate(SENTENCES, 1))
    slots = [
        {"name": name, "value": value, **citation}
        for (name, value), citation in zip(SLOTS.items(), citations, strict=True)
    ]
    draft = {"answerable": True, "answer": text, "citations": citations}
    names = [{"name": name, "description": name, "needed": True} for name in SLOTS]
    numbers = range(1, request.prompt.count("<claim id=") + 1)
    verdicts = [{"claim": n, "verdict": "supported", "source": None} for n in numbers]
    replies: dict[str, Reply] = {
        "generate_queries": {"queries": list(HITS)[1:], "slots": names},
        "reflect": {**draft, "slots": slots, "need_more": False, "new_queries": []},
        "synthesize": draft,
        "verify": {"verdicts": verdicts},
    }
    return replies[request.task]


def search_reply(query: str) -> Raw:
    """A reply of SerpAPI with the pages of a query."""
    unknown = ("", "Only for members", "")
    pages = [(url, *PAGES.get(url, unknown)) for url in HITS.get(query, [])]
    rows = [
        {"position": n, "link": url, "title": title, "snippet": text[:120], "date": date}
        for n, (url, date, title, text) in enumerate(pages, 1)
    ]
    return Raw(200, json.dumps({"organic_results": rows}))


def quote_with(url: str, words: str) -> str:
    """The sentence of a page that has these words."""
    text = PAGES[url][2]
    return next(one.strip(". ") + "." for one in text.split(". ") if words in one)


class Studio:
    """A server, its services and a browser, for pictures."""

    def __init__(self, work: Path, services: Services, browser: Browser, out: Path) -> None:
        self.browser, self.out = browser, out
        rows = [{"url": u, "title": title, "text": text} for u, (_, title, text) in PAGES.items()]
        pages = work / "pages.jsonl"
        pages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        environment = services.environment(work, CACHE_TTL="0", SEARCH_PROVIDERS="serpapi,corpus")
        self.web = Web(configure_from(environment, corpus=pages))
        services.hits, services.think = search_reply, reply_to

    def shoot(self, name: str, prepare: Callable[[Tab], None], *, whole: bool = True) -> None:
        """A state at each size, light and dark; `whole`: in a window as high as the page."""
        for (width, height), dark in product(SIZES.items(), (False, True)):
            with self.browser.tab(width, height, dark=dark) as tab:
                prepare(tab)
                assert tab.run("document.documentElement.scrollWidth") <= width, name
                if whole:
                    needed = int(tab.run("document.documentElement.scrollHeight"))
                    tab.set_viewport(width, max(height, needed), dark=dark)
                tab.settle()
                theme = "dark" if dark else "light"
                tab.screenshot(self.out / f"{name}-{width}-{theme}.png")

    def empty(self) -> None:
        """The first page."""

        def prepare(tab: Tab) -> None:
            tab.open(self.web.base)
            assert tab.wait("document.querySelector('#examples li') !== null")

        self.shoot("empty", prepare)

    def quote(self) -> None:
        """An answer with its second quote open."""
        address = f"{self.web.base}/?run={self.web.ask(QUESTION).headers['x-run-id']}"

        def prepare(tab: Tab) -> None:
            tab.open(address)
            assert tab.wait(ENDED, 20), tab.errors
            tab.click(".answer .sentence:nth-of-type(2) .marker")
            tab.wait("false", 0.6)

        self.shoot("quote", prepare, whole=False)


def main(folder: str, *states: str) -> None:
    """Take the pictures of some states, or of all, into a folder."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    program = find_chromium()
    if program is None:
        sys.exit("Skipped: chromium is not installed.")
    with tempfile.TemporaryDirectory() as work, Services() as services, Browser(program) as browser:
        studio = Studio(Path(work), services, browser, out)
        with studio.web:
            for state in states or STATES:
                getattr(studio, state)()


if __name__ == "__main__":
    main(*sys.argv[1:])
