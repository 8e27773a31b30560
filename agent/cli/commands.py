"""The commands: each is a file of this folder with a `command`, imported when it is called."""

from __future__ import annotations

ASK = "ask"  # researches what follows, whatever its first word
SUMMARIES = {
    "doctor": "Test the setup and say what to fix first.",
    "chat": "Ask question after question.",
    "search": "Only search: titles, addresses, snippets.",
    "check": "Check a report against the pages that it cites.",
    "read": "Show the text of a file or page as it is read.",
    "audit": "Verify an answer against its stored pages.",
    "runs": "List earlier runs; show, search, export, delete them.",
    "batch": "Answer every question in a file.",
    "table": "Find the same facts about many things.",
    "watch": "Ask again on a schedule; report what changed.",
    "evaluate": "Measure answers to questions with known answers.",
    "serve": "Start the web page and the HTTP API.",
    "mcp": "Start the MCP server.",
    ASK: "Research a question that begins with a command's name.",
}
