"""The examples for other frameworks, each with the real one where it is installed."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTION = "Who won the 2022 FIFA World Cup?"


def load(name: str, framework: str) -> Any:
    """The module of an example; skips where its framework is not installed."""
    pytest.importorskip(framework)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_langchain_calls_it(tmp_path: Path) -> None:
    tool = load("langchain_tool", "langchain_core").make_tool(offline=True, runs_dir=tmp_path)
    assert tool.name == "research_question" and "quote" in tool.description
    call = {"name": tool.name, "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message = tool.invoke(call)
    assert message.content.startswith("(complete) Argentina won")
    assert message.artifact["citations"][0]["quote"] in message.content


@pytest.mark.slow
def test_llama_index_calls_it(tmp_path: Path) -> None:
    tool = load("llama_index_tool", "llama_index.core").make_tool(offline=True, runs_dir=tmp_path)
    assert tool.metadata.name == "research_question"
    for output in (tool.call(question=QUESTION), asyncio.run(tool.acall(question=QUESTION))):
        assert str(output).startswith("(complete) Argentina won") and not output.is_error


@pytest.mark.slow
def test_pydantic_ai_calls_it(tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def think(messages: list[Any], info: AgentInfo) -> ModelResponse:
        """Call the tool once, then say what it returned."""
        returned = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
        if returned:
            return ModelResponse(parts=[TextPart(returned[0].content["answer"])])
        [tool] = info.function_tools
        return ModelResponse(parts=[ToolCallPart(tool.name, {"question": QUESTION})])

    tool = load("pydantic_ai_tool", "pydantic_ai").make_tool(offline=True, runs_dir=tmp_path)
    told = Agent(FunctionModel(think), tools=[tool]).run_sync(QUESTION)
    assert told.output.startswith("Argentina won")
