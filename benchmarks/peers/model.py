"""A scripted model that any program can be pointed at: it answers from what it is shown.

It reads two kinds of sentences (who founded a firm, where somebody was born) wherever in a
conversation they stand, and knows from a question which of them it needs. What it is asked for
is told by the form of the request: a JSON schema, tools, or the words of the prompt.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

NAME = r"[A-Z]\w+ [A-Z]\w+"
UNKNOWN = "The sources do not say it."


class Known(NamedTuple):
    """The slots of a question with the sentences that fill them, and what to search for next."""

    found: dict[str, tuple[str, str]]  # slot -> value, sentence
    missing: str  # a query; empty where nothing is missing


def known(question: str, shown: str) -> Known:
    """What a text says of a question."""
    company = re.search(r"[A-Z]\w+ (?:Works|Labs)", question)
    found: dict[str, tuple[str, str]] = {}
    if company:
        founder = re.search(rf"{company[0]} was founded by ({NAME})\.", shown)
        if not founder:
            return Known(found, f"Who founded {company[0]}?")
        found["founder"] = founder[1], founder[0]
    person = found["founder"][0] if found else _somebody(question)
    for slot, asked, said in (
        ("city", "born", rf"{person} was born in (\w+)\."),
        ("shoe_size", "shoe size", rf"{person} has shoe size (\d+)\."),
    ):
        if person and asked in question:
            if not (fact := re.search(said, shown)):
                return Known(found, f"{person} {asked}")
            found[slot] = fact[1], fact[0]
    return Known(found, "")


def _somebody(question: str) -> str:
    named = re.search(rf"({NAME}) (?:born|shoe size)|was ({NAME}) born", question)
    return (named[1] or named[2]) if named else ""


def slots(question: str) -> list[str]:
    """The facts that a question needs."""
    named = ["founder"] if re.search(r"found", question) else []
    more = {"city": "born", "shoe_size": "shoe size"}
    return named + [slot for slot, word in more.items() if word in question]


def reply(body: dict[str, Any]) -> dict[str, Any]:
    """The message that answers a request for a chat completion."""
    text = "\n".join(_said(message) for message in body["messages"])
    if body.get("tools"):
        return _act(body["messages"], text)
    schema = (body.get("response_format") or {}).get("json_schema")
    return _message(_typed(schema["name"], text) if schema else _worded(text))


def _message(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def _said(message: dict[str, Any]) -> str:
    """The words of a message, and the arguments of its calls."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or []]
    return "\n".join([content, *calls])


# --- answers of a JSON schema: this program ------------------------------------------------------


def _typed(task: str, text: str) -> str:
    text = html.unescape(text)
    question = _last(r"<topic>(.*?)</topic>", text)
    sources = dict(re.findall(r'<source id="(\d+)"[^>]*>(.*?)</source>', text, re.S))
    if task == "verify":
        return json.dumps({"verdicts": _verdicts(text, sources)})
    now = known(question, "\n".join(sources.values()))
    if task == "generate_queries":
        named = [{"name": name, "description": f"the {name}"} for name in slots(question)]
        return json.dumps({"queries": [question, now.missing], "slots": named})
    cited = {slot: _source(sentence, sources) for slot, (_, sentence) in now.found.items()}
    if task == "reflect":
        return json.dumps(_coverage(question, now, cited))
    quotes = [{"source": cited[slot], "quote": said} for slot, (_, said) in now.found.items()]
    said = " ".join(f"{said[:-1]} [{cited[slot]}]." for slot, (_, said) in now.found.items())
    return json.dumps({"answer": "" if now.missing else said, "citations": quotes})


def _last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.S)
    return str(found[-1]) if found else ""


def _source(sentence: str, sources: dict[str, str]) -> int:
    return next((int(n) for n, text in sources.items() if sentence in text), 0)


def _coverage(question: str, now: Known, cited: dict[str, int]) -> dict[str, Any]:
    rows = []
    for slot in slots(question):
        value, quote = now.found.get(slot, (None, ""))
        rows.append({"name": slot, "value": value, "source": cited.get(slot), "quote": quote})
    queries = [now.missing] if now.missing else []
    return {"slots": rows, "need_more": bool(queries), "new_queries": queries}


def _verdicts(text: str, sources: dict[str, str]) -> list[dict[str, Any]]:
    """A claim holds if its words stand in a source that it cites."""
    made = []
    for n, cites, claim in re.findall(r'<claim id="(\d+)" cites="([\d,]*)">(.*?)</claim>', text):
        words = re.sub(r" ?\[\d+\]", "", claim).rstrip(".")
        at = [c for c in cites.split(",") if words in sources.get(c, "")]
        verdict = "supported" if at else "unsupported"
        made.append({"claim": int(n), "verdict": verdict, "source": int(at[0]) if at else None})
    return made


# --- calls of tools: smolagents ------------------------------------------------------------------


def _act(messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """Search for what is missing, visit what was found for it, answer when nothing is missing."""
    question = _last(r"New task:\n(.*)", text).split("\n")[0]
    told = "\n".join(_said(message) for message in messages[2:])
    now = known(question, told)
    if not now.missing:
        return _call("final_answer", {"answer": _cited(now, told)})
    if now.missing not in told:
        return _call("web_search", {"query": now.missing})
    name = _last(rf"({NAME})", now.missing)
    hits = re.findall(r"\[([^]]*)\]\((http[^)]*)\)", told)
    visited = re.findall(r"""['"]url['"]: ['"]([^'"]+)""", told)
    visits = [url for title, url in hits if name in title and url not in visited]
    if visits:
        return _call("visit_webpage", {"url": visits[0]})
    return _call("final_answer", {"answer": UNKNOWN})


def _call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    made = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{crc32(made['arguments'].encode())}", "type": "function", "function": made}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _cited(now: Known, shown: str) -> str:
    """The sentences of an answer, each with the last address shown before it."""
    return " ".join(_with_address(sentence, shown) for _, sentence in now.found.values())


def _with_address(sentence: str, shown: str) -> str:
    """A sentence with its source: named after it, else the last address before it."""
    named = re.search(re.escape(sentence) + r" \[Source: (\S+?)\]", shown)
    before = re.findall(r"https?://[^\s\]\")>,'\\]+", shown[: shown.index(sentence)])
    address = named[1] if named else (before or [""])[-1]
    return f"{sentence} ([source]({address}))" if address else sentence


# --- words of a prompt: gpt-researcher -----------------------------------------------------------


def _worded(text: str) -> str:
    if "agent_role_prompt" in text:
        return json.dumps({"server": "Agent", "agent_role_prompt": "You are a research assistant."})
    for pattern, answer in PROMPTS.items():
        if asked := re.search(pattern, text, re.S):
            return answer(asked[1], text)
    return UNKNOWN


def _queries(task: str, text: str) -> str:
    return json.dumps([known(task, text).missing or task, task])


def _goals(prompt: str, _: str) -> str:
    follow = re.search(rf"Where was {NAME} born\?", prompt)
    wanted = follow[0] if follow else known(prompt, "").missing
    return "\n".join(f"Query: {one}\nGoal: {one}" for one in (wanted, _line(prompt)))


def _question(query: str, text: str) -> str:
    return f"Question: {known(query, text).missing or query}"


def _line(text: str) -> str:
    """The line that holds the question, of a prompt that was made of several."""
    asked = re.search(r"[^\n:]*(?:Works|Labs)[^\n?]*\?", text)
    return asked[0].strip() if asked else text.strip().split("\n")[0]


def _learned(query: str, text: str) -> str:
    """What was learned for a query, and what to ask next of whom it names."""
    about = re.search(rf"[A-Z]\w+ (?:Works|Labs)|{NAME}(?= (?:born|shoe))", query)
    said = rf"{about[0] if about else NAME} (?:was founded by {NAME}|was born in \w+)\."
    found = list(dict.fromkeys(re.findall(said, text)))
    lines = [f"Learning [{_address(_with_address(one, text))}]: {one}" for one in found]
    people = [one.split("founded by ")[1].rstrip(".") for one in found if "founded by" in one]
    return "\n".join([*lines, *(f"Question: Where was {name} born?" for name in people)])


def _address(cited: str) -> str:
    linked = re.search(r"\]\((\S+)\)\)$", cited)
    return linked[1] if linked else ""


def _report(question: str, text: str) -> str:
    shown = re.split(r"\n---\nUsing the above|\nWrite a comprehensive research report", text)[0]
    now = known(question, shown)
    return f"# {question}\n\n{UNKNOWN if now.missing else _cited(now, shown)}\n"


#: What a prompt says -> what answers it, given the task that it names and the whole prompt.
PROMPTS: dict[str, Callable[[str, str], str]] = {
    r'search queries to research the following task: "(.*?)"\n': _queries,
    r"Given the following prompt, generate \d+ unique .*? pair: (.*)": _goals,
    r"Original query: (.*?)\n": _question,
    r"research results for the query '(.*?)', extract": _learned,
    r'answer the following query or task: "(.*?)" in a': _report,
    r'research report answering the query: "(.*?)"\n': _report,
}
