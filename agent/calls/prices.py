"""Prices of models. They change, so each has the date from which it holds.

The built-in prices are in `prices.json`. A user's file of the same form (PRICES_FILE) takes
precedence, model by model. Sources, read by November 2026; prices are for prompts of usual length:
https://ai.google.dev/gemini-api/docs/pricing
https://platform.claude.com/docs/en/about-claude/pricing
https://developers.openai.com/api/docs/pricing (as others noted them)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from agent.calls.input_file import read_json
from agent.errors import UsageError
from agent.state import Frozen

BUILT_IN_PRICES = Path(__file__).with_name("prices.json")
MAX_USD = 1e6  # per million tokens; a model costs a few dollars
FORMAT_REMEDY = 'Write {"MODEL": [{"from": "2026-01-31", "input": 0.5, "output": 2}]}.'


class Price(Frozen):
    """US dollars per million tokens, from a date on; tokens of thinking count as output."""

    since: date = Field(alias="from")
    input: float = Field(ge=0, le=MAX_USD)
    output: float = Field(ge=0, le=MAX_USD)
    #: Of input that a cache of the service answers, or takes up; None: as other input.
    cache_read: float | None = Field(default=None, ge=0, le=MAX_USD)
    cache_write: float | None = Field(default=None, ge=0, le=MAX_USD)

    def cost_usd(
        self,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> float:
        """The cost of a call in US dollars. The tokens of a cache are part of the input."""
        plain = max(0, input_tokens - cache_read_tokens - cache_write_tokens)
        rows = (
            (plain, self.input),
            (cache_read_tokens, self.input if self.cache_read is None else self.cache_read),
            (cache_write_tokens, self.input if self.cache_write is None else self.cache_write),
            (output_tokens, self.output),
        )
        return sum(tokens * price for tokens, price in rows) / 1e6


PriceTable = Mapping[str, Sequence[Price]]


def load_prices(user_file: Path | None) -> PriceTable:
    """Prices by model: the built-in ones, replaced by those of the user's file.

    Raises UsageError where that file cannot be read or is invalid.
    """
    prices = dict(_read_file(BUILT_IN_PRICES))
    if user_file:
        try:
            prices.update(_read_file(user_file))
        except UsageError as error:
            raise UsageError(f"RESEARCH_AGENT_PRICES_FILE {error.message}", error.remedy) from None
        except ValidationError as error:
            fault = f"RESEARCH_AGENT_PRICES_FILE {user_file}: {error.errors()[0]['msg']}"
            raise UsageError(fault, FORMAT_REMEDY) from None
    return prices


def _read_file(file: Path) -> dict[str, list[Price]]:
    return TypeAdapter(dict[str, list[Price]]).validate_python(read_json(file, FORMAT_REMEDY))


def find_price(prices: PriceTable, model: str, day: date) -> Price | None:
    """A model's price on a day; None where it is not known (never 0)."""
    past = [price for price in prices.get(model, ()) if price.since <= day]
    return max(past, key=lambda price: price.since, default=None)
