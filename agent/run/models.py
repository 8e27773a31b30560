"""The models that the settings name, in their order, and the fallback that needs no model.

A new provider of models is a function here, and its line in MODEL_PROVIDERS. Servers that speak as
OpenAI's does need none: `openai_servers` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

from agent.calls import AnswerT, Reply, Task, TaskKind
from agent.calls.plugins import load_plugin, plugin_names
from agent.calls.prices import Price, find_price, load_prices
from agent.errors import NotConfigured, UsageError
from agent.llm import Generation, Model, ModelChain
from agent.settings import TASK_KINDS, Settings
from agent.state import utc_today

Orders = Mapping[TaskKind, Sequence[Model]]  # which models a kind of task is asked of
ModelMaker = Callable[[Settings, Sequence[str]], Sequence[Model]]
#: The general order first.
KINDS: tuple[TaskKind | None, ...] = (None, *TASK_KINDS)
OPENAI_MODEL = "gpt-5.6-luna"  # of OpenAI's own server, where none is named
#: Its cost tells whether the price of a model is known.
SAMPLE_REPLY = Generation(text="", input_tokens=1, output_tokens=1)


def make_models(settings: Settings) -> list[Model]:
    """Every model that the settings name; those of `llm` first, in its order.

    Offline it is the extractive backend alone. Raises NotConfigured for a missing key or name of a
    model, UsageError for an unknown provider, and for a cap in dollars where the price of a model
    that is asked first is not known.
    """
    named = list(dict.fromkeys(chain.from_iterable(name_models(settings, k) for k in KINDS)))
    made: dict[tuple[str, str], Model] = {}
    for provider in dict.fromkeys(provider for provider, _ in named):
        names = [name for known, name in named if known == provider]
        made |= {
            (provider, name): model
            for name, model in zip(names, _maker(provider)(settings, names), strict=True)
        }
    models = [made[name] for name in named]
    _require_prices(settings, models)
    return models


def _require_prices(settings: Settings, models: Sequence[Model]) -> None:
    for order in order_models(settings, models).values():
        if settings.max_usd is not None and order[0].cost_usd(SAMPLE_REPLY) is None:
            raise UsageError(
                f"--max-usd: the price of {order[0].name} is not known.",
                "Set it in a file named by RESEARCH_AGENT_PRICES_FILE, or use --max-tokens.",
            )


def order_models(settings: Settings, models: Sequence[Model]) -> dict[TaskKind, list[Model]]:
    """For each kind of task, which of some models are asked, in order: all where none is named."""
    if not models:  # a replay asks none
        return {kind: [] for kind in TASK_KINDS}
    known = {(model.provider, ""): model for model in reversed(models)}  # the default of a plug-in
    known |= {(model.provider, model.name): model for model in models}
    return {
        kind: [known[name] for name in name_models(settings, kind) if name in known] or list(models)
        for kind in TASK_KINDS
    }


def name_models(settings: Settings, kind: TaskKind | None) -> list[tuple[str, str]]:
    """Provider and name of the models for a kind of task, in order; None: of those of `llm`.

    Raises NotConfigured for a name of a model that is missing, UsageError for an unknown provider.
    """
    if settings.offline:
        return [("extractive", "extractive")]
    found: list[tuple[str, str]] = []
    for named in settings.models_for(kind) if kind else settings.named_models:
        provider, _, model = named.partition(":")
        added = plugin_names("models")
        if provider not in {*MODEL_PROVIDERS, *settings.servers, *added}:
            known = ", ".join((*MODEL_PROVIDERS, *settings.servers, *added))
            likely = {"gem": "gemini", "cla": "anthropic"}.get(provider[:3], "openai")
            raise UsageError(
                f"Unknown model provider {provider!r}.",
                f"Write PROVIDER:MODEL, as in {likely}:{named}; providers: {known}.",
            )
        is_alone = not model or provider == "extractive"
        names = _default_models(settings, provider) if is_alone else (model,)
        found += [(provider, name) for name in names]
    return list(dict.fromkeys(found))


def _default_models(settings: Settings, provider: str) -> tuple[str, ...]:
    """The models of a provider that is named alone. Raises NotConfigured where there is none."""
    names = {
        "gemini": (settings.gemini_model, *settings.gemini_fallback_models),
        "openai": (settings.openai_model or ("" if settings.has_own_server else OPENAI_MODEL),),
        "anthropic": (settings.anthropic_model,),
        "extractive": ("extractive",),
    }.get(provider, ("",))
    if names[0] or provider in plugin_names("models"):
        return names
    if provider == "openai":
        remedy = "Add it to .env, or use --llm openai:MODEL."
        raise NotConfigured("OPENAI_MODEL is not set.", remedy)
    raise NotConfigured(f"{provider} is named without a model.", f"Write {provider}:MODEL.")


def _maker(provider: str) -> ModelMaker:
    """What makes the models of a provider: ours, one of another package, or a server's."""
    made = MODEL_PROVIDERS.get(provider) or load_plugin("models", provider)
    return made or partial(_make_server, provider)


def _make_gemini(settings: Settings, names: Sequence[str]) -> list[Model]:
    from agent.calls.gemini_api import GeminiConnection
    from agent.llm.gemini import Gemini

    if settings.use_vertexai and not settings.google_cloud_project:
        raise NotConfigured(
            "GOOGLE_GENAI_USE_VERTEXAI is set, but GOOGLE_CLOUD_PROJECT is not.",
            "Set GOOGLE_CLOUD_PROJECT, or unset GOOGLE_GENAI_USE_VERTEXAI to use GEMINI_API_KEY.",
        )
    account = settings.gemini_account
    if not account.is_usable:
        raise NotConfigured(
            "GEMINI_API_KEY is not set. Add it to .env, or run with --offline",
            "Or set OPENAI_API_KEY (OpenAI), ANTHROPIC_API_KEY (Claude), or OPENAI_BASE_URL and "
            "OPENAI_MODEL (a local server: Ollama, llama.cpp, LM Studio, vLLM).",
        )
    connection = GeminiConnection(account, settings.llm_timeout)
    return [Gemini(name, connection, _find_price(settings, name)) for name in names]


def _make_anthropic(settings: Settings, names: Sequence[str]) -> list[Model]:
    from agent.llm.anthropic import Anthropic

    key = settings.anthropic_api_key.get_secret_value()
    if not key:
        raise NotConfigured(
            "ANTHROPIC_API_KEY is not set.", "Add it to .env, or use another model with --llm."
        )
    server = settings.anthropic_base_url, key, settings.llm_timeout
    return [Anthropic(name, *server, _find_price(settings, name)) for name in names]


def _make_openai(settings: Settings, names: Sequence[str]) -> list[Model]:
    key = settings.openai_api_key.get_secret_value()
    if not key and not settings.has_own_server:
        remedy = "Add it to .env, or set OPENAI_BASE_URL to a server that needs none."
        raise NotConfigured("OPENAI_API_KEY is not set.", remedy)
    return _make_compatible("openai", settings.openai_base_url, key, settings, names)


def _make_server(server: str, settings: Settings, names: Sequence[str]) -> list[Model]:
    return _make_compatible(server, *settings.servers[server], settings, names)


def _make_compatible(
    provider: str, base_url: str, key: str, settings: Settings, names: Sequence[str]
) -> list[Model]:
    from agent.llm.openai_compatible import OpenAICompatible

    server = base_url, key, settings.llm_timeout
    more = settings.thinking != "auto", provider  # who sets it says that the server takes it
    return [OpenAICompatible(name, *server, _find_price(settings, name), *more) for name in names]


def _find_price(settings: Settings, model: str) -> Price | None:
    return find_price(load_prices(settings.prices_file), model, utc_today())


def _make_extractive(_: Settings, names: Sequence[str]) -> list[Model]:
    from agent.llm.extractive.backend import Extractive

    return [Extractive() for _ in names[:1]]


def answer_extractively(task: Task[AnswerT]) -> Reply[AnswerT]:
    """The fallback where no model answers: sentences quoted from the evidence."""
    from agent.llm.extractive.backend import Extractive

    return ModelChain([Extractive()], timeout=60.0, retry_waits=())(task)


#: Providers by the name that the setting `llm` has for them. Each function makes models of a
#: provider, by their names.
MODEL_PROVIDERS: dict[str, ModelMaker] = {
    "gemini": _make_gemini,
    "openai": _make_openai,
    "anthropic": _make_anthropic,
    "extractive": _make_extractive,
}
