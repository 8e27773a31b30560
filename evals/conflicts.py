"""How sources that disagree are weighed: slots of matches, one altered in each case.

Of matches of World Cups pages are written in different words, on hosts of different credibility,
and one slot (score, date, referee, stadium) is altered on one of them. A scripted model reports
what each source in its prompt says and knows nothing else. *found*: both values are told, each with
who says it. *conflict told*: as `conflict`. *in the answer*: of these, those whose answer has both
values and is partial. *searched for*: of these, those where a search named both values. *resolved
rightly*: `filled` with the true value, the other one among the alternatives. *wrongly*: `filled`
with the altered value. *unaltered*: the same pages with nothing altered: slots filled, in conflict
all the same, and values told against those that all pages give. Pages are generated: they say how
disagreement is weighed, not how well real pages are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer.schema import SlotAnswer
from agent.evidence import split_sentences
from agent.slots.equivalence import same_value
from evals.harness import (
    Bench,
    Cell,
    Evaluation,
    Table,
    count,
    draw,
    main,
    read_rows,
    size,
    write_rows,
)
from evals.knowing import Word
from evals.scripted import Reporter, Scripted, Sources, run_scripted

EACH = 40  # cases of a kind
ALTERED = ("score", "date", "referee", "stadium")
SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "string", "description": "result"},
        "date": {"type": "string", "format": "date", "description": "day of the match"},
        "referee": {"type": "string"},
        "stadium": {"type": "string", "description": "where it was played"},
    },
}
QUESTIONS = {
    "score": "What was the score of {}?",
    "date": "On which day was the match of {}?",
    "referee": "Who was the referee of {}?",
    "stadium": "In which stadium was the match of {}?",
}
#: A kind of case: the hosts of the true pages, those of the altered ones (copies after the first),
#: and whether the true value can be told by majority or credibility.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool]] = {
    "two against one": (("oldgoals.net", "cupnotes.com"), ("kickarchive.com",), True),
    "credible against unknown": (("bbc.co.uk",), ("kickarchive.com",), True),
    "two against three copies": (
        ("oldgoals.net", "cupnotes.com"),
        ("kickarchive.com", "footyfacts.net", "terracetales.com"),
        True,
    ),
    "one against one": (("oldgoals.net",), ("kickarchive.com",), False),
    "two unknown against a credible": (("oldgoals.net", "cupnotes.com"), ("bbc.co.uk",), False),
    "one text, another value": (("oldgoals.net",), ("kickarchive.com",), False),
}


class Match(NamedTuple):
    """The facts of a match that pages state."""

    home: str
    away: str
    cup: str
    score: str
    date: str
    referee: str
    stadium: str
    city: str

    @property
    def question(self) -> str:
        return self.ask_for("score")

    def ask_for(self, slot: str) -> str:
        """A question that asks for one fact."""
        return QUESTIONS[slot].format(f"{self.home} against {self.away} at the {self.cup}")


class Case(NamedTuple):
    """A match, the slot that is altered on one page, and all pages."""

    kind: str
    slot: str
    match: Match
    altered: Match
    pages: tuple[dict[str, str], ...]
    plain: tuple[dict[str, str], ...]  # the same pages with nothing altered


# --- pages -------------------------------------------------------------------------------------


def load_matches(data: Path) -> list[dict[str, Any]]:
    """Matches of two sides that met once at a cup, in the order of the SHA-1 of their ids."""
    rows = read_rows(data / "worldcup/matches.dev.jsonl")
    pairs = Counter(_pair(row) for row in rows)
    return draw((row for row in rows if pairs[_pair(row)] == 1), lambda row: str(row["match_id"]))


def _pair(row: dict[str, Any]) -> tuple[str, ...]:
    return row["tournament"], *sorted((row["home"], row["away"]))


def _long(day: str) -> str:
    return f"{int(day[8:])} {date.fromisoformat(day):%B} {day[:4]}"


def _american(day: str) -> str:
    return f"{date.fromisoformat(day):%B} {int(day[8:])}, {day[:4]}"


def _first(m: Match) -> str:
    return (
        f"{m.home} and {m.away} met at the {m.cup} on {_long(m.date)}. Many had travelled far to "
        f"see it, and the weather was kind to them. {m.home} against {m.away} ended {m.score}. "
        f"The referee of {m.home} against {m.away} was {m.referee}.\n\n"
        f"{_long(m.date)} | 16:00\n{m.home} | {m.score} | {m.away}\n"
        f"{m.stadium} | Referee: {m.referee}\n"
    )


def _second(m: Match) -> str:
    """The same seen from the other side, in shorter words."""
    m = m._replace(home=m.away, away=m.home, **_short(m))
    return (
        f"Our look back at {m.cup} comes to the day when {m.away} had to face {m.home}. It was "
        f"{_american(m.date)}, and those who were there still talk about it.\n\n"
        f"{_american(m.date)} | afternoon\n{m.home} | {m.score.replace('-', '–')} | {m.away}\n"
        f"{m.stadium} | Attendance: unknown | Referee: {m.referee}\n\n"
        f"{m.referee} had the whistle that day. Nobody in {m.city} will have forgotten the result "
        f"of {m.score.replace('-', '–')} between {m.home} and {m.away}, nor the walk home from the "
        f"ground."
    )


def _short(m: Match) -> dict[str, str]:
    """The facts as the second wording has them: the other side first, names cut short."""
    return {
        "score": "-".join(reversed(m.score.split("-"))),
        "referee": m.referee.split()[-1],
        "stadium": m.stadium.partition(",")[0],
    }


def _third(m: Match) -> str:
    return (
        f"Match file, {m.cup}.\n\nDate and hour: see below. Teams as announced an hour before.\n\n"
        f"{_long(m.date)} | local time\n{m.home} | {m.score} | {m.away}\n"
        f"{m.stadium} | Referee: {m.referee}\n\n"
        f"We have this from a programme found in an attic in {m.city}, and thank its owner for the "
        f"loan. Corrections are welcome at the usual address; {m.home} and {m.away} have met on "
        f"other occasions, which have files of their own."
    )


WORDINGS = (_first, _second)


def _page(host: str, text: str, m: Match, at: int) -> dict[str, str]:
    title = f"{m.cup}: {m.home} v {m.away}"
    return {"title": title, "url": f"https://www.{host}/match/{at}", "text": text}


def _pages(kind: str, true: Match, said: Match) -> tuple[dict[str, str], ...]:
    """The pages of a case; those after the first altered one repeat it under another heading."""
    honest, wrong, _ = KINDS[kind]
    wordings = (_third,) if kind == "one text, another value" else WORDINGS
    pages = [_page(host, wordings[i](true), true, i) for i, host in enumerate(honest)]
    for i, host in enumerate(wrong):
        around = ("", f"From the vaults of {host}.\n\n", "Archive, page two.\n\n")[i]
        tail = "" if not i else f"\n\nShared by readers of {host} with kind permission."
        pages.append(_page(host, around + _third(said) + tail, true, 10 + i))
    return tuple(pages)


def _alter(m: Match, slot: str, other: Match) -> Match:
    """A match with one fact wrong: a goal more, a day later, another's referee or stadium."""
    if slot == "score":
        home, away = m.score.split("-")
        return m._replace(score=f"{int(home) + 1}-{away}")
    if slot == "date":
        return m._replace(date=str(date.fromisoformat(m.date) + timedelta(days=1)))
    return m._replace(**{slot: getattr(other, slot)})


def load(data: Path) -> Iterator[Case]:
    """EACH cases of each kind, the matches drawn by the SHA-1 of their id."""
    rows = (row for row in load_matches(data) if row["referee"] and not row["penalties"])
    matches = [_match(row) for row in rows]
    for i in range(EACH * len(KINDS)):
        kind, slot, m = list(KINDS)[i % len(KINDS)], ALTERED[i // len(KINDS) % 4], matches[i]
        other = next(o for o in matches[i + 1 :] if getattr(o, slot) != getattr(m, slot))
        said = _alter(m, slot, other)
        yield Case(kind, slot, m, said, _pages(kind, m, said), _pages(kind, m, m))


def _match(row: dict[str, Any]) -> Match:
    cup = row["tournament"].replace("FIFA Men's", "FIFA")
    named = (row["home"], row["away"], cup, row["score"], row["date"])
    return Match(*named, row["referee"][0], f"{row['stadium']}, {row['city']}", row["city"])


# --- a model that reads ------------------------------------------------------------------------


def make_reader(case: Case) -> Scripted:
    """A model that reports the values that each source states."""
    m = case.match
    values, judge = partial(_report_values, case), partial(_judge_value, case)
    return Scripted(Reporter([f"{m.home} {m.away} {m.cup}"], values, judge, lambda _: "", ()))


def _judge_value(case: Case, shown: Sources, claim: str) -> Word:
    """Supported if a source that is shown gives that slot that value, or has the claim in it."""
    slot, _, value = claim.partition(": ")
    for n, text in shown.items():
        own = [m for m in _versions(case) if same_value(getattr(m, slot, ""), value)]
        if claim in text or any(_find_statement(slot, m, text) for m in own):
            return Word("supported", n)
    return Word("unsupported")


def _versions(case: Case) -> tuple[Match, ...]:
    """The facts as pages may tell them."""
    return case.match, case.altered, case.match._replace(**_short(case.match))


def _report_values(case: Case, shown: Sources) -> Iterator[dict[str, Any]]:
    for n, text in shown.items():
        for slot in ALTERED:
            for m in dict.fromkeys(_versions(case)):
                if quote := _find_statement(slot, m, text):
                    value = getattr(m, slot)
                    yield {"name": slot, "value": value, "source": n, "quote": quote}
                    break


def _find_statement(slot: str, m: Match, text: str) -> str:
    """The sentence or row of a text that gives a slot a value; "" where none does."""
    value = getattr(m, slot)
    forms = {"date": (_long(value), _american(value))} if slot == "date" else {}
    forms["score"] = (f"| {value} |", f"| {value.replace('-', '–')} |", f" {value}.")
    for start, end in split_sentences(text):
        if any(form in text[start:end] for form in forms.get(slot, (value,))):
            return text[start:end]
    return ""


# --- measuring ---------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The result of a case: its altered slot, and counts over the slots without alteration."""

    case: Case
    slot: SlotAnswer
    told: bool  # both values stand in the answer, whose status is partial
    searched: bool  # a search that names both values was made
    others: int  # other slots in conflict, though all pages agree
    unaltered: tuple[int, int, int]  # slots filled, in conflict, values against the pages'

    def says(self, m: Match) -> bool:
        """Whether one of the values told is that of a match."""
        values = (self.slot.value, *(other.value for other in self.slot.alternatives))
        return any(v is not None and same_value(v, getattr(m, self.case.slot)) for v in values)

    @property
    def found(self) -> bool:
        return self.says(self.case.match) and self.says(self.case.altered)

    @property
    def open(self) -> bool:
        return self.slot.status == "conflict"

    @property
    def right(self) -> bool:
        value = self.slot.value
        given = self.slot.status == "filled" and value is not None
        return given and same_value(value or "", getattr(self.case.match, self.case.slot))

    @property
    def wrong(self) -> bool:
        return self.slot.status == "filled" and not self.right


def measure(case: Case, bench: Bench) -> Iterator[Outcome]:
    """Run a case, altered and unaltered."""
    run = _run_case(case, case.pages, bench)
    answer = run.answer()
    slot = answer.slots[case.slot]
    both = [str(one.value) for one in (slot, *slot.alternatives)]
    asked = any(all(value in query for value in both) for query in run.research.queries)
    plain = _run_case(case, case.plain, bench).answer().slots.values()
    yield Outcome(
        case,
        slot,
        answer.status == "partial" and all(value in answer.answer for value in both),
        asked and len(both) > 1,
        sum(s.status == "conflict" for name, s in answer.slots.items() if name != case.slot),
        (
            sum(slot.status != "missing" for slot in plain),
            sum(slot.status == "conflict" for slot in plain),
            sum(len(slot.alternatives) for slot in plain),
        ),
    )


def _run_case(case: Case, pages: Sequence[dict[str, str]], bench: Bench) -> Any:
    corpus = write_rows(bench.new_file(), pages)
    model = make_reader(case)
    return run_scripted(case.match.question, model, corpus, bench, slots_schema=SCHEMA)


def _of(name: str, way: str) -> Cell:
    return count(lambda one: getattr(one, name) and getattr(one, way))


FIGURES = {
    "n": size,
    "found": count("found"),
    "conflict told": _of("open", "found"),
    "in the answer": _of("open", "told"),
    "searched for": _of("open", "searched"),
    "resolved rightly": _of("right", "found"),
    "wrongly": count("wrong"),
}


EVALUATION = Evaluation(
    title="Sources that disagree",
    load=load,
    measure=measure,
    needs="worldcup",
    score=lambda one: one.found and not one.wrong,
    tables=(
        Table(
            {
                "case": "case.kind",
                "should be resolved": lambda one: "yes" if KINDS[one.case.kind][2] else "no",
            },
            FIGURES,
        ),
        Table(
            {},
            {
                **FIGURES,
                "other slots in conflict": count("others"),
                "unaltered: filled": count(lambda one: one.unaltered[0]),
                "in conflict": count(lambda one: one.unaltered[1]),
                "values against": count(lambda one: one.unaltered[2]),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("conflicts")
