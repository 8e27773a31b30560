"""Measures how sources that disagree are weighed: slots of matches, one altered in each case.

`python -m evals.conflicts [--data DIR] [--show]`. For each match of `worldcup/matches.dev.jsonl`
pages are written in different words, on hosts of different credibility, and one slot (score, date,
referee, stadium) is altered on one of them. Each case runs through the product twice, over a
corpus of its pages: without a model, and with a scripted model that reports what each source in
its prompt says and knows nothing else. The same cases without the alteration count the conflicts
that are reported where there is none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import SlotAnswer
from agent.evidence import split_sentences
from agent.run import research
from agent.settings import Settings, parse_settings
from agent.slots.sameness import same_value
from evals.extractive import ROOT
from evals.judges import Word, judge_prompt
from tests.support.services import ModelRequest, Services, source_ids

EACH = 40  # cases of a kind
ENGINES = ("scripted", "none")
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
        return f"What was the score of {self.home} against {self.away} at the {self.cup}?"


class Case(NamedTuple):
    """A match, the slot that is altered on one page, and all pages."""

    kind: str
    slot: str
    match: Match
    altered: Match
    pages: tuple[dict[str, str], ...]
    plain: tuple[dict[str, str], ...]  # the same pages with nothing altered


# --- pages -------------------------------------------------------------------------------------


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


def build_cases(data: Path) -> list[Case]:
    """EACH cases of each kind, the matches drawn by the SHA-1 of their id."""
    with (data / "worldcup/matches.dev.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pairs = Counter((row["tournament"], *sorted((row["home"], row["away"]))) for row in rows)
    rows = [r for r in rows if pairs[r["tournament"], *sorted((r["home"], r["away"]))] == 1]
    rows = [row for row in rows if row["referee"] and not row["penalties"]]
    rows.sort(key=lambda row: hashlib.sha1(row["match_id"].encode()).hexdigest())
    matches = [_match(row) for row in rows]
    made = []
    for i in range(EACH * len(KINDS)):
        kind, slot, m = list(KINDS)[i % len(KINDS)], ALTERED[i // len(KINDS) % 4], matches[i]
        other = next(o for o in matches[i + 1 :] if getattr(o, slot) != getattr(m, slot))
        said = _alter(m, slot, other)
        made.append(Case(kind, slot, m, said, _pages(kind, m, said), _pages(kind, m, m)))
    return made


def _match(row: dict[str, Any]) -> Match:
    cup = row["tournament"].replace("FIFA Men's", "FIFA")
    named = (row["home"], row["away"], cup, row["score"], row["date"])
    return Match(*named, row["referee"][0], f"{row['stadium']}, {row['city']}", row["city"])


# --- a model that reads ------------------------------------------------------------------------


def scripted_reader(case: Case) -> Any:
    """Return a scripted model that reports, for each source in its prompt, the values it states."""

    def think(asked: ModelRequest) -> dict[str, Any]:
        shown = source_ids(asked.prompt)
        if asked.task == "generate_queries":
            m = case.match
            return {"queries": [f"{m.home} {m.away} {m.cup}"], "slots": []}
        if asked.task == "reflect":
            return {
                "answerable": True,
                "slots": list(_report_values(case, shown)),
                "need_more": False,
                "new_queries": [],
            }
        if asked.task == "verify":
            judge = partial(_judge_value, case, shown)
            return {"verdicts": judge_prompt(asked.prompt, judge, {})}
        return {"answer": "", "citations": []}

    return think


def _judge_value(case: Case, shown: dict[int, str], claim: str, _: set[int]) -> Word:
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


def _report_values(case: Case, shown: dict[int, str]) -> Iterator[dict[str, Any]]:
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
    engine: str
    slot: SlotAnswer
    told: bool  # both values stand in the answer, whose status is partial
    searched: bool  # a search that names both values was made
    other_conflicts: int  # in conflict, though all pages agree
    false_conflicts: int  # in the same case with nothing altered
    false_others: int  # values told there against the one that all pages give
    filled: int  # slots that were filled there

    @property
    def values(self) -> list[Any]:
        return [self.slot.value, *(other.value for other in self.slot.alternatives)]

    def says(self, m: Match) -> bool:
        """Whether one of the values told is that of a match."""
        return any(v is not None and same_value(v, getattr(m, self.case.slot)) for v in self.values)

    @property
    def found(self) -> bool:
        return self.says(self.case.match) and self.says(self.case.altered)

    @property
    def right(self) -> bool:
        value = self.slot.value
        given = self.slot.status == "filled" and value is not None
        return given and same_value(value or "", getattr(self.case.match, self.case.slot))

    @property
    def wrong(self) -> bool:
        return self.slot.status == "filled" and not self.right


def _run_case(
    case: Case, pages: Sequence[dict[str, str]], folder: Path, model: Services | None
) -> Any:
    corpus = folder / "pages.jsonl"
    corpus.write_text("".join(f"{json.dumps(page)}\n" for page in pages), encoding="utf-8")
    given = {"corpus": corpus, "slots_schema": SCHEMA}
    if model is None:
        kept = {"runs_dir": folder / "runs", "cache_dir": folder / "cache"}
        run = research(case.match.question, Settings(offline=True, **given, **kept))
    else:
        model.think = scripted_reader(case)
        run = research(case.match.question, parse_settings(model.environment(folder), **given))
    for _ in run:
        pass
    return run


def measure_case(case: Case, folder: Path, model: Services | None) -> Outcome:
    """Run a case with the product, altered and unaltered."""
    run = _run_case(case, case.pages, folder, model)
    answer = run.answer()
    slots = answer.slots
    both = [str(value) for value in (slots[case.slot].value, *_alternatives(slots[case.slot]))]
    asked = any(all(value in query for value in both) for query in run.research.queries)
    plain = _run_case(case, case.plain, folder, model).answer().slots
    return Outcome(
        case,
        "none" if model is None else "scripted",
        slots[case.slot],
        answer.status == "partial" and all(value in answer.answer for value in both),
        asked and len(both) > 1,
        sum(s.status == "conflict" for name, s in slots.items() if name != case.slot),
        sum(slot.status == "conflict" for slot in plain.values()),
        sum(len(slot.alternatives) for slot in plain.values()),
        sum(slot.status != "missing" for slot in plain.values()),
    )


def _alternatives(slot: SlotAnswer) -> list[Any]:
    return [other.value for other in slot.alternatives]


def measure(
    data: Path, show: bool = False, engines: Sequence[str] = ENGINES, every: int = 1
) -> list[Outcome]:
    """Run the cases, with the scripted model and without a model; `every`: one of so many."""
    made = []
    with tempfile.TemporaryDirectory() as name, Services() as services:
        for case in build_cases(data)[::every]:
            for model in (services if engine == "scripted" else None for engine in engines):
                folder = Path(name) / re.sub(r"\W", "", case.match.question)[:80]
                folder.mkdir(exist_ok=True)
                made.append(measure_case(case, folder, model))
                if show and not (made[-1].found and not made[-1].wrong):
                    one = made[-1]
                    print(one.engine, case.kind, case.slot, one.slot.status, one.values, end=" ")
                    print(getattr(case.match, case.slot), getattr(case.altered, case.slot))
    return made


HEAD = (
    "| model | case | n | found | conflict told | in the answer | searched for "
    "| resolved rightly | wrongly | should be resolved |\n"
    f"|{'---|' * 10}"
)


def report(made: Sequence[Outcome]) -> str:
    """The part of RESULTS.md."""
    lines = [HEAD]
    for engine in ENGINES:
        for kind, (_, _, resolvable) in KINDS.items():
            rows = [o for o in made if (o.engine, o.case.kind) == (engine, kind)]
            lines.append(
                f"| {engine} | {kind} | {_cells(rows)} | {'yes' if resolvable else 'no'} |"
            )
        rows = [o for o in made if o.engine == engine]
        lines.append(f"| {engine} | **all** | {_cells(rows)} |  |")
    for engine in ENGINES:
        rows = [o for o in made if o.engine == engine]
        false = sum(o.false_conflicts for o in rows), sum(o.filled for o in rows)
        others = sum(o.false_others for o in rows)
        lines += [
            "",
            f"Model {engine}: of {false[1]} slots filled from the same pages unaltered, {false[0]} "
            f"are in conflict and {others} have a value told against them. Beside the altered "
            f"slots, {sum(o.other_conflicts for o in rows)} are in conflict.",
        ]
    return "\n".join([*lines, "", *NOTES])


def _cells(rows: Sequence[Outcome]) -> str:
    conflict = sum(o.slot.status == "conflict" and o.found for o in rows)
    open_rows = [o for o in rows if o.slot.status == "conflict"]
    told, searched = sum(o.told for o in open_rows), sum(o.searched for o in open_rows)
    cells = (len(rows), sum(o.found for o in rows), conflict, told, searched)
    return " | ".join(
        map(str, (*cells, sum(o.right and o.found for o in rows), sum(o.wrong for o in rows)))
    )


NOTES = (
    "*found*: both values are told, each with who says it. *conflict told*: as `conflict`.",
    "*in the answer*: of these, those whose answer has both values and is partial.",
    "*searched for*: of these, those where a search named both values. *resolved rightly*:",
    "`filled` with the true value, the other one among the alternatives. *wrongly*: `filled`",
    "with the altered value. Pages are generated (`evals/conflicts.py`): they say how disagreement",
    "is weighed, not how well real pages are read.",
)


def main() -> None:
    """Measure and print the table; with --show, the cases that went wrong."""
    parser = argparse.ArgumentParser(prog="python -m evals.conflicts")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    print(report(measure(given.data.resolve(), given.show)))


if __name__ == "__main__":
    main()
