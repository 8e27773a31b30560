"""Arms: ways to answer the same questions, side by side, and what they are compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from agent import settings
from agent.run.models import chosen_models
from agent.settings import SHAPE, Settings
from agent.state import Frozen

LONGEST = 600.0  # seconds a question: system D's limit
MOST_SHOWN = 60_000  # tokens of passages that the single search may show
BASELINES = ("closed_book", "single_search")
#: What else, besides what shapes a prompt, makes two arms different.
KEPT = {*SHAPE, "llm", "gemini_model", "openai_model", "search", "corpus", "offline", "since"}
KEPT |= {"allow_domains", "block_domains", "max_seconds", "max_usd", "max_tokens", "max_calls"}


class Arm(Frozen):
    """A way to answer, by a name that a user reads."""

    name: str
    settings: Settings
    skipped: str = ""  # why it cannot answer, in words

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^\w.]+", "-", self.name).strip("-")

    @property
    def kept(self) -> dict[str, Any]:
        """What tells two arms of one name apart."""
        return self.settings.model_dump(mode="json", include=KEPT)


def arms(
    strategies: Sequence[str],
    depths: Sequence[str],
    models: Sequence[Sequence[str]],
    given: Mapping[str, Any],
    *,
    baselines: bool = True,
) -> tuple[Arm, ...]:
    """Every strategy at every depth with every model order, then the baselines of the first.

    Nothing named: one arm of what the environment says. Raises UsageError, NotConfigured.
    """
    ways = product(strategies or [""], depths or [""], models or [()])
    ours = [_arm(strategy, depth, tuple(llm), given) for strategy, depth, llm in ways]
    first = ours[0].settings
    return (*ours, *(_baseline(name, first) for name in BASELINES if baselines))


def _arm(strategy: str, depth: str, llm: tuple[str, ...], given: Mapping[str, Any]) -> Arm:
    named = {"strategy": strategy or None, "depth": depth or None, "llm": llm or None}
    own = settings.here(**given, **named)
    seconds = min(own.max_seconds or LONGEST, LONGEST)
    return Arm(
        name=", ".join(filter(None, (own.strategy, depth, "+".join(llm)))),
        settings=own.model_copy(update={"max_seconds": seconds}),
    )


def _baseline(name: str, first: Settings) -> Arm:
    """A baseline under the caps of the first arm, with its model, its search and its pages."""
    plain = {"baseline": name, "pages_per_query": 10, "verify": "rules", "on_unsupported": "flag"}
    skipped = ""
    if name == "closed_book" and chosen_models(first)[0].provider == "extractive":
        skipped = "No model is asked, and the extractive engine remembers nothing."
    return Arm(name=name, settings=first.model_copy(update=plain), skipped=skipped)


def at_equal_tokens(arm: Arm, spent: int) -> Settings:
    """The settings of an arm; the single search shows as many tokens as the first arm has spent."""
    shown = max(arm.settings.evidence_tokens, min(spent, MOST_SHOWN))
    more = {"evidence_tokens": shown} if arm.settings.baseline == "single_search" else {}
    return arm.settings.model_copy(update=more)
