"""Research as a tool of LangChain: `pip install langchain-core`, then give it to an agent."""

from typing import Any

from langchain_core.tools import StructuredTool

from agent import research


def make_tool(**settings: Any) -> StructuredTool:
    """Make the tool. The model sees the text with its quotes, your code the answer as artifact."""

    def research_question(question: str) -> tuple[str, dict[str, Any]]:
        """Research a question on the web; each statement has a quote of a page that was read."""
        answer = research(question, **settings).answer()
        quotes = (f"[{one.id}] {one.url}: {one.quote}" for one in answer.citations)
        return "\n".join([f"({answer.status}) {answer.answer}", *quotes]), answer.model_dump()

    return StructuredTool.from_function(
        research_question, response_format="content_and_artifact", handle_tool_error=True
    )
