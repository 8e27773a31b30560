"""Questions to a table are computed over its rows, or not at all."""

from __future__ import annotations

import pytest

from agent.checking.rules import QuotePlace, decide_verdict
from agent.evidence.tables import TableQuestion, compute_statement, find_tables

ROWS = """Order ID | City | Status | Amount | Units
A1 | Oslo | open | $1,200.50 | 3
A2 | Bergen | cancelled | $80.00 | 1
A3 | Oslo | shipped | $99.50 | 7
A4 | New York | open | $2,000.00 | 2
A5 | Oslo | cancelled | $700.00 | 2
A6 | | open | $5.00 | 1"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is the amount of order A2?", "$80.00 = value(Amount; Order ID = A2)"),
        ("How many orders are cancelled?", "2 = count(Order ID; Status = cancelled)"),
        ("How many orders in Oslo are open?", "1 = count(Order ID; City = Oslo; Status = open)"),
        ("total amount in new york", "$2000 = sum(Amount; City = New York)"),
        ("average amount of orders in Oslo", "$666.6667 = mean(Amount; City = Oslo)"),
        ("How many different units are there?", "4 = count(Units)"),
        ("Wie viele verschiedene Units gibt es?", "4 = count(Units)"),
        ("How many units in different cities?", ""),
        ("How many units in Oslo?", "12 = sum(Units; City = Oslo)"),
        ("How many orders have an amount of more than 500?", "3 = count(Order ID; Amount > 500)"),
        (
            "How many orders have an amount between $20 and $100?",
            "2 = count(Order ID; Amount >= 20; Amount <= 100)",
        ),
        (
            "Wie viele orders in Oslo haben einen amount von 5 bis 700?",
            "2 = count(Order ID; City = Oslo; Amount >= 5; Amount <= 700)",
        ),
        ("How many orders are between Oslo and 100?", ""),
        ("How many orders have an amount of 20 and 100?", ""),
        ("Which order has the highest amount?", "A4 = value(Order ID; Amount = max)"),
        ("Which city has the most orders?", "Oslo = value(City; max count Order ID)"),
        ("Which city has the lowest average amount?", "Bergen = value(City; min mean Amount)"),
        ("Wie viele orders gibt es in Oslo?", "3 = count(Order ID; City = Oslo)"),
        ("How many orders are there in Berlin?", ""),  # nothing is known of it
        ("How many orders in Oslo are not open?", ""),
        ("How many orders aren't cancelled?", ""),
        ("How many orders can a city have?", ""),  # what there is tells not what there may be
        (
            "How many orders have an amount of no more than 500?",
            "3 = count(Order ID; Amount <= 500)",
        ),
        ("How many orders have an amount of not more than 500?", ""),
        ("How many orders in Oslo were shipped late?", ""),
        ("Which city has the highest amount?", ""),  # of a row, or of all: the two differ
        ("Who wrote Hamlet?", ""),
    ],
)
def test_what_is_asked_is_computed_only_if_each_word_of_it_is_read(
    question: str, told: str
) -> None:
    for text in (ROWS, _name_cells(ROWS)):
        table = find_tables(f"Orders of May\n{text}\nThe end.")[0]
        found = []
        for query in TableQuestion(question, table).read():
            values, _ = table.compute(query)
            expression = table.write(query)
            assert table.parse(expression) == query
            found.append(f"{', '.join(values)} = {expression}")
        assert found == [told] * bool(told)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Which city has the most orders?", "Lima, Oslo = value(City; max count Order)"),
        ("Which order has the highest amount?", "3 = value(Order; Amount = max)"),
        ("What is the highest order?", ""),
    ],
)
def test_numbers_that_name_the_rows_are_not_computed_with(question: str, told: str) -> None:
    rows = [
        "Order | City | Amount",
        "1 | Lima | 10",
        "2 | Oslo | 20",
        "3 | Lima | 25",
        "4 | Oslo | 7",
    ]
    table = find_tables("\n".join(rows))[0]
    queries = TableQuestion(question, table).read()
    assert [f"{', '.join(table.compute(q)[0])} = {table.write(q)}" for q in queries] == [
        told
    ] * bool(told)


CITIES = """City | Country | Year | Population
Lima | Peru | 2010 | 7500
Lima | Peru | 2020 | 9700
Cusco | Peru | 2020 | 430
Oslo | Norway | 2010 | 600
Oslo | Norway | 2020 | 700"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many cities are in Peru?", "2 = count(City; Country = Peru)"),  # of three rows
        ("How many countries are there?", "2 = count(Country)"),
        ("How many years are there?", "2 = count(Year)"),
        ("What is the population of Lima?", ""),  # of two years
        (
            "What is the population of Lima in 2020?",
            "9700 = value(Population; City = Lima; Year = 2020)",
        ),
        ("Which year has the most cities?", "2020 = value(Year; max count City)"),
        ("Which city has the largest population?", "Lima = value(City; Population = max)"),
        ("Which country has the most years?", "Peru, Norway = value(Country; max count Year)"),
        ("What is the largest city?", ""),
        ("What is the smallest population in Peru?", "430 = min(Population; Country = Peru)"),
        ("What is the largest population of a city?", ""),  # the number, or the city
    ],
)
def test_what_has_several_rows_is_counted_once_and_told_only_where_it_is_one(
    question: str, told: str
) -> None:
    table = find_tables(CITIES)[0]
    queries = TableQuestion(question, table, "Cities").read()
    said = [f"{', '.join(table.compute(one)[0])} = {table.write(one)}" for one in queries]
    assert said == [told] * bool(told)
    assert all(table.parse(table.write(one)) == one for one in queries)


def test_a_number_of_one_row_is_no_count_of_rows() -> None:
    rows = "".join(f"{2019 + n} | {120 + 15 * n} | {80 + 10 * n}\n" for n in range(6))
    table = find_tables(f"Year | Freshwater Ducks | Saltwater Ducks\n{rows}")[0]
    assert not TableQuestion("How many saltwater ducks were there in 2020?", table, "Ducks").read()


DATED = """Order | City | Date | Units
A1 | Oslo | 2024-03-05 | 5
A2 | Rome | 2024-03-07 | 20
A3 | Oslo | 2024-04-05 | 30
A4 | Rome | 2023-03-05 | 40
A5 | Oslo | 2023-12-05 | 50"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many orders are there in March 2024?", ["2 = count(Order; Date = 2024-03)"]),
        ("How many orders were there on 5 March 2024?", ["1 = count(Order; Date = 2024-03-05)"]),
        ("average units in Oslo in 2024", ["17.5 = mean(Units; City = Oslo; Date = 2024)"]),
        *(
            (f"How many orders were there {time}?", [])
            for time in ("since March 2024", "by 2024", "before 2024", "after 5 March 2024")
        ),
        ("How many orders were there in 2023 and 2024?", []),
        ("How many orders were there in 2021?", []),  # of which nothing is known
    ],
)
def test_what_is_asked_of_a_time_is_computed_over_the_rows_of_that_time(
    question: str, told: list[str]
) -> None:
    table = find_tables(DATED)[0]
    queries = TableQuestion(question, table).read()
    assert [f"{table.compute(one)[0][0]} = {table.write(one)}" for one in queries] == told
    assert all(compute_statement(one, DATED) for one in told)


def _name_cells(text: str) -> str:
    """The same table with the names of the columns in each row."""
    head, *rows = (line.split(" | ") for line in text.replace("| |", "|  |").split("\n"))
    named = (" | ".join(f"{a}: {b}" for a, b in zip(head, row, strict=True) if b) for row in rows)
    return "\n".join((" | ".join(head), *named))


@pytest.mark.parametrize(
    ("claim", "verdict", "by"),
    [
        ("3 = count(City = Oslo)", "supported", "rule"),
        ("4 = count(City = Oslo)", "unchecked", ""),
        ("3 = count(Town = Oslo)", "unchecked", ""),
        ("3 = drop(City)", "unchecked", ""),
    ],
)
def test_a_computed_statement_is_computed_again_by_its_check(
    claim: str, verdict: str, by: str
) -> None:
    judged = decide_verdict(claim, (QuotePlace(ROWS, "orders", 0, 41),))
    assert (judged.verdict, judged.by) == (verdict, by)
    assert (judged.calculation is not None) == (by == "rule")
    assert compute_statement("12 = sum(Units; City = Oslo)", ROWS)


def test_a_cell_that_denies_is_no_denial_of_the_question() -> None:
    rows = "| Order | Status\n1 | A1 | not paid\n2 | A2 | paid\n3 | A3 | not paid\n4 | A4 | open"
    table = find_tables(f"Orders\n{rows}\nThe end.")[0]
    asked = ("How many orders are not paid?", "How many orders are not open?")
    told = [[table.write(one) for one in TableQuestion(each, table).read()] for each in asked]
    assert told == [["count(Order; Status = not paid)"], []]
