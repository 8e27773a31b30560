"""Search providers, and the chain that asks one after the other."""

from agent.search.provider_chain import Provider, SearchChain
from agent.search.providers import PROVIDERS, build_search_chain

__all__ = ["PROVIDERS", "Provider", "SearchChain", "build_search_chain"]
