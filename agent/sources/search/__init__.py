"""Search providers, and the chain that asks one after the other."""

from agent.sources.search.chain import PROVIDERS, Provider, SearchChain, build

__all__ = [
    "PROVIDERS",
    "Provider",
    "SearchChain",
    "build",
]
