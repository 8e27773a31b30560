"""What is fuzzed: name -> where its target is. Each is loaded in a process of its own."""

from __future__ import annotations

_BY_MODULE = {
    "fuzz.pages": "html css pdf feed charset markdown plain robots",
    "fuzz.texts": "urls addresses text markers draft claims values retry_after sanitizing replies",
    "fuzz.files": "journal trace answer schema pattern variables topics table questions rows",
    "fuzz.services": (
        "serpapi exa tavily serper searxng wikipedia duckduckgo google "
        "anthropic anthropic_tools openai openai_tools gemini "
        "gemini_tools http"
    ),
}
TARGETS = {
    name: f"{module}:{name}" for module, names in _BY_MODULE.items() for name in names.split()
}
