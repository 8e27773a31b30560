"""What an answer says of several times: a chart of numbers, a timeline of sentences."""

from __future__ import annotations

import io

import docx
import pytest
from lxml import etree

from agent.answer import Answer
from agent.answer.dated import Series, find_series, find_timeline, read_time
from agent.answer.formats import to_docx, to_html, to_markdown, to_text
from agent.answer.phrases import all_claims
from agent.answer.schema import SlotAnswer
from agent.state import Alternative, Claim, Report, Section
from tests.support.reports import AnswerBuilder, ReadPage, cited

LIVED = {"1950": "1,203", "1980": "2,410", "2010": "3,017", "2020": "2,988"}
TOLD = [
    "The harbour was deepened in June 1962.",
    "The first ferry to Holm sailed on 3 April 1911.",
    "A storm broke the old pier in 1934.",
    "The lighthouse was lit for the first time in 1907.",
]
ODD = "The <b>town</b> has three bakers."
TOWN = ReadPage(
    "https://town.example/",
    "Town",
    " ".join([*TOLD, ODD])
    + "\n\n| Year | People |\n|---|---|\n"
    + "\n".join(f"| {year} | {n} |" for year, n in LIVED.items())
    + "\n",
)
INTRO = "| Year | People <i>of</i> the town |\n|---|---|"


def town_answer() -> Answer:
    """A report with a section that tells of years, and a table of years."""
    run = AnswerBuilder("How did the town grow?", [TOWN])
    history = run.claims([*(cited(text, 1) for text in TOLD), cited(ODD, 1)])
    rows = tuple(
        one.model_copy(update={"form": "row", "intro": INTRO})
        for year, n in LIVED.items()
        for one in run.claims([cited(f"| {year} | {n} |", 1)])
    )
    themes = (Section(heading="History", claims=history), Section(heading="People", claims=rows))
    return run.build_answer([cited(TOLD[0], 1)], Report(title="A town", themes=themes))


def test_a_table_of_years_has_its_chart_in_html_alone() -> None:
    answer = town_answer()
    verdicts = {one.text: one.verdict for one in all_claims(answer)}
    proved = {y: n for y, n in LIVED.items() if verdicts[f"| {y} | {n} |"] == "supported"}
    assert len(proved) == 3
    [series] = answer.series
    assert [(one.at, one.value, one.said) for one in series.points] == [
        (year, float(n.replace(",", "")), n) for year, n in proved.items()
    ]
    assert all(one.citations == (1,) for one in series.points)
    page = etree.HTML(to_html(answer))
    [figure] = page.iter("figure")
    assert figure.getprevious().tag == "table"
    svg = figure.find("svg")
    told = "; ".join(f"{year}: {n}" for year, n in proved.items())
    assert svg.findtext("desc") == told and svg.get("role") == "img"
    assert svg.get("aria-label") == f"{series.name} over time: {told}"
    assert figure.findtext("figcaption") == "People <i>of</i> the town"
    places = [
        tuple(map(float, pair.split(","))) for pair in svg.find("polyline").get("points").split()
    ]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    heights = {n: -y for (_, y), n in zip(places, proved.values(), strict=True)}
    assert sorted(heights, key=heights.__getitem__) == sorted(heights)
    assert "<script" not in to_html(answer) and "style=" not in to_html(answer)
    for year, n in proved.items():
        assert f"| {year} | {n} [\\[1\\]][1] |" in to_markdown(answer)
    assert "svg" not in to_markdown(answer)


def test_a_section_of_dated_sentences_is_told_in_order_and_once() -> None:
    answer = town_answer()
    assert answer.report
    history = answer.report.sections[0]
    assert [one.at for one in history.timeline] == ["1907", "1911-04-03", "1934", "1962"]
    document = docx.Document(io.BytesIO(to_docx(answer)))
    written = "\n".join(paragraph.text for paragraph in document.paragraphs)
    for text in (to_markdown(answer), written, answer.report.markdown):
        findings = text[text.index("Main Findings") : text.index("Conflicting Information")]
        places = [findings.index(one.text.rstrip(".")) for one in history.timeline]
        assert places == sorted(places) and findings.index("three bakers") < places[0]
        assert all(findings.count(one.rstrip(".")) == 1 for one in TOLD)
    items = etree.HTML(to_html(answer)).findall(".//ul[@class='timeline']/li")
    assert [item.findtext("b") for item in items] == [f"{one.at}:" for one in history.timeline]
    assert all(item.findtext("a") == "[1]" for item in items)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("It opened on 3 April 1911.", "1911-04-03"),
        ("Am 3. April 1911 wurde es eröffnet.", "1911-04-03"),
        ("It opened in June 1962, after all.", "1962"),
        ("In 1934 the pier broke.", "1934"),
        ("The hall has 1200 seats.", ""),
        ("It was built from 1904 to 1907.", ""),
        ("It is on 3/4/2020.", "2020"),
        ("Nobody knows.", ""),
    ],
)
def test_a_sentence_has_a_time_only_if_it_names_one(text: str, time: str) -> None:
    assert read_time(text) == time


def slot(value: str | float, **about: object) -> SlotAnswer:
    known = {"status": "filled", "verdict": "supported", "citations": (1,), "confidence": 1.0}
    return SlotAnswer.model_validate({**known, **about, "value": value})


def test_slots_of_years_are_a_series_if_all_are_proved_and_of_one_kind() -> None:
    def found(slots: dict[str, SlotAnswer]) -> list[Series]:
        return list(find_series((), slots))

    good = {"people_1950": slot(1203), "people_1980": slot("2,410"), "people_2010": slot("3,017")}
    assert [one.said for one in found(good)[0].points] == ["1203", "2,410", "3,017"]
    assert found(good)[0].name == "people"
    other = [
        Alternative(value=f"{n} %", citations=(2,), weight=1.0, of=str(2000 + n)) for n in (1, 2)
    ]
    versions = {"share": slot("12 %", of="2003", alternatives=other)}
    assert [(one.at, one.citations) for one in found(versions)[0].points] == [
        ("2001", (2,)),
        ("2002", (2,)),
        ("2003", (1,)),
    ]
    for bad in (
        slot("3,017", verdict="partial"),
        slot("3,017", status="conflict"),
        slot("3,017 %"),
        slot("about 3,017"),
        slot("many"),
        slot("3.017"),
    ):
        assert not found({**good, "people_2010": bad})
    assert not found(
        {name: slot(str(2000 + n)) for n, name in enumerate(good)}
    )  # years, not counts


def test_few_or_unproved_dates_make_no_timeline() -> None:
    def claims(verdict: str, *texts: str) -> list[Claim]:
        return [
            Claim.model_validate({"text": t, "citations": (1,), "verdict": verdict}) for t in texts
        ]

    assert len(find_timeline(claims("supported", *TOLD))) == 4
    assert not find_timeline(claims("supported", *TOLD[:3]))
    assert not find_timeline(claims("unchecked", *TOLD))
    assert not find_timeline(claims("supported", *TOLD, ODD, ODD))


def test_sentences_that_are_one_but_for_number_and_year_are_a_table() -> None:
    told = [f"The town had {n} people in {year}." for year, n in LIVED.items()]
    page = ReadPage("https://town.example/", "Town", " ".join(told))
    answer = AnswerBuilder("How many?", [page]).build_answer([cited(text, 1) for text in told])
    [series] = answer.series
    assert series.name == "The town had … people in …"
    assert [(one.at, one.said) for one in series.points] == list(LIVED.items())
    rows = [f"| {year} | {n} [\\[1\\]][1] |" for year, n in LIVED.items()]
    assert "\n".join(rows) in to_markdown(answer) and to_html(answer).count("<svg") == 1
    assert "| 1950 |" not in to_text(answer) and answer.claims[0].text in to_text(answer)
