"""The commands: each is a file of this folder with a `command`, imported when it is called."""

from __future__ import annotations

ASK = "ask"  # researches what follows, whatever its first word
SUMMARIES = {
    "doctor": "Say what is set, what answers, what to fix.",
    "chat": "Ask question after question, each following the last.",
    "check": "Check a report of anybody's against the pages that it cites.",
    "read": "Show what is read of a file or a page, and what is not.",
    "audit": "Check an answer against the pages that it cites.",
    "runs": "List, search, name, delete and export the runs of this machine.",
    "batch": "Research every question of a file.",
    "table": "Find the same facts of many things, each with its quote.",
    "watch": "Ask again on a schedule, and speak when the answer changed.",
    "evaluate": "Measure answers to questions with known answers.",
    "serve": "Serve the page and the API on this machine.",
    "mcp": "Serve research as a tool of other programs' models.",
    ASK: "Research a question that begins like a command.",
}
