"""What `.env` may not set: it comes with a folder, and may be anybody's."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from agent.errors import NotConfigured
from agent.settings.fields import Settings
from agent.settings.services import BASE_URLS, KEY_VARIABLES, MODEL_KEY_VARIABLES
from agent.settings.variable_names import KNOWN_VARIABLES
from agent.settings.variables import Variable, user_file

#: What the author of `.env` would gain, and by which settings: see `RISKS`.
_GAINS = {
    "gets the key and the prompts": "gemini_base_url openai_base_url anthropic_base_url",
    "get their keys and the prompts": "openai_servers",
    "sends the prompts to a project of Google Cloud": "use_vertexai",
    "gets the prompts": "google_cloud_project",
    "carries the requests": "HTTP_PROXY HTTPS_PROXY ALL_PROXY",
    "leads requests past a proxy": "NO_PROXY",
    "decides which servers are believed": (
        "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"
    ),
    "lets private pages into prompts": "allow_private_network fetch_through_proxy",
    "gets what is searched and read, and may replace it": "cache_dir",
    "gets the journals": "runs_dir",
    "is read, and decides what a cap in dollars allows": "prices_file",
    "lets other sites ask the server": "api_hosts",
    "lets its author ask the server": "api_token",
    "lets others store files": "api_documents",
}
#: What `.env` may not set together with a key of the user, and what its author would gain. Harmless
#: are the default, journals inside the folder, and an address whose own key is in `.env` too. A
#: cache or a file of prices inside the folder is not: its author may have filled it.
RISKS = {name: gain for gain, names in _GAINS.items() for name in names.split()}
RISKS |= {f"base_urls.{service}": "gets the queries" for service in BASE_URLS}
RISKS |= {f"base_urls.{service}": "gets the key and the queries" for service in KEY_VARIABLES}
RISKS |= {"base_urls.archive": "gets the addresses of pages, and may replace them"}
#: Those of `RISKS` that matter offline: nothing else is used then.
OFFLINE_RISKS = set("runs_dir cache_dir prices_file api_hosts api_token api_documents".split())
#: The variables with keys that a run sends.
_SENT_KEYS = {*MODEL_KEY_VARIABLES, *KEY_VARIABLES.values(), "SERPER_KEY_ID"}
_SENT_KEYS |= {"OPENAI_SERVER_KEYS", "GOOGLE_GENAI_USE_VERTEXAI"}


def find_user_keys(variables: Mapping[str, Variable], settings: Settings) -> list[str]:
    """The variables of the shell and of the user's file that hold keys which a run sends.

    That Vertex AI is used counts: the key is then where Google's libraries find it.
    """
    services = {name.lower().partition("_")[0] for name in settings.search}
    redirects = variables.get("GITHUB_BASE_URL", Variable("", "shell")).origin == "folder"
    # in many a shell it is for other programs
    is_sent = redirects or not services.isdisjoint(("code", "github"))
    unsent = set() if is_sent else {KEY_VARIABLES["github"]}
    return [
        name
        for name, (value, origin) in variables.items()
        if origin != "folder" and value.strip() and name in _SENT_KEYS - unsent
    ]


def find_risks(variables: Mapping[str, Variable], settings: Settings, folder: Path) -> list[str]:
    """The variables of `.env` by which its author could gain something: see `RISKS`."""
    fields = {
        name: KNOWN_VARIABLES[name]
        for name, variable in variables.items()
        if variable.origin == "folder"
    }
    return [
        name
        for name, field in fields.items()
        if field in (OFFLINE_RISKS if settings.offline else RISKS)
        and not _is_with_its_key(field, fields.values())
        and not _is_harmless(field, settings, folder)
    ]


def _is_with_its_key(field: str, fields: Collection[str]) -> bool:
    key = field.replace("base_urls.", "keys.").replace("_base_url", "_api_key")
    return key != field and key in fields


def _is_harmless(field: str, settings: Settings, folder: Path) -> bool:
    """Whether the value of a setting is the default, or a folder for journals inside the folder."""
    _, _, service = field.partition(".")
    if service:
        return settings.base_url(service) == BASE_URLS[service]
    if field not in Settings.model_fields:
        return False
    value = getattr(settings, field)
    if field == "runs_dir" and value:  # symbolic links resolved
        return Path(os.path.realpath(folder / value)).is_relative_to(os.path.realpath(folder))
    return bool(value == Settings.model_fields[field].default)


def build_refusal(risks: list[str], keys: list[str]) -> NotConfigured:
    gains = ", ".join(f"{name} ({RISKS[KNOWN_VARIABLES[name]]})" for name in risks)
    return NotConfigured(
        f".env of this folder sets {gains} beside a key from elsewhere: {', '.join(keys)}.",
        "If this file is yours, give --trust-env, or set RESEARCH_AGENT_TRUST_ENV=1 in the shell; "
        f"or keep the keys and these lines together, in .env alone or in {user_file()}.",
    )
