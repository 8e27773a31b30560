"""A scripted model for any program: it answers from the text in its prompt.

It understands two kinds of sentences (who founded a firm, where somebody was born) anywhere in a
conversation, and knows from a question which of them it needs. The form of a request tells which
kind of answer is expected: a JSON schema, tools, or the wording of the prompt.
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


class Knowledge(NamedTuple):
    """What a text says about a question."""

    facts: dict[str, tuple[str, str]]  # slot -> value and the sentence that states it
    next_query: str  # for the first missing fact; empty: none is missing


def extract_knowledge(question: str, text: str) -> Knowledge:
    """Find the facts that a question needs in a text, and the query for the first missing one."""
    company = re.search(r"[A-Z]\w+ (?:Works|Labs)", question)
    facts: dict[str, tuple[str, str]] = {}
    if company:
        founder = re.search(rf"{company[0]} was founded by ({NAME})\.", text)
        if not founder:
            return Knowledge(facts, f"Who founded {company[0]}?")
        facts["founder"] = founder[1], founder[0]
    person = facts["founder"][0] if facts else _find_person(question)
    for slot, words, pattern in (
        ("city", "born", rf"{person} was born in (\w+)\."),
        ("shoe_size", "shoe size", rf"{person} has shoe size (\d+)\."),
    ):
        if person and words in question:
            if not (fact := re.search(pattern, text)):
                return Knowledge(facts, f"{person} {words}")
            facts[slot] = fact[1], fact[0]
    return Knowledge(facts, "")


def _find_person(question: str) -> str:
    named = re.search(rf"({NAME}) (?:born|shoe size)|was ({NAME}) born", question)
    return (named[1] or named[2]) if named else ""


def needed_slots(question: str) -> list[str]:
    """The slots that an answer to a question needs."""
    words = {"founder": "found", "city": "born", "shoe_size": "shoe size"}
    return [slot for slot, word in words.items() if word in question]


def answer_chat(body: dict[str, Any]) -> dict[str, Any]:
    """The message that answers a request for a chat completion."""
    text = "\n".join(_message_text(message) for message in body["messages"])
    if body.get("tools"):
        return _choose_tool_call(body["messages"], text)
    schema = (body.get("response_format") or {}).get("json_schema")
    return _make_message(_answer_task(schema, text) if schema else _answer_prompt(text))


def _make_message(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def _message_text(message: dict[str, Any]) -> str:
    """The text of a message, and the arguments of its tool calls."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or []]
    return "\n".join([content, *calls])


# --- answers of a JSON schema: this program ------------------------------------------------------


def _answer_task(asked: dict[str, Any], text: str) -> str:
    """The reply to a schema: `reflect` may ask for the answer beside the slots."""
    task, text = asked["name"], html.unescape(text)
    question = _last_match(r"<topic[^>]*>(.*?)</topic>", text)
    sources = dict(re.findall(r'<source id="(\d+)"[^>]*>(.*?)</source>', text, re.S))
    if task == "verify":
        return json.dumps({"verdicts": _make_verdicts(text, sources)})
    knowledge = extract_knowledge(question, "\n".join(sources.values()))
    if task == "generate_queries":
        named = [{"name": name, "description": f"the {name}"} for name in needed_slots(question)]
        return json.dumps({"queries": [question, knowledge.next_query], "slots": named})
    cited = {
        slot: _find_source(sentence, sources) for slot, (_, sentence) in knowledge.facts.items()
    }
    quotes = [{"source": cited[slot], "quote": said} for slot, (_, said) in knowledge.facts.items()]
    said = " ".join(f"{said[:-1]} [{cited[slot]}]." for slot, (_, said) in knowledge.facts.items())
    reply = {"answerable": True, "answer": "" if knowledge.next_query else said}
    reply |= {"citations": quotes, **_make_reflection(question, knowledge, cited)}
    return json.dumps({field: reply[field] for field in asked["schema"]["properties"]})


def _last_match(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.S)
    return str(found[-1]) if found else ""


def _find_source(sentence: str, sources: dict[str, str]) -> int:
    return next((int(n) for n, text in sources.items() if sentence in text), 0)


def _make_reflection(question: str, knowledge: Knowledge, cited: dict[str, int]) -> dict[str, Any]:
    rows = []
    for slot in needed_slots(question):
        value, quote = knowledge.facts.get(slot, (None, ""))
        rows.append({"name": slot, "value": value, "source": cited.get(slot), "quote": quote})
    queries = [knowledge.next_query] if knowledge.next_query else []
    return {"slots": rows, "need_more": bool(queries), "new_queries": queries}


def _make_verdicts(text: str, sources: dict[str, str]) -> list[dict[str, Any]]:
    """The verdict of each claim: supported if a source that it cites contains its words."""
    verdicts = []
    for n, cites, claim in re.findall(r'<claim id="(\d+)" cites="([\d,]*)">(.*?)</claim>', text):
        words = re.sub(r" ?\[\d+\]", "", claim).rstrip(".")
        at = [c for c in cites.split(",") if words in sources.get(c, "")]
        verdict = "supported" if at else "unsupported"
        verdicts.append({"claim": int(n), "verdict": verdict, "source": int(at[0]) if at else None})
    return verdicts


# --- calls of tools: smolagents ------------------------------------------------------------------


def _choose_tool_call(messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """Search for a missing fact, visit a page that was found for it, or give the final answer."""
    question = _last_match(r"New task:\n(.*)", text).split("\n")[0]
    seen_text = "\n".join(_message_text(message) for message in messages[2:])
    knowledge = extract_knowledge(question, seen_text)
    if not knowledge.next_query:
        return _make_tool_call(
            "final_answer", {"answer": _join_with_addresses(knowledge, seen_text)}
        )
    if knowledge.next_query not in seen_text:
        return _make_tool_call("web_search", {"query": knowledge.next_query})
    name = _last_match(rf"({NAME})", knowledge.next_query)
    hits = re.findall(r"\[([^]]*)\]\((http[^)]*)\)", seen_text)
    visited = re.findall(r"""['"]url['"]: ['"]([^'"]+)""", seen_text)
    visits = [url for title, url in hits if name in title and url not in visited]
    if visits:
        return _make_tool_call("visit_webpage", {"url": visits[0]})
    return _make_tool_call("final_answer", {"answer": UNKNOWN})


def _make_tool_call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {
        "id": f"call_{crc32(function['arguments'].encode())}",
        "type": "function",
        "function": function,
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _join_with_addresses(knowledge: Knowledge, shown: str) -> str:
    """The sentences of an answer, each with the URL of its source."""
    return " ".join(_with_address(sentence, shown) for _, sentence in knowledge.facts.values())


def _with_address(sentence: str, shown: str) -> str:
    """A sentence with the URL of its source: the one named after it, or the last one before it."""
    named = re.search(re.escape(sentence) + r" \[Source: (\S+?)\]", shown)
    before = re.findall(r"https?://[^\s\]\")>,'\\]+", shown[: shown.index(sentence)])
    address = named[1] if named else (before or [""])[-1]
    return f"{sentence} ([source]({address}))" if address else sentence


# --- words of a prompt: gpt-researcher -----------------------------------------------------------


def _answer_prompt(text: str) -> str:
    if "agent_role_prompt" in text:
        return json.dumps({"server": "Agent", "agent_role_prompt": "You are a research assistant."})
    for pattern, answer in PROMPTS.items():
        if asked := re.search(pattern, text, re.S):
            return answer(asked[1], text)
    return UNKNOWN


def _answer_queries(task: str, text: str) -> str:
    return json.dumps([extract_knowledge(task, text).next_query or task, task])


def _answer_goals(prompt: str, _: str) -> str:
    follow = re.search(rf"Where was {NAME} born\?", prompt)
    wanted = follow[0] if follow else extract_knowledge(prompt, "").next_query
    return "\n".join(f"Query: {one}\nGoal: {one}" for one in (wanted, _question_line(prompt)))


def _answer_question(query: str, text: str) -> str:
    return f"Question: {extract_knowledge(query, text).next_query or query}"


def _question_line(text: str) -> str:
    """The line of a prompt that has the question."""
    asked = re.search(r"[^\n:]*(?:Works|Labs)[^\n?]*\?", text)
    return asked[0].strip() if asked else text.strip().split("\n")[0]


def _answer_learnings(query: str, text: str) -> str:
    """The facts in a text about a query, and a question about each person that they name."""
    about = re.search(rf"[A-Z]\w+ (?:Works|Labs)|{NAME}(?= (?:born|shoe))", query)
    said = rf"{about[0] if about else NAME} (?:was founded by {NAME}|was born in \w+)\."
    found = list(dict.fromkeys(re.findall(said, text)))
    lines = [f"Learning [{_link_target(_with_address(one, text))}]: {one}" for one in found]
    people = [one.split("founded by ")[1].rstrip(".") for one in found if "founded by" in one]
    return "\n".join([*lines, *(f"Question: Where was {name} born?" for name in people)])


def _link_target(cited: str) -> str:
    linked = re.search(r"\]\((\S+)\)\)$", cited)
    return linked[1] if linked else ""


def _answer_report(question: str, text: str) -> str:
    shown = re.split(r"\n---\nUsing the above|\nWrite a comprehensive research report", text)[0]
    knowledge = extract_knowledge(question, shown)
    body = UNKNOWN if knowledge.next_query else _join_with_addresses(knowledge, shown)
    return f"# {question}\n\n{body}\n"


#: Pattern of a prompt -> function that answers it, given the task in the prompt and all of it.
PROMPTS: dict[str, Callable[[str, str], str]] = {
    r'search queries to research the following task: "(.*?)"\n': _answer_queries,
    r"Given the following prompt, generate \d+ unique .*? pair: (.*)": _answer_goals,
    r"Original query: (.*?)\n": _answer_question,
    r"research results for the query '(.*?)', extract": _answer_learnings,
    r'answer the following query or task: "(.*?)" in a': _answer_report,
    r'research report answering the query: "(.*?)"\n': _answer_report,
}
