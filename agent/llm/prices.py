"""What models cost: dated data, since prices change, over which users can lay their own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from agent.errors import UsageError
from agent.state import Frozen

OURS = Path(__file__).with_name("prices.json")


class Price(Frozen):
    """US dollars for a million tokens; thoughts are output."""

    since: date = Field(alias="from")
    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """What a call cost."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


Table = Mapping[str, Sequence[Price]]


def table(own: Path | None) -> Table:
    """Prices by model: ours, and over them those of the user's file, of the same form.

    Raises UsageError where that file cannot be read or used.
    """
    prices = dict(_read(OURS))
    if own:
        try:
            prices.update(_read(own))
        except (OSError, ValueError) as error:
            fault = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            remedy = 'Write {"MODEL": [{"from": "2026-01-31", "input": 0.5, "output": 2}]}.'
            raise UsageError(f"PRICES_FILE {own}: {fault}", remedy) from None
    return prices


def _read(file: Path) -> dict[str, list[Price]]:
    raw = json.loads(file.read_text("utf-8"))
    return TypeAdapter(dict[str, list[Price]]).validate_python(raw)


def price(prices: Table, model: str, on: date) -> Price | None:
    """A model's price on a day; None where it is not known (never 0)."""
    known = [row for row in prices.get(model, ()) if row.since <= on]
    return max(known, key=lambda row: row.since, default=None)
