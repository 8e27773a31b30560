"""Environment variables: the one name of each setting, and what replaces names that are gone."""

from __future__ import annotations

from difflib import get_close_matches

from agent.settings.fields import TASK_KINDS, Settings
from agent.settings.services import BASE_URLS, KEY_VARIABLES, url_variable

OWN_PREFIX = "RESEARCH_AGENT_"
#: Fields that a caller alone sets. Each other one has a variable.
CALLER_FIELDS = frozenset(
    "since allow_domains block_domains mcp corpus strategy depth offline slots "
    "slots_schema plan report_words max_citations reader max_rounds max_words max_steps patience "
    "lang verify on_unsupported cache trust_env effort base_urls keys".split()
)
#: Fields whose variables have no prefix, since other programs and people know them.
_PLAIN_FIELDS = frozenset(
    "gemini_api_key gemini_model gemini_fallback_models google_cloud_project "
    "google_cloud_location openai_api_key openai_base_url openai_model openai_servers "
    "openai_server_keys anthropic_api_key anthropic_base_url anthropic_model scholar_contact "
    "allow_private_network fetch_through_proxy runs_dir cache_dir cache_ttl llm_timeout "
    "llm_retry_waits max_iterations".split()
)
_OTHER_NAMES = {
    "gemini_base_url": "GOOGLE_GEMINI_BASE_URL",
    "gemini_api_version": "GOOGLE_GENAI_API_VERSION",
    "use_vertexai": "GOOGLE_GENAI_USE_VERTEXAI",
    "thinking": f"{OWN_PREFIX}LLM_THINKING",
    "search": "SEARCH_PROVIDERS",
}


def variable_of(field: str) -> str:
    """The variable that sets a field."""
    plain = field.upper() if field in _PLAIN_FIELDS else OWN_PREFIX + field.upper()
    return _OTHER_NAMES.get(field, plain)


#: The field that each variable sets; `base_urls.exa` is an entry of one. A list is written with
#: commas. Of two names of one thing the last that is set counts.
ENVIRONMENT = {
    **{variable_of(field): field for field in Settings.model_fields if field not in CALLER_FIELDS},
    **{url_variable(service): f"base_urls.{service}" for service in BASE_URLS},
    "SERPER_KEY_ID": "keys.serper",
    **{variable: f"keys.{service}" for service, variable in KEY_VARIABLES.items()},
}
#: Variables that libraries read, by the name that requests and httpx2 know: proxies, certificates.
LIBRARY_VARIABLES = {
    **{name: name.upper() for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy")},
    **{name: name for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")},
    **{name: name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")},
    **{name: name for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")},
}
#: Variables that count in the shell alone: the user's word.
SHELL_VARIABLES = {f"{OWN_PREFIX}TRUST_ENV": "trust_env"}
#: Who may set a field that has a variable: the user alone (here: what they name is started), `.env`
#: of a folder unless a key of the user is there (`RISKS`), or that file too (`FREE_FIELDS`).
USER_FIELDS = {"mcp_servers", "page_browser_path", "trust_env"}
#: They choose among services of the user, are keys, or say how far to go; none names a place.
FREE_FIELDS = frozenset(
    "llm gemini_api_key gemini_model gemini_fallback_models gemini_api_version "
    "google_cloud_location anthropic_api_key anthropic_model openai_api_key openai_model "
    "openai_server_keys thinking llm_timeout llm_retry_waits search scholar_contact "
    "search_timeout page_timeout page_max_bytes respect_robots page_browser archive user_agent "
    "max_iterations credibility min_credibility verify_batch max_seconds max_usd max_tokens "
    "max_calls rate_limits rate_window cache_ttl webhook_secret api_max_runs api_max_queue "
    "api_log".split()
) | {f"keys.{service}" for service in KEY_VARIABLES}
#: Every variable that counts, and what it sets. Names for the same thing count as one.
KNOWN_VARIABLES = {**ENVIRONMENT, **LIBRARY_VARIABLES, **SHELL_VARIABLES}

#: Variables of earlier versions, without a prefix -> what replaces them; "": nothing does.
REMOVED = {
    "GOOGLE_API_KEY": "GEMINI_API_KEY",
    **{f"LLM_{kind.upper()}": f"{OWN_PREFIX}LLM={kind}=MODEL" for kind in TASK_KINDS},
    "CACHE_URL": "CACHE_DIR",
    "DOUBLE_CHECK": "--depth deep",
    "REPORT_TOKENS": "--depth deep",
    **dict.fromkeys("API_DOCUMENTS_MAX_BYTES API_DOCUMENTS_TTL API_LINGER".split(), ""),
    **dict.fromkeys("BROWSE_WITH_MODEL RUNS_SEARCH_BYTES SEARCH_PAGE_TEXT".split(), ""),
    "GOOGLE_MAX_QUERIES": f"{OWN_PREFIX}MAX_USD",
    **dict.fromkeys(("RUN_WEBHOOK", "SMTP_URL", "EMAIL_FROM"), "the command watch with --notify"),
    **dict.fromkeys(
        ("JINA_READER", "JINA_READER_BASE_URL", "JINA_API_KEY"), f"{OWN_PREFIX}ARCHIVE"
    ),
}


def find_replacement(name: str) -> str | None:
    """What replaces a variable that is ours and not known, "" for nothing; None for all others."""
    if name in KNOWN_VARIABLES:
        return None
    bare = name.removeprefix(OWN_PREFIX).removeprefix("AGENT_")
    for other in (OWN_PREFIX + bare, bare):
        if other in ENVIRONMENT:
            return other
    if bare in REMOVED and name in (bare, OWN_PREFIX + bare):
        return REMOVED[bare]
    if not name.startswith(OWN_PREFIX):
        return None
    names = {known.removeprefix(OWN_PREFIX): known for known in ENVIRONMENT}
    return next((names[near] for near in get_close_matches(bare, names, n=1, cutoff=0.75)), "")
