"""Arms of an evaluation: the configurations that answer the same questions, and two baselines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from agent.run.models import make_models
from agent.settings import SHAPING_FIELDS, TASK_KINDS, Settings, load_settings
from agent.state import Frozen

#: The time limit of a question in the experiment in docs/evaluation.md.
MAX_QUESTION_SECONDS = 600.0
MAX_SINGLE_SEARCH_TOKENS = 60_000  # tokens of passages in the prompt of the single search
BASELINES = ("closed_book", "single_search")
#: The settings that make two arms different, besides those that shape a prompt.
IDENTITY_FIELDS = {
    *SHAPING_FIELDS,
    *("llm", *(f"llm_{kind}" for kind in TASK_KINDS), "openai_servers"),
    *("gemini_model", "openai_model", "anthropic_model", "search", "google_max_queries"),
    *("corpus", "offline", "since"),
    *("allow_domains", "block_domains", "max_seconds", "max_usd", "max_tokens", "max_calls"),
}


class Arm(Frozen):
    """One way to answer, under the name that the results show."""

    name: str
    settings: Settings
    skipped: str = ""  # why the arm cannot answer; empty: it can

    @property
    def slug(self) -> str:
        """The name as part of a file name."""
        return re.sub(r"[^\w.]+", "-", self.name).strip("-")

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that tell this arm from another one of the same name."""
        return self.settings.model_dump(mode="json", include=IDENTITY_FIELDS)


def build_arms(
    strategies: Sequence[str],
    depths: Sequence[str],
    model_orders: Sequence[Sequence[str]],
    options: Mapping[str, Any],
    *,
    baselines: bool = True,
) -> tuple[Arm, ...]:
    """Return an arm per strategy, depth and model order, then the baselines of the first arm.

    Where none is named, the settings of the environment are the only arm. `options` are settings
    that all arms share. Raises UsageError, NotConfigured.
    """
    combinations = product(strategies or [""], depths or [""], model_orders or [()])
    arms = [
        _build_arm(strategy, depth, tuple(llm), options) for strategy, depth, llm in combinations
    ]
    first = arms[0].settings
    return (*arms, *(_build_baseline(name, first) for name in BASELINES if baselines))


def _build_arm(strategy: str, depth: str, llm: tuple[str, ...], options: Mapping[str, Any]) -> Arm:
    chosen = {"strategy": strategy or None, "depth": depth or None, "llm": llm or None}
    settings = load_settings(**options, **chosen)
    seconds = min(settings.max_seconds or MAX_QUESTION_SECONDS, MAX_QUESTION_SECONDS)
    return Arm(
        name=", ".join(filter(None, (settings.strategy, depth, "+".join(llm)))),
        settings=settings.model_copy(update={"max_seconds": seconds}),
    )


def _build_baseline(name: str, first: Settings) -> Arm:
    """Return a baseline with the model, the search, the pages and the caps of the first arm."""
    changes = {"baseline": name, "pages_per_query": 10, "verify": "rules", "on_unsupported": "flag"}
    skipped = ""
    if name == "closed_book" and make_models(first)[0].provider == "extractive":
        skipped = "No model is asked, and the extractive engine remembers nothing."
    return Arm(name=name, settings=first.model_copy(update=changes), skipped=skipped)


def settings_at_equal_tokens(arm: Arm, tokens: int) -> Settings:
    """Return an arm's settings; the single search may show `tokens`, the first arm's input tokens.

    The limits are the arm's own `evidence_tokens` and `MAX_SINGLE_SEARCH_TOKENS`.
    """
    if arm.settings.baseline != "single_search":
        return arm.settings
    shown = max(arm.settings.evidence_tokens, min(tokens, MAX_SINGLE_SEARCH_TOKENS))
    return arm.settings.model_copy(update={"evidence_tokens": shown})
