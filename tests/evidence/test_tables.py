"""Questions to a table are computed over its rows, or not at all."""

from __future__ import annotations

import pytest

from agent.checking.rules import QuotePlace, decide_verdict
from agent.evidence.table_questions import TableQuestion
from agent.evidence.tables import MAX_COLUMNS, compute_statement, find_tables

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
    assert _compute("\n".join(rows), question) == [told] * bool(told)


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


MEASURED = """Plant | State | Age | Married | Year | Length | Density
a | OR | <25 | married | 2001 | 1e+05 | 0.5
b | IN | <25 | married | 2001 | 2.5e+05 | 0.25
c | OR | 25-29 | widowed | 2002 | NA | 2e-04
d | IN | 25-29 | divorced | 2003 | 1234567 | -0.1
e | OR | <25 | widowed | 2004 | 1234568 | 0.1"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is the total length?", "2819135 = sum(Length)"),  # with powers, without what is NA
        ("What is the average density in OR?", "0.2001 = mean(Density; State = OR)"),
        ("How many plants are there in ME?", ""),  # in capitals it may be a cell, and is none
        ("How many plants have a length over 1234567?", "1 = count(Plant; Length > 1234567)"),
        ("How many plants have a year over 2001?", "3 = count(Plant; Year > 2001)"),
        (
            "How many plants have a year over 2001 and a length under 1300000?",
            "2 = count(Plant; Year > 2001; Length < 1300000)",
        ),
        ("How many plants have an age <25?", "3 = count(Plant; Age = <25)"),
        ("How many plants have a density of -0.1?", "1 = count(Plant; Density = -0.1)"),
        ("How many plants have married widowed?", "2 = count(Plant; Married = widowed)"),
        ("How many plants are widowed or divorced?", ""),  # both of one column: of none, or of each
        ("How many plants have a density between 0 and 0?", ""),
    ],
)
def test_numbers_and_limits_are_those_of_the_cells_and_of_the_column_beside_them(
    question: str, told: str
) -> None:
    assert _compute(MEASURED, question) == [told] * bool(told)


PARTS = """part_name | atomic number | total_cost | cost | kind | sold_on
bolt | 7 | 30 | 10 | atomic | 2024/03/05
nut | 9 | 50 | 25 | plain | 2024/03/09
ring | 9 | 20 | 20 | plain | 2024/04/01
nut | 9 | 50 | 25 | plain | 2023/04/01"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is the atomic number of bolt?", "7 = value(atomic number; part_name = bolt)"),
        ("What is the total cost of ring?", "20 = sum(total_cost; part_name = ring)"),
        ("Which part name has the lowest total cost?", "ring = value(part_name; total_cost = min)"),
        ("What is the sum of total_cost?", "150 = sum(total_cost)"),
        (
            "How many part names have a total cost under 40?",
            "2 = count(part_name; total_cost < 40)",
        ),
        ("How many part names were sold in 2024?", "3 = count(part_name; sold_on = 2024)"),
        ("What is the cost of nut?", ""),  # of two rows, which may be one or a sum
        ("Which spare has the highest cost?", ""),  # no number, though the title says `spare`
        (
            "How many part names have an atomic number over 8 and a total cost below 40?",
            "1 = count(part_name; atomic number > 8; total_cost < 40)",
        ),
    ],
)
def test_the_name_of_a_column_is_read_whole_before_its_words_say_anything_else(
    question: str, told: str
) -> None:
    assert _compute(PARTS, question, "Spares") == [told] * bool(told)


def test_a_row_of_totals_is_not_added_up_and_a_number_that_is_not_read_is_told_of_none() -> None:
    rows = "Region | Sales\nNorth | 10\nSouth | 20\nEast | 5\n"
    assert _compute(f"{rows}Grand total | 35", "What is the total of sales?") == ["35 = sum(Sales)"]
    assert _compute(f"{rows}Totalia | 7", "What is the highest sales?") == ["20 = max(Sales)"]
    assert not _compute(f"{rows}{rows[15:] * 9}West | 3 or 4", "What is the total of sales?")


def test_a_table_with_decimal_commas_has_points_between_thousands() -> None:
    rows = "Ort | Preis | Zahl\nA | 1,50 | 1.200\nB | 2,25 | 2.500\nC | 3,00 | 900\nD | 2 | 1"
    assert _compute(rows, "What is the total zahl?") == ["4601 = sum(Zahl)"]


def _compute(text: str, question: str, title: str = "") -> list[str]:
    table = find_tables(text)[0]
    queries = TableQuestion(question, table, title).read()
    return [f"{', '.join(table.compute(one)[0])} = {table.write(one)}" for one in queries]


@pytest.mark.parametrize(("columns", "found"), [(MAX_COLUMNS, 1), (MAX_COLUMNS + 1, 0)])
def test_a_table_of_more_columns_than_anybody_asks_is_none(columns: int, found: int) -> None:
    """Its time grows with the square of its columns: 60,000 took twelve seconds."""
    head = " | ".join(f"column{n}" for n in range(columns))
    rows = [" | ".join(["1"] * columns)] * 5
    assert len(find_tables("\n".join([head, *rows]))) == found
