"""An invented world of twenty firms, ten of which have a sister of nearly the same name.

No model remembers it, so an answer comes from the pages or is made up. `is_true` says of a text
whether the facts of the world bear it out: the perfect judge of `evals/local_model.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from agent.evidence import fold

ROOTS = "Velmora Ostrand Quillby Harnesk Tolvane Brixley Sunnerby Calvado Meridun Foxholt".split()
SUFFIXES = ("Works", "Labs")
FOUNDERS = (
    "Ada Lindqvist,Bo Marchetti,Cleo Farrow,Dag Yilmaz,Eva Okonkwo,Finn Castel,Gerda Pohl,"
    "Hugo Wanjiru,Ines Takala,Jan Moreau,Kira Novak,Lars Benitez,Mona Iwata,Nils Fekete,"
    "Olga Strand,Pia Rossi,Quim Ferrer,Rosa Kallas,Sven Adeyemi,Tilda Horvat"
).split(",")
CITIES = (
    "Uppsala Ravenna Tromso Porto Graz Lublin Cadiz Bergen Tartu Ghent Split Aarhus Turku Basel "
    "Nantes Brno Siena Malmo Leeds Odense"
).split()
GOODS = "pumps lamps looms scales clocks stoves bicycles kettles ropes saws".split()
FIELDS = ("founder", "founded", "headquarters", "employees")
#: The words of a true sentence beside its names and numbers; any other word makes it untold.
PLAIN = frozenset(
    """a an and are as at based been business by called city company corporation current currently
    employed employees employing employs established firm for founded founder from goods has
    have headquartered headquarters head high in is it its known located made makes making
    maker manufacturer of office offices on opened people person persons produces produced
    producing seat set since situated some staff started still that the their there these they
    this to today up was were when where which who whom whose with workers workforce year years
    name named number total currently""".split()
)
#: Words of which one must stand in a sentence that gives the value of a field.
RELATION = {
    "founder": frozenset("founded founder established started set".split()),
    "founded": frozenset("founded established started opened set since".split()),
    "headquarters": frozenset(
        "based headquarters headquartered located seat situated office offices".split()
    ),
    "employees": frozenset("employees employs employing employed staff workers workforce".split()),
}


class Firm(NamedTuple):
    """A firm and its facts."""

    name: str
    founder: str
    founded: str
    headquarters: str
    employees: str
    goods: str

    @property
    def page(self) -> str:
        return (
            f"{self.name} is a firm that makes {self.goods}. "
            f"{self.founder} founded {self.name} in {self.founded}. "
            f"The headquarters of {self.name} are in {self.headquarters}. "
            f"{self.name} has {self.employees} employees. "
            "Its canteen is known for soup, and its yard for a very old lime tree."
        )

    def value(self, field: str) -> str:
        return str(getattr(self, field))


def build_firms() -> list[Firm]:
    """The firms; the sister of each of the first ten makes the same goods."""
    names = [f"{root} {suffix}" for suffix in SUFFIXES for root in ROOTS]
    return [
        Firm(
            name,
            FOUNDERS[i],
            str(1871 + 7 * i),
            CITIES[i],
            str(137 + 211 * i),
            GOODS[i % len(GOODS)],
        )
        for i, name in enumerate(names)
    ]


FIRMS = build_firms()


def write_corpus(path: Path) -> Path:
    """Write the pages of all firms as a corpus."""
    rows = (
        {"title": firm.name, "text": firm.page, "url": f"https://example.org/{i}"}
        for i, firm in enumerate(FIRMS)
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def named_firms(text: str) -> list[Firm]:
    """The firms that a text names."""
    said = fold(text)
    return [firm for firm in FIRMS if fold(firm.name) in said]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"(?<=\d)[,. ](?=\d{3}\b)", "", fold(text)))


def is_true(text: str, topic: str) -> bool:
    """Whether a sentence, a short answer or a slot (`name: value`) follows from the facts.

    Where it names no firm it is about that of the topic. What cannot be told counts as false.
    """
    firms = named_firms(text) or named_firms(topic)
    if len(firms) != 1:
        return False
    field, colon, value = text.partition(": ")
    if colon and field in FIELDS:
        return _holds_value(firms[0], field, value)
    if len(text.split()) > 3 and fold(text).strip(" .") in fold(firms[0].page):
        return True
    return _follows(firms[0], text, topic)


def _holds_value(firm: Firm, field: str, value: str) -> bool:
    """Whether a value is that of a field; a date may have the year alone, a city no more."""
    told, gold = _words(value), _words(firm.value(field))
    rest = set(told) - set(gold) - set(_words(firm.name)) - PLAIN
    return bool(told) and set(gold) <= set(told) and not rest


def _follows(firm: Firm, text: str, topic: str) -> bool:
    told = [word for word in _words(text) if word not in _words(firm.name)]
    given = {field for field in FIELDS if set(_words(firm.value(field))) <= set(told)}
    known = {word for field in given for word in _words(firm.value(field))}
    rest = set(told) - known - PLAIN - {firm.goods}
    if rest or not (given or firm.goods in told):
        return False
    unit = {"employees"} & set(told) if "employees" in given else set()
    if set(told) <= known | unit:  # a short answer, to what the topic asks
        return all(_asks(topic, field) for field in given)
    return all(RELATION[field] & set(told) for field in given)


def _asks(topic: str, field: str) -> bool:
    asked = {"founder": "who", "founded": "when", "headquarters": "where", "employees": "how many"}
    return asked[field] in fold(topic)


def gold_in(text: str, topic: str) -> bool:
    """Whether a value that the topic asks for stands in a text, whatever the text says of it."""
    told = _words(text)
    firms = named_firms(topic)
    asked = [(firm, field) for firm in firms for field in FIELDS if _asks(topic, field)]
    return any(set(_words(firm.value(field))) <= set(told) for firm, field in asked)
