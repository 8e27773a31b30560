"""The models that the settings name, in their order, and the fallback that needs no model.

A new provider of models is a function here, and its line in MODEL_PROVIDERS.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.errors import NotConfigured, UsageError
from agent.llm import Generation, Model, ModelChain
from agent.outside import AnswerT, Reply, Task
from agent.outside.prices import Price, find_price, load_prices
from agent.settings import Settings
from agent.state.clock import utc_today

#: Its cost tells whether the price of a model is known.
SAMPLE_REPLY = Generation(text="", input_tokens=1, output_tokens=1)


def make_models(settings: Settings) -> list[Model]:
    """The models of the setting `llm`, in its order; offline, the extractive engine alone.

    Raises NotConfigured for a missing key or name of a model, UsageError for an unknown provider,
    and for a cap in dollars where the price of the first model is not known.
    """
    models = _make_extractive(settings, "") if settings.offline else _make_named_models(settings)
    if settings.max_usd is not None and models[0].cost_usd(SAMPLE_REPLY) is None:
        raise UsageError(
            f"--max-usd: the price of {models[0].name} is not known.",
            "Tell it in a file named by PRICES_FILE, or use --max-tokens.",
        )
    return models


def _make_named_models(settings: Settings) -> list[Model]:
    models: list[Model] = []
    for name in settings.named_models:
        provider, _, model = name.partition(":")
        make_provider_models = MODEL_PROVIDERS.get(provider)
        if make_provider_models is None:
            known = ", ".join(MODEL_PROVIDERS)
            raise UsageError(f"Unknown model provider {provider!r}.", f"Use one of: {known}.")
        models.extend(make_provider_models(settings, model))
    return models


def _make_gemini(settings: Settings, model: str) -> list[Model]:
    from agent.llm.gemini import Gemini
    from agent.outside.gemini_api import GeminiConnection

    if settings.use_vertexai and not settings.google_cloud_project:
        raise NotConfigured(
            "GOOGLE_GENAI_USE_VERTEXAI is set, but GOOGLE_CLOUD_PROJECT is not.",
            "Set GOOGLE_CLOUD_PROJECT, or unset GOOGLE_GENAI_USE_VERTEXAI to use GEMINI_API_KEY.",
        )
    account = settings.gemini_account
    if not account.is_usable:
        raise NotConfigured(
            "GEMINI_API_KEY is not set. Add it to .env, or run with --offline",
            "Add a line GEMINI_API_KEY=... to .env in this directory, or run with --offline.",
        )
    connection = GeminiConnection(account, settings.llm_timeout)
    names = [model] if model else [settings.gemini_model, *settings.gemini_fallback_models]
    return [Gemini(name, connection, _find_price(settings, name)) for name in dict.fromkeys(names)]


def _make_anthropic(settings: Settings, model: str) -> list[Model]:
    from agent.llm.anthropic import Anthropic

    key = settings.anthropic_api_key.get_secret_value()
    if not key:
        raise NotConfigured(
            "ANTHROPIC_API_KEY is not set.", "Add it to .env, or use another model with --llm."
        )
    name = model or settings.anthropic_model
    price = _find_price(settings, name)
    return [Anthropic(name, settings.anthropic_base_url, key, settings.llm_timeout, price)]


def _make_openai(settings: Settings, model: str) -> list[Model]:
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
    price = _find_price(settings, name)
    takes_effort = settings.thinking != "auto"  # the user says so
    server = settings.openai_base_url, key, settings.llm_timeout
    return [OpenAICompatible(name, *server, price, takes_effort)]


def _find_price(settings: Settings, model: str) -> Price | None:
    return find_price(load_prices(settings.prices_file), model, utc_today())


def _make_extractive(settings: Settings, model: str) -> list[Model]:
    from agent.llm.extractive.engine import Extractive

    return [Extractive()]


def answer_extractively(task: Task[AnswerT]) -> Reply[AnswerT]:
    """The fallback where no model answers: sentences quoted from the evidence."""
    from agent.llm.extractive.engine import Extractive

    return ModelChain([Extractive()], timeout=60.0, retry_waits=())(task)


#: Providers by the name that the setting `llm` has for them. Each function makes the models of a
#: provider from the settings and the name of a model; for "" those that the settings name.
MODEL_PROVIDERS: dict[str, Callable[[Settings, str], list[Model]]] = {
    "gemini": _make_gemini,
    "openai": _make_openai,
    "anthropic": _make_anthropic,
    "extractive": _make_extractive,
}
