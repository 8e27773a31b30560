"""Raised and lowered text and formulas: what is read means what was written."""

from __future__ import annotations

import pytest
from lxml import etree

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body
from agent.documents.formulas import write_formula
from agent.documents.reading import read_body
from agent.evidence.quantities import find_missing
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import is_quoted
from tests.support.office_files import pdf

WORDS = "Enough words follow here for anyone to call this paragraph a text that can be read."


def read(article: str) -> str:
    page = f"<html><body><article><p>{article} {WORDS}</p></article></body></html>"
    return read_body(page.encode(), "text/html", "https://example.org/").text


MATHML = [
    ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc²"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
    ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
    ("<msubsup><mi>x</mi><mn>0</mn><mi>k</mi></msubsup>", "x₀^k"),
    ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "(a+b)²"),
    ("<mi>x</mi><annotation>TeX of it</annotation>", "x"),
    ("<mmultiscripts><mi>U</mi><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>", "₉₂²³⁸U"),
]


@pytest.mark.parametrize(("markup", "text"), MATHML)
def test_a_formula_is_written_so_that_it_computes_to_the_same(markup: str, text: str) -> None:
    assert write_formula(etree.fromstring(f"<math>{markup}</math>")) == text
    assert f"It is {text}." in read(f"It is <math>{markup}</math>.")


def test_a_page_says_what_it_shows() -> None:
    article = (
        "At 10<sup>-4</sup> mol of CO<sub>2</sub> in 3 m<sup>2</sup>, on the 2<sup>nd</sup> day"
        "<sup><a href='#a'>7</a></sup>, 10<span style='vertical-align: super'>6</span> cells."
    )
    assert "At 10⁻⁴ mol of CO₂ in 3 m², on the 2nd day7, 10⁶ cells." in read(article)


def test_small_digits_above_and_below_the_line_of_a_pdf_stay_there() -> None:
    def piece(text: str, size: int, rise: int) -> str:
        return f"/F {size} Tf {rise} Ts ({text}) Tj"

    up, down = (7, 4), (7, -2)
    pieces = [
        *(("it is 10", 10, 0), ("-4", *up), (" of C", 10, 0), ("12", *down), ("H", 10, 0)),
        *(("22", *down), (" since 1878.", 10, 0), ("15", *up), (" is 5", 10, 0), ("11", *up)),
        *(("/12 at ", 10, 0), ("77", 7, 0)),
    ]
    data = pdf(f"BT 50 700 Td {' '.join(piece(*one) for one in pieces)} ET")
    found = read_body(data, suffix=".pdf").text
    assert found == "it is 10⁻⁴ of C₁₂H₂₂ since 1878.¹⁵ is 5¹¹/12 at 77"
    report = BodyReader().read(Body(data, suffix=".pdf", is_report=True))
    assert "it is 10-4 of C12H22 since 1878.15" in report.text  # where they are marks


@pytest.mark.parametrize(
    ("claim", "page", "is_there"),
    [
        ("10-4 mol", "10⁻⁴ mol", False),
        ("106 km", "10⁶ km", False),
        ("0.0001 mol", "10⁻⁴ mol", True),
        ("3 × 10⁸ m", "300,000,000 m", True),
        ("6.02 × 10²³ atoms", "6.02·10^22 atoms", False),
        ("120 cars", "120⁴ cars", True),  # the mark of a note
        ("5 m²", "5 m²", True),
    ],
)
def test_a_power_is_no_longer_number(claim: str, page: str, is_there: bool) -> None:
    assert (not find_missing(f"It took {claim} then.", (f"It took {page} then.",))) == is_there
    text = f"The trip took {page} there then."
    place = QuotePlace(text, "", 0, len(text))
    is_same = claim in (page, page.replace("10⁶", "10^6"))
    assert is_quoted(f"The trip took {claim} there then.", (place,)) == is_same
