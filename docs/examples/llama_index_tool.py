"""Research as a tool of LlamaIndex: `pip install llama-index-core`, then give it to an agent."""

from typing import Any

from llama_index.core.tools import FunctionTool

from agent import research


def make_tool(**settings: Any) -> FunctionTool:
    """Make the tool. The model sees the text with its quotes."""

    def research_question(question: str) -> str:
        """Research a question on the web; each statement has a quote of a page that was read."""
        answer = research(question, **settings).answer()
        quotes = (f"[{one.id}] {one.url}: {one.quote}" for one in answer.citations)
        return "\n".join([f"({answer.status}) {answer.answer}", *quotes])

    return FunctionTool.from_defaults(fn=research_question)
