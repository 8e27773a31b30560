"""What models cost: dated data, since prices change."""

from __future__ import annotations

import json
from datetime import date
from importlib import resources

from agent.research import Frozen


class Price(Frozen):
    """US dollars for a million tokens."""

    input: float
    output: float

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """What a call cost."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def price(model: str, on: date) -> Price | None:
    """A model's price on a day; None where it is not known (never 0)."""
    table = json.loads(resources.files("agent.llm").joinpath("prices.json").read_text("utf-8"))
    known = [row for row in table["models"].get(model, ()) if row["from"] <= on.isoformat()]
    if not known:
        return None
    latest = max(known, key=lambda row: str(row["from"]))
    return Price(input=latest["input"], output=latest["output"])
