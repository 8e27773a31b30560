"""Models: their order, asking again, and one file for each provider."""

from agent.llm.chain import Generated, Model, Models

__all__ = [
    "Generated",
    "Model",
    "Models",
]
