"""What a report compares: one table of its questions and things, what is disputed in it, no word
twice, and no more words than were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.answer.schema import Answer
from agent.settings import Effort, Settings
from agent.state import Claim
from tests.support.analyst import Analyst
from tests.support.report_runs import report_settings, run_checked_report
from tests.support.services import Services
from tests.support.thinker import Fact

TOPIC = "How do the trams of Arlen and Borsk compare?"
OPENED, LONG = "When did the tram open?", "How long is the network?"
FACTS = [
    Fact(f"{OPENED} (Arlen)", "1998", "of Arlen opened in"),
    Fact(f"{OPENED} (Borsk)", "2004", "of Borsk opened in"),
    Fact(f"{LONG} (Arlen)", "21.4 km", "of Arlen is 21.4"),
    Fact(f"{LONG} (Borsk)", "34 km", "of Borsk is 34"),
    Fact("What does the almanac say?", "23.0 km", "of Arlen is 23.0"),
]
PAGES = {
    "arlen": "The tram of Arlen opened in 1998. It rains there in spring and in autumn.",
    "borsk": "The tram of Borsk opened in 2004. Its bridge is the pride of the whole town.",
    "lines": "The network of Arlen is 21.4 km long. The network of Borsk is 34 km long.",
    "almanac": "As an almanac has it, the network of Arlen is 23.0 km long with its depot.",
}
COMPARED = {"questions": [OPENED, LONG], "things": ["Arlen", "Borsk"]}
QUERIES = [{"query": "trams", "section": 1}]
RIVAL = {"name": f"{LONG} (Arlen)", "value": "23.0 km", "quote": PAGES["almanac"]}


class Author(Analyst):
    """Writes the sentences of the sources themselves, and reads both lengths of Arlen's network."""

    def _reflect(self, asked: Any, shown: dict[int, str]) -> dict[str, Any]:
        reply = super()._reflect(asked, shown)
        other = [{**RIVAL, "source": n} for n, text in shown.items() if PAGES["almanac"] in text]
        return {**reply, "slots": [*reply["slots"], *other]}

    def _write(self, asked: Any, shown: dict[int, str]) -> dict[str, Any]:
        told = [
            (n, f"{said}.") for n, text in shown.items() for said in text.rstrip(".").split(". ")
        ]
        lines = [{"text": s, "citations": [{"source": n, "quote": s}]} for n, s in told]
        again = [{**one, "text": one["text"].upper().rstrip(".") + " !"} for one in lines]
        return {"sentences": [*lines, *again]}


def compare(services: Services, tmp_path: Path, *names: str, **changes: Any) -> Answer:
    services.pages, services.hits = (
        dict(PAGES),
        lambda query: ["arlen", "borsk", "lines", "almanac"],
    )
    sections = [{"heading": name, **COMPARED} for name in names]
    plan = {"sections": sections, "prioritized_sub_queries": QUERIES}
    services.think = Author(FACTS, plan)
    settings = report_settings(services, tmp_path).model_copy(update={"credibility": "host"})
    return run_checked_report(TOPIC, Settings(**settings.model_dump() | changes))[1]


def test_questions_of_the_same_things_are_one_table_with_a_source_in_each_cell(
    services: Services, tmp_path: Path
) -> None:
    answer = compare(
        services, tmp_path, "Networks", "The same again", effort=Effort(pages_per_query=4)
    )
    assert answer.report
    first, second = answer.report.sections
    findings = answer.report.markdown.partition("\n## Sources")[0]
    assert len(answer.report.conflicts) == 2  # each side is shown once
    assert findings.count("21.4 km long") == findings.count("23.0 km long") == 1
    at = {one.quote: one.id for one in answer.citations}
    opened = [at[PAGES[name].split(". ")[0] + "."] for name in ("arlen", "borsk")]
    long, other = (f"The network of {town} is" for town in ("Arlen", "Borsk"))
    arlen, borsk = (next(n for q, n in at.items() if q.startswith(s)) for s in (long, other))
    lines = [line for line in answer.report.markdown.splitlines() if line.startswith("|")]
    cells = [line.replace("\\", "") for line in lines]
    assert cells == [
        "|  | Arlen | Borsk |",
        "| --- | --- | --- |",
        f"| {OPENED} | 1998 [{opened[0]}] | 2004 [{opened[1]}] |",
        f"| {LONG} | 21.4 km [{arlen}] / 23.0 km [{at[PAGES['almanac']]}] | 34 km [{borsk}] |",
    ]
    assert not second.sentences and not second.open  # nor is it told that nothing was found
    told = [one.text for one in rows_and_sentences(answer)]
    assert len({one.rstrip(".! ").casefold() for one in told}) == len(told) > 6
    [summed] = [one.prompt for one in services.model_requests if one.task == "summary"]
    assert f"| {OPENED} | | | Borsk | 2004 |" in summed  # a row is no news without its question


def rows_and_sentences(answer: Answer) -> list[Claim]:
    assert answer.report
    claims = [*answer.claims, *answer.report.conflicts]
    return claims + [one for section in answer.report.sections for one in section.sentences]


def test_a_short_report_has_few_sections_and_few_words(services: Services, tmp_path: Path) -> None:
    names, words = [f"Part {n}" for n in range(6)], 150
    answer = compare(services, tmp_path, *names, max_words=words, report_words=words)
    prose = [one for one in rows_and_sentences(answer) if one.form == "sentence"]
    assert answer.report and len(answer.report.sections) == words // 60
    assert sum(len(one.text.split()) for one in prose) <= 1.6 * words
    (warning,) = (one for one in answer.warnings if one.startswith("Not researched"))
    assert names[-1] in warning and names[0] not in warning
