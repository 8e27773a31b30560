"""Research as a tool of Pydantic AI: `pip install pydantic-ai`, then `Agent(tools=[tool])`."""

from typing import Any

from pydantic_ai import ModelRetry, Tool

from agent import aresearch
from agent.errors import UsageError


def make_tool(**settings: Any) -> Tool[Any]:
    """Make the tool. The model sees the answer, how far to trust it, and the quotes."""

    async def research_question(question: str) -> dict[str, Any]:
        """Research a question on the web; each statement has a quote of a page that was read."""
        try:
            answer = await aresearch(question, **settings)
        except UsageError as error:  # a question that cannot be asked: the model may mend it
            raise ModelRetry(f"{error.message} {error.remedy}") from None
        return answer.model_dump(mode="json", include={"status", "answer", "citations", "slots"})

    return Tool(research_question, takes_ctx=False)
