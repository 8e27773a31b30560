"""Asks a smolagents ToolCallingAgent one question; runs in its own environment. The last line
is JSON. Its search tool is pointed at a search in Brave's form, with no rate limit.

usage: smolagents_run.py QUESTION
"""

import json
import os
import sys
import time

from smolagents import ApiWebSearchTool, OpenAIServerModel, ToolCallingAgent, VisitWebpageTool

begun = time.monotonic()
model = OpenAIServerModel(
    "scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
)
search = ApiWebSearchTool(os.environ["BRAVE_ENDPOINT"], api_key="key", rate_limit=None)
agent = ToolCallingAgent([search, VisitWebpageTool()], model, verbosity_level=0)
answer = agent.run(sys.argv[1])
print(json.dumps({"answer": str(answer), "seconds": time.monotonic() - begun}))
