"""Raised and lowered text and formulas: what is read means what was written."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from agent.documents.formulas import lower_text, raise_text, write_formula
from agent.documents.reading import read_body
from agent.evidence.quantities import find_missing
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import is_quoted

WORDS = " Enough words follow here for anyone to call this paragraph a text that can be read."


def read(data: bytes, suffix: str = "", kind: str = "") -> str:
    address = "" if suffix else "https://example.org/"
    parts: list[Any] = []
    found = read_body(
        data, content_type=kind, url=address, suffix=suffix, is_report=False, on_part=parts.append
    )
    return " ".join(found.text.split())


@pytest.mark.parametrize(
    ("raised", "text"),
    [("-4", "⁻⁴"), ("−12", "⁻¹²"), ("n+1", "ⁿ⁺¹"), ("k/2", "^(k/2)"), ("st", "st"), ("e", "e")],
)
def test_what_is_raised(raised: str, text: str) -> None:
    assert raise_text(raised) == text


def test_what_is_lowered() -> None:
    assert [lower_text(one) for one in ("2", "n-1", "max", "")] == ["₂", "ₙ₋₁", "_max", ""]


MATHML = [
    ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc²"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
    ("<mfrac><mn>1</mn><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>", "1/(2a)"),
    ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
    ("<mroot><mn>8</mn><mn>3</mn></mroot>", "³√8"),
    ("<msubsup><mi>x</mi><mn>0</mn><mi>k</mi></msubsup>", "x₀^k"),
    ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "(a+b)²"),
    ("<mi>x</mi><annotation>TeX of it</annotation>", "x"),
]


@pytest.mark.parametrize(("markup", "text"), MATHML)
def test_a_formula_is_written_so_that_it_computes_to_the_same(markup: str, text: str) -> None:
    assert write_formula(etree.fromstring(f"<math>{markup}</math>")) == text
    page = f"<html><body><article><p>It is <math>{markup}</math>.{WORDS}</p></article></body>"
    assert f"It is {text}." in read(page.encode(), kind="text/html")


def test_a_page_says_what_it_shows() -> None:
    page = (
        "<html><body><article><p>At 10<sup>-4</sup> mol of CO<sub>2</sub> in 3 m<sup>2</sup>, on "
        f"the 2<sup>nd</sup> day<sup><a href='#a'>7</a></sup>.{WORDS}</p></article></body>"
    )
    assert "At 10⁻⁴ mol of CO₂ in 3 m², on the 2nd day7." in read(page.encode(), kind="text/html")


OFFICE = [
    ("<limLow><e><r><t>lim</t></r></e><lim><r><t>x→0</t></r></lim></limLow>", "lim_(x→0)"),
    ("<func><fName><r><t>cos</t></r></fName><e><r><t>πx</t></r></e></func>", "cos πx"),
    ("<r><t>rate of </t></r><r><t>growth</t></r>", "rate of growth"),
    (
        '<d><e><f><fPr><type val="noBar"/></fPr><num><r><t>n</t></r></num>'
        "<den><r><t>k</t></r></den></f></e></d>",
        "(C(n, k))",
    ),
]


@pytest.mark.parametrize(
    ("claim", "page", "is_there"),
    [
        ("10-4 mol", "10⁻⁴ mol", False),
        ("106 km", "10⁶ km", False),
        ("1,000,000 km", "10⁶ km", True),
        ("0.0001 mol", "10⁻⁴ mol", True),
        ("3 × 10⁸ m", "300,000,000 m", True),
        ("10^6 km", "10⁶ km", True),
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
