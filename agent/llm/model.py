"""What a language model is to the rest of the program, and what it returns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from pydantic import field_validator

from agent.calls import Task
from agent.calls.prices import Price
from agent.errors import ModelFailed
from agent.llm.reply_forms import ReplyForms
from agent.state import Frozen

MAX_TOKENS = 10**10  # of one reply: no service counts so many
RAISE_CONTEXT = (
    "raise its context length (Ollama: OLLAMA_CONTEXT_LENGTH=16384, llama.cpp: -c 16384, "
    "LM Studio: Context Length)."
)
LEAST_WINDOW = 1500  # characters that any server reads
MAX_TOKEN_CHARS = 8  # of prose, on an average: about twice as many as with any vocabulary


class Generation(Frozen):
    """The text that a model generated, and the tokens that its service counted.

    Tokens of thinking count as output, those of a prompt cache as input. `problem`: why the text
    cannot be a whole answer, or, with `is_blocked`, why the service refused; "" for none.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0  # of the input
    cache_write_tokens: int = 0  # of the input
    problem: str = ""
    is_blocked: bool = False
    is_cut_off: bool = False  # at the limit on its tokens
    prompt_chars: int = 0  # that were sent, of a server that may cut them without a word
    usd: float | None = None  # what its service says it cost
    form: str = ""  # in which it was asked for, of the model's `forms`
    confidence: float | None = None  # of the answer in it, from 0 to 1; rules alone have one

    @property
    def unread(self) -> str:
        """What to do where the server read far less than was sent, by its count; "" if it did not.

        Such servers cut a prompt without a word.
        """
        is_cut = 0 < self.input_tokens * MAX_TOKEN_CHARS < self.prompt_chars > LEAST_WINDOW
        sent = f"{self.input_tokens:,} of about {self.prompt_chars // 4:,} tokens of the prompt"
        return f"The server read {sent}: {RAISE_CONTEXT}" if is_cut else ""

    @field_validator("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    @classmethod
    def _limit_count(cls, count: int) -> int:
        return min(max(count, 0), MAX_TOKENS)


class Model(Protocol):
    """One model of one provider.

    It may have `streams`, if true: it ends by itself where its service is silent. And `thinks`: it
    may think before it replies. And `forms`, a ReplyForms: which JSON mode its next requests use.
    """

    provider: str
    name: str

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task as JSON text; `correction` says why the previous reply was unusable.

        Makes one try. Raises ModelFailed with the outcome of this try.
        """

    def probe(self) -> str:
        """Say in words whether the model can be asked now, at no cost. Raises ModelFailed."""

    def cost_usd(self, generation: Generation) -> float | None:
        """The cost of a generation in US dollars; None where the price is not known."""

    def warm(self) -> None:
        """Import the libraries and open the connections that the first call needs."""

    def close(self) -> None:
        """Release connections and end calls under way. Can be called twice."""


class HttpModel:
    """What models over HTTP have in common: options that are given up, a price, no connection."""

    _price: Price | None = None
    forms: ReplyForms
    #: One request, in a form; and whether an option that a refusal names is left out, or lowered.
    _generate: Callable[[Task[Any], str, str], Generation]
    _drop_option: Callable[[Task[Any], str, ModelFailed], bool]

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task. Raises ModelFailed with the outcome of this one try."""
        while True:
            form = self.forms.current  # other threads may change it meanwhile
            try:
                return self._generate(task, correction, form)
            except ModelFailed as error:
                if not self._drop_option(task, form, error):
                    raise

    def cost_usd(self, generation: Generation) -> float | None:
        """US dollars, by the service's word or by the price; None where neither is known."""
        if generation.usd is not None or not (self._price and generation.input_tokens):
            return generation.usd
        return self._price.cost_usd(
            generation.input_tokens,
            generation.output_tokens,
            generation.cache_read_tokens,
            generation.cache_write_tokens,
        )

    def warm(self) -> None:
        """Import what the first call needs."""
        import requests  # noqa: F401

    def close(self) -> None:
        """Do nothing: no connection is held between calls."""


MODEL_EXISTS = "the key works, the model exists"
CUT_OFF = "the reply was cut off at the output limit; be shorter"
EMPTY = "the reply was empty"
NO_CALL = "no tool was called"


def describe_problem(text: str, is_cut_off: bool) -> str:
    """Why a reply cannot be a whole answer, in words for the model; "" if it can."""
    if is_cut_off:
        return CUT_OFF
    return "" if text.strip() else EMPTY


def describe_window(tokens: object) -> str:
    """A model's window as the end of a sentence; "" for what is no number of tokens."""
    return f"; its window: {tokens:,} tokens" if isinstance(tokens, int) and tokens > 0 else ""


def find_reply_limit(refusal: str, sent: int | None) -> int | None:
    """How many tokens of a reply a model allows, by a refusal of `sent`; None if it names none.

    Forms: `max_tokens: 16000 > 8192`, `max_tokens is too large: 16000. This model supports at most
    4096`.
    """
    named = re.search(r"max_(?:\w+_)?tokens(?! \()", refusal)
    if not sent or not named:
        return None
    numbers = re.findall(r"\d[\d,]{2,9}", refusal[named.end() :])
    limits = (int(number.replace(",", "")) for number in numbers)
    return max((limit for limit in limits if limit < sent), default=None)
