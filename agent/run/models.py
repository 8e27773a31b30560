"""The models that the settings name, in their order, and what stands in where none answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from agent.errors import NotConfigured, UsageError
from agent.llm import Generated, Model, Models
from agent.llm.prices import Price, price, table
from agent.outside import A, Reply, Task
from agent.settings import Settings

SAMPLE = Generated(text="", input_tokens=1, output_tokens=1)


def chosen_models(settings: Settings) -> list[Model]:
    """The models in the order of `llm`. Raises NotConfigured, UsageError."""
    models = _extractive(settings, "") if settings.offline else _named_models(settings)
    if settings.max_usd is not None and models[0].price(SAMPLE) is None:
        raise UsageError(
            f"--max-usd: the price of {models[0].name} is not known.",
            "Tell it in a file named by PRICES_FILE, or use --max-tokens.",
        )
    return models


def _named_models(settings: Settings) -> list[Model]:
    models: list[Model] = []
    for name in settings.llm or (_usual(settings),):
        provider, _, model = name.partition(":")
        make = MODELS.get(provider)
        if make is None:
            known = ", ".join(MODELS)
            raise UsageError(f"Unknown model provider {provider!r}.", f"Use one of: {known}.")
        models.extend(make(settings, model))
    return models


def _usual(settings: Settings) -> str:
    """The provider where none is named."""
    other = settings.openai_model and not settings.gemini_api_key.get_secret_value()
    return "openai" if other else "gemini"


def _gemini(settings: Settings, model: str) -> list[Model]:
    from agent.llm.gemini import Connection, Gemini

    key = settings.gemini_api_key.get_secret_value()
    if not key:
        raise NotConfigured(
            "GEMINI_API_KEY is not set. Add it to .env, or run with --offline",
            "Add a line GEMINI_API_KEY=... to .env in this directory, or run with --offline.",
        )
    connection = Connection(
        key, settings.gemini_base_url, settings.gemini_api_version, settings.llm_timeout
    )
    names = [model] if model else [settings.gemini_model, *settings.gemini_fallback_models]
    return [Gemini(name, connection, _price(settings, name)) for name in dict.fromkeys(names)]


def _openai(settings: Settings, model: str) -> list[Model]:
    from agent.llm.openai_compatible import OpenAICompatible

    name = model or settings.openai_model
    key = settings.openai_api_key.get_secret_value()
    if not name:
        raise NotConfigured(
            "OPENAI_MODEL is not set.", "Add it to .env, or use --llm openai:MODEL."
        )
    if not key and settings.openai_base_url == Settings.model_fields["openai_base_url"].default:
        remedy = "Add it to .env, or set OPENAI_BASE_URL to a server that needs none."
        raise NotConfigured("OPENAI_API_KEY is not set.", remedy)
    price = _price(settings, name)
    return [OpenAICompatible(name, settings.openai_base_url, key, settings.llm_timeout, price)]


def _price(settings: Settings, model: str) -> Price | None:
    return price(table(settings.prices_file), model, datetime.now(UTC).date())


def _extractive(settings: Settings, model: str) -> list[Model]:
    from agent.llm.extractive.engine import Extractive

    return [Extractive()]


def extract(task: Task[A]) -> Reply[A]:
    """The stand-in where no model answers: sentences quoted from the evidence."""
    from agent.llm.extractive.engine import Extractive

    return Models([Extractive()], timeout=60.0, waits=())(task)


MODELS: dict[str, Callable[[Settings, str], list[Model]]] = {
    "gemini": _gemini,
    "openai": _openai,
    "extractive": _extractive,
}
