"""Pictures of the page in each of its states: `make pictures`.

    python -m tests.support.pictures FOLDER [STATE ...]

Each state is a whole run against services on loopback, whose sites and pages are invented, in a
real browser: at 1280, 768 and 360 pixels, light and dark.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.support.browser import Browser, Tab, find_chromium
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.web import Web, configure_from

STATES = (
    "running", "answered", "disagreement", "insufficient", "report", "check", "empty",
    "files", "plan", "library",
)  # fmt: skip
SIZES = {1280: 900, 768: 1024, 360: 780}
ENDED = "document.querySelector('.state strong:not(.live)')?.textContent"
#: The pages of all worlds: address, date, title and text. They are read from a corpus.
ALMANAC, CITIES = "https://worldalmanac.example/games", "https://olympic-studies.example/cities"
TOKYO, ANGELES = "https://museumofsport.example/tokyo", "https://laledger.example/2028"
COMPANY, COURIER = "https://northwind.example/report-2024", "https://harbourcourier.example/staff"
FERRY, COUNCIL = "https://ferryproject.example/final", "https://islandcouncil.example/minutes"
LOGIN, TRIVIA = "https://statport.example/games", "https://sporttrivia.example/numbers"
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
    TRIVIA: ("2023-01-01", "The Games by numbers",
             "More than ten thousand athletes take part. They eat sixty thousand meals a day."),
    COMPANY: ("2025-03-12", "Northwind Energy, annual report 2024",
              "It was a year of change. At 31 December 2024 the Group had 4,200 employees, "
              "including those on fixed-term contracts. A year before there were more."),
    COURIER: ("2025-02-03", "The Harbour Courier",
              "The port is quiet. Permanent staff at Northwind Energy stood at 3,850 at the end of "
              "2024, the lowest since 2019. The unions complain."),
    FERRY: ("2020-06-30", "Final report of the ferry project",
            "The ferry Ellen sails between two islands. The whole project, with ship, charging "
            "station and two years of trials, cost 21.3 million euros."),
    COUNCIL: ("2021-01-09", "Minutes of the council",
              "The council spoke of the ferry Ellen. The sum for its new batteries is not public."),
}  # fmt: skip


class Script(NamedTuple):
    """A question, what searches find, and what the model says: of each slot and each sentence."""

    question: str
    queries: dict[str, list[str]]
    slots: dict[str, list[tuple[str, int, str]]]  # values with source and quote
    sentences: list[tuple[int, str, str]]  # source, sentence and quote

    def set_up(self, services: Services) -> str:
        """Direct the services by this; returns the question."""
        services.hits = lambda query: search_reply(self.queries.get(query, []))
        services.think = self.think
        return self.question

    def think(self, asked: ModelRequest) -> Reply:
        """The reply of the model."""
        citations = [{"source": n, "quote": quote} for n, _, quote in self.sentences]
        text = " ".join(f"{said[:-1]} [{n}]." for n, said, _ in self.sentences)
        draft = {"answer": text, "citations": citations}
        rows = [
            {"name": name, "value": value, "source": n, "quote": quote}
            for name, values in self.slots.items()
            for value, n, quote in values
        ]
        names = [{"name": name, "description": name, "needed": True} for name in self.slots]
        numbers = range(1, asked.prompt.count("<claim id=") + 1)
        verdicts = [{"claim": n, "verdict": "supported", "source": None} for n in numbers]
        end = {"slots": rows, "need_more": False, "new_queries": []}
        replies: dict[str, Reply] = {
            "generate_queries": {"queries": list(self.queries)[1:], "slots": names},
            "reflect": {"answerable": bool(text), **draft, **end},
            "synthesize": draft,
            "verify": {"verdicts": verdicts},
        }
        return replies[asked.task]


def search_reply(urls: list[str]) -> Raw:
    """A reply of SerpAPI with these pages."""
    unknown = ("", "Only for members", "")
    found = [(url, *PAGES.get(url, unknown)) for url in urls]
    rows = [
        {"position": n, "link": url, "title": title, "snippet": text[:120], "date": date}
        for n, (url, date, title, text) in enumerate(found, 1)
    ]
    return Raw(200, json.dumps({"organic_results": rows}))


def said(url: str, words: str) -> str:
    """The sentence of a page that has these words."""
    text = PAGES[url][2]
    return next(one.strip(". ") + "." for one in text.split(". ") if words in one)


GAMES_QUESTION = "Which cities have hosted the Summer Olympics more than once?"
GAMES = Script(
    GAMES_QUESTION,
    {
        GAMES_QUESTION: [ALMANAC, CITIES, LOGIN],
        "summer olympics host cities list": [ALMANAC, CITIES],
        "olympic games moved or cancelled": [TOKYO, ANGELES, TRIVIA],
    },
    {
        "three_times": [("London, Paris", 1, said(ALMANAC, "London"))],
        "twice": [("Athens, Los Angeles, Tokyo", 2, said(CITIES, "Athens"))],
        "next_to_host_again": [("Los Angeles", 4, said(ANGELES, "is to host"))],
    },
    [
        (1, "London and Paris have each hosted the Games three times.", said(ALMANAC, "London")),
        (2, "Athens, Los Angeles and Tokyo have each been hosts twice.", said(CITIES, "Athens")),
        (3, "Tokyo held its second Games in 2021.", said(TOKYO, "2021")),
        (4, "Los Angeles is to host the Games of 2028.", said(ANGELES, "is to host")),
    ],
)
STAFF_QUESTION = "How many people worked at Northwind Energy at the end of 2024?"
STAFF = Script(
    STAFF_QUESTION,
    {STAFF_QUESTION: [COMPANY, COURIER], "Northwind Energy employees 2024": [COMPANY, COURIER]},
    {"employees": [("4,200", 1, said(COMPANY, "4,200")), ("3,850", 2, said(COURIER, "3,850"))]},
    [
        (1, "Northwind Energy’s report gives 4,200 employees in 2024.", said(COMPANY, "4,200")),
        (2, "The Harbour Courier counted 3,850 permanent staff.", said(COURIER, "3,850")),
    ],
)
FERRY_QUESTION = "What did the new batteries of the ferry Ellen cost?"
BATTERIES = Script(
    FERRY_QUESTION,
    {
        FERRY_QUESTION: [FERRY, COUNCIL],
        "ferry Ellen battery replacement cost": [FERRY, LOGIN],
        "Ellen ferry new batteries tender": [COUNCIL],
    },
    {"price": []},
    [],
)
REPORT = f"""# The Games and their hosts

London and Paris have each staged the Games three times [1]. Tokyo held its second Games in 2022
[2]. The torch had waited a year [2].

The ferry Ellen sails between two islands [3]. “The sum for its new batteries is a secret”, the
council said [4]. Members may read the figures [5]. Most visitors liked the opening.

[1] {ALMANAC}
[2] {TOKYO}
[3] {FERRY}
[4] {COUNCIL}
[5] {LOGIN}
"""


PLAN: Reply = {
    "sections": [
        {"heading": "The ships compared", "questions": ["In service since?", "Which battery?"]},
        {"heading": "What it costs", "questions": ["What is the price against diesel?"]},
        {"heading": "What is disputed", "questions": ["What is saved?"], "after": [1, 2]},
    ],
    "prioritized_sub_queries": [{"query": "battery ferry cost", "section": 2}],
    "unclear": [{"question": "Do ships to Germany count?", "changes_plan": True}],
}


def ask(tab: Tab, base: str, question: str, *, way: str = "quick", plan: bool = False) -> None:
    """Open the page and ask."""
    tab.open(base)
    tab.wait("document.querySelector('#add-file:not([hidden])') !== null")
    tab.run(f"document.querySelector('input[value={way}]').click()")
    tab.run(f"document.querySelector('[name=plan]').checked = {json.dumps(plan)}")
    tab.run(f"document.getElementById('question').value = {json.dumps(question)}")
    tab.run("document.getElementById('ask').requestSubmit()")


class Studio:
    """Servers, their services and a browser, for pictures."""

    def __init__(self, work: Path, services: Services, browser: Browser, out: Path) -> None:
        self.services, self.browser, self.out = services, browser, out
        rows = [{"url": u, "title": title, "text": text} for u, (_, title, text) in PAGES.items()]
        pages = work / "pages.jsonl"
        pages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        environment = services.environment(work, CACHE_TTL="0", SEARCH_PROVIDERS="serpapi,corpus")
        self.web = Web(configure_from(environment, corpus=pages))
        self.work = work
        folders = self.folders("offline")
        self.offline = Web(configure_from(folders, offline=True, api_documents=True))

    def folders(self, name: str) -> dict[str, str]:
        """The environment of a server without a model, with runs of its own."""
        return {"RUNS_DIR": str(self.work / name), "CACHE_DIR": str(self.work / "cache")}

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
        """The first page, with earlier questions."""

        def prepare(tab: Tab) -> None:
            tab.open(self.web.base)
            assert tab.wait("document.querySelector('#examples li') !== null")

        self.shoot("empty", prepare)

    def running(self) -> None:
        """The model waits with its judgement while the pictures are taken."""
        question, gate = GAMES.set_up(self.services), threading.Event()

        def wait(asked: ModelRequest) -> Reply:
            if asked.task == "verify":
                gate.wait(60)
            return GAMES.think(asked)

        self.services.think = wait
        reading = "document.querySelector('.pages .read') && document.querySelector('.found')"
        with self.browser.tab() as tab:
            ask(tab, self.web.base, question)
            assert tab.wait(f"{reading} !== null"), tab.errors
            address = str(tab.run("location.href"))

        def prepare(tab: Tab) -> None:
            tab.open(address)
            tab.wait(f"{reading} !== null")

        self.shoot("running", prepare)
        gate.set()

    def answered(self) -> None:
        """An answer; and its second quote."""
        address = self._ended("answered", self.web.base, GAMES.set_up(self.services))

        def prepare(tab: Tab) -> None:
            tab.open(address)
            tab.wait(ENDED)
            tab.click(".answer .sentence:nth-of-type(2) .marker")
            tab.wait("false", 0.6)

        self.shoot("quote", prepare, whole=False)

    def disagreement(self) -> None:
        """Two sources, two values."""
        self._ended("disagreement", self.web.base, STAFF.set_up(self.services))

    def insufficient(self) -> None:
        """Pages are read, and none has the answer."""
        self._ended("insufficient", self.web.base, BATTERIES.set_up(self.services))

    def report(self) -> None:
        """A report from the demo's documents, without a model."""
        self._ended("report", self.offline.base, "How do HPA and KEDA differ?", "report")

    def check(self) -> None:
        """A report that was pasted; and the form for one."""
        GAMES.set_up(self.services)
        with self.browser.tab() as tab:
            tab.open(self.web.base + "/?check")
            tab.wait("document.querySelector('#checking:not([hidden])') !== null")
            tab.run(f"document.getElementById('report').value = {json.dumps(REPORT)}")
            tab.run("document.getElementById('check').requestSubmit()")
            assert tab.wait(ENDED, 20), tab.errors
            address = str(tab.run("location.href"))

        def prepare(tab: Tab) -> None:
            tab.open(address)
            tab.wait(ENDED)

        self.shoot("check", prepare)

        def empty(tab: Tab) -> None:
            tab.open(self.web.base + "/?check")
            tab.wait("document.querySelector('#checking:not([hidden])') !== null")

        self.shoot("check-empty", empty)

    def files(self) -> None:
        """Files that were dropped, one of them on its way."""
        drop = """const data = new DataTransfer();
          data.items.add(new File(['The fare is 52.'], 'Fares of the ferry 2026.md'));
          data.items.add(new File(['name,fare\\nLina,52'], 'lines.csv'));
          document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}))"""

        def prepare(tab: Tab) -> None:
            tab.open(self.offline.base)
            tab.wait("document.querySelector('#add-file:not([hidden])') !== null")
            tab.run(drop)
            assert tab.wait("document.querySelectorAll('#documents button').length === 2")

        self.shoot("files", prepare)

    def plan(self) -> None:
        """The plan of a report, before it starts."""
        self.services.think = lambda asked: PLAN

        def prepare(tab: Tab) -> None:
            ask(tab, self.web.base, "What have battery ferries shown?", way="report", plan=True)
            assert tab.wait("document.querySelector('.sections') !== null"), tab.errors

        self.shoot("plan", prepare)

    def library(self) -> None:
        """What is kept: nothing, a run, and its name being changed."""

        def look(base: str, path: str = "/?library") -> Callable[[Tab], None]:
            def prepare(tab: Tab) -> None:
                tab.open(base + path)
                assert tab.wait("document.querySelector('#library .kept, #library div p') !== null")

            return prepare

        with Web(configure_from(self.folders("none"), offline=True)) as none:
            self.shoot("library-empty", look(none.base))
        name = self.offline.ask(GAMES_QUESTION).headers["x-run-id"]
        labels = {"title": "Hosts of the Games", "tags": ["sport", "cities"]}
        self.offline.client.patch(f"/api/runs/{name}", json=labels)
        self.shoot("library", look(self.offline.base))

        def edit(tab: Tab) -> None:
            look(self.offline.base)(tab)
            tab.run("document.querySelector('#library .menu button').click()")

        self.shoot("library-edit", edit)

    def _ended(self, name: str, base: str, question: str, way: str = "quick") -> str:
        """A run that ended, as its link shows it; returns its address."""
        with self.browser.tab() as tab:
            ask(tab, base, question, way=way)
            assert tab.wait(ENDED, 20), tab.errors
            address = str(tab.run("location.href"))

        def prepare(tab: Tab) -> None:
            tab.open(address)
            tab.wait(ENDED)

        self.shoot(name, prepare)
        return address


def main(folder: str, *states: str) -> None:
    """Take the pictures of some states, or of all, into a folder."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    program = find_chromium()
    if program is None:
        sys.exit("Skipped: chromium is not installed.")
    with tempfile.TemporaryDirectory() as work, Services() as services, Browser(program) as browser:
        studio = Studio(Path(work), services, browser, out)
        with studio.web, studio.offline:
            for state in states or STATES:
                getattr(studio, state)()


if __name__ == "__main__":
    main(*sys.argv[1:])
