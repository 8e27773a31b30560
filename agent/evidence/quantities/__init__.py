"""Numbers, dates, scores and quantities in text, and arithmetic over them."""

from agent.evidence.quantities.dates import (
    complete_dates,
    find_dates,
    find_years,
    is_year,
    iso_dates,
    months,
    parse_date,
)
from agent.evidence.quantities.numbers import (
    find_amounts,
    find_numbers,
    number_values,
    number_words,
    read_numbers,
    scales,
)
from agent.evidence.quantities.quantity import (
    find_missing,
    missing_quantities,
    read_quantities,
    stands_on_page,
)
from agent.evidence.quantities.reading import Day, Number, Quantity, Score
from agent.evidence.quantities.scores import find_scores, is_score, read_scores, score_spans

__all__ = [
    "Day",
    "Number",
    "Quantity",
    "Score",
    "complete_dates",
    "find_amounts",
    "find_dates",
    "find_missing",
    "find_numbers",
    "find_scores",
    "find_years",
    "is_score",
    "is_year",
    "iso_dates",
    "missing_quantities",
    "months",
    "number_values",
    "number_words",
    "parse_date",
    "read_numbers",
    "read_quantities",
    "read_scores",
    "scales",
    "score_spans",
    "stands_on_page",
]
