"""Quantities: one value however it is written, and what follows from those of a quote."""

from __future__ import annotations

from datetime import date
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.evidence.quantities import missing_quantities, read_quantities

EQUAL = [
    ("1,000 people", "1.000 Menschen"),
    ("1'000 francs", "1000"),
    ("4,2 millones de dólares", "$4.2 million"),
    ("2,5 Mrd. Euro", "2.5 billion euros"),
    ("420万人", "4.2 million people"),
    ("95%", "95 percent"),
    ("一百二十公里", "120 km"),
    ("٤٢", "42"),
    ("1 goal", "scored once"),
    ("lost 2–4", "won 4:2"),
    ("four goals to two", "4-2"),
    ("3 April 2020", "2020-04-03"),
    ("二〇二二年四月三日", "3 April 2022"),
    ("3 April", "from 3 to 5 April 2020"),
    ("the 2018-19 season", "2018/19"),
    ("COVID-19, F-16 and GPT-4", ""),
    ("a third of them, two thirds or 3/4", "some"),
    ("100.1 mb/d in 2019", "100.1 million barrels per day (mb/d) in 2019"),
    ("10 kg (22 lb)", "It weighs 22 pounds (22 lb)."),
    ("4. Turn it on.", "Turn it on."),
    ("in 539 BC", "In 539 B.C. he came."),
]


@pytest.mark.parametrize(("claim", "quote"), EQUAL)
def test_one_value_in_many_notations(claim: str, quote: str) -> None:
    assert missing_quantities(claim, [quote], derived=False) == ()


DERIVED = [
    ("The scorers were three.", "Goals by Ann Lee, Bo Kim and Cy Ray."),
    ("Two of them: Ann Lee, Bo Kim.", "Bo Kim scored; before him Ann Lee had."),
    ("350 more", "It had 3,850 and has 4,200 people."),
    ("six years", "from 1939 to 1945"),
    ("two years later, in 2001", "In 1999; two years later"),
    ("the 19th century", "in 1889"),
    ("It grew by 25 %.", "from 4.0 to 5.0 billion"),
    ("30 % of them", "Of 200 houses, 60 were lost."),
    ("nearly 69 billion", "68.7 billion"),
    ("約7万人", "68,700 people"),
]


@pytest.mark.parametrize(("claim", "quote"), DERIVED)
def test_what_follows_is_derived_and_not_in_the_quote(claim: str, quote: str) -> None:
    assert missing_quantities(claim, [quote]) == ()
    assert missing_quantities(claim, [quote], derived=False)


MISSING = [
    ("won 2–0", "The score was 3–1."),
    ("69 billion", "68.7 billion"),
    ("over 100,000", "94,000"),
    ("4 goals", "Goals by Ann Lee, Bo Kim and Cy Ray."),
    ("4 April 2020", "2020-04-03"),
    ("120 km", "120 miles"),
    ("5 million", "5 billion"),
    ("the 20th century", "in 1889"),
    ("-5 degrees", "5 degrees"),
]


@pytest.mark.parametrize(("claim", "quote"), MISSING)
def test_what_is_another_value_is_missing(claim: str, quote: str) -> None:
    assert missing_quantities(claim, [quote])


@given(st.integers(0, 10**12))
def test_separators_do_not_change_a_number(number: int) -> None:
    quote = f"There are {number:,} of them."
    for written in (f"{number}", f"{number:,}", f"{number:,}".replace(",", "\u202f")):
        assert missing_quantities(f"Of {written} things", [quote], derived=False) == ()
    assert missing_quantities(f"Of {number + 1:,} things", [quote], derived=False)


@given(st.dates(date(1000, 1, 1), date(2099, 12, 31)))
def test_a_date_is_one_in_words_and_digits(day: date) -> None:
    written = [f"{day:%d %B %Y}", f"{day:%B} {day.day}, {day.year}", day.isoformat()]
    for one, other in product(written, repeat=2):
        assert missing_quantities(f"On {one} it was.", [f"It was on {other}."]) == ()


PIECES = "3|1,000|4-2|May|km| |-|million|%|三|年|two|of|2020".split("|")
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_any_text_is_read_and_has_its_own_quantities(claim: str, quote: str) -> None:
    missing = missing_quantities(claim, [quote])
    assert len(missing) <= len(read_quantities(claim))
    assert missing_quantities(claim, [claim, quote], derived=False) == ()
