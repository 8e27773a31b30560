"""The services that are reached over HTTP: where each is, and the variable of its key."""

from __future__ import annotations

#: Search services, and what reads for them -> where they are. Empty: Wikipedia is that of the
#: topic's language, and a SearXNG is somebody's own.
BASE_URLS = {
    "serpapi": "https://serpapi.com",
    "exa": "https://api.exa.ai",
    "tavily": "https://api.tavily.com",
    "serper": "https://google.serper.dev",
    "wikipedia": "",
    "searxng": "",
    "brave": "https://api.search.brave.com",
    "crossref": "https://api.crossref.org",
    "europepmc": "https://www.ebi.ac.uk/europepmc/webservices/rest",
    "arxiv": "https://export.arxiv.org/api",
    "unpaywall": "https://api.unpaywall.org/v2",
    "openalex": "https://api.openalex.org",
    "semantic_scholar": "https://api.semanticscholar.org/graph/v1",
    "github": "https://api.github.com",
    "pypi": "https://pypi.org",
    "npm": "https://registry.npmjs.org",
    "crates": "https://crates.io",
    "wolfram": "https://www.wolframalpha.com",
    "archive": "https://archive.org",
}
#: The variables of their keys.
KEY_VARIABLES = {
    "serpapi": "SERPAPI_API_KEY",
    "exa": "EXA_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "serper": "SERPER_API_KEY",
    "brave": "BRAVE_API_KEY",
    "openalex": "OPENALEX_API_KEY",
    "semantic_scholar": "SEMANTIC_SCHOLAR_API_KEY",
    "github": "GITHUB_TOKEN",
    "wolfram": "WOLFRAM_APP_ID",
}
MODEL_KEY_VARIABLES = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def url_variable(service: str) -> str:
    """The variable that names another place for a service."""
    return "SEARXNG_URL" if service == "searxng" else f"{service.upper()}_BASE_URL"
