"""What an instruction changes of the search, without a model: days, sites, and its words.

Words are told by the tables of languages. A day or a site counts with a word beside it that says
what is wanted of it: after, only, without. What else an instruction says is searched for, unless it
leaves something out.
"""

from __future__ import annotations

import re
from typing import Any

from agent.evidence.language import Language, load_language
from agent.llm.extractive.queries import words_as_written
from agent.llm.extractive.question import parse_question
from agent.outside import Task

_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)(-\d\d-\d\d)?(?!\d)")
_SITE = re.compile(r"(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w-])", re.I)
MOST_WORDS = 6  # of a query, from the topic and from the instruction each


def read_wish(task: Task[Any]) -> dict[str, Any]:
    """The answer of the task `heed`; empty where rules do not understand the instruction."""
    text = str(getattr(task, "new", ""))
    question = parse_question(text)
    language = load_language(question.language)
    sites, since = _SITE.findall(text), _since(text, language)
    is_left_out = bool(language.wishes["without"].search(text))
    if sites and (is_left_out or language.wishes["only"].search(text)):
        return {"since": since, "without_sites" if is_left_out else "only_sites": sites}
    if since or is_left_out:
        return {"since": since}
    subject = words_as_written(parse_question(task.topic))
    words = question.surely_named or words_as_written(question)
    wanted = dict.fromkeys((*subject[:MOST_WORDS], *words[:MOST_WORDS]))
    return {"queries": [" ".join(wanted)]}


def _since(text: str, language: Language) -> str:
    """The day from which sources are wanted; "" where a text names none, or several."""
    days = _DAY.findall(text)
    if len(days) != 1:
        return ""
    [(year, day)] = days
    if language.wishes["later"].search(text):
        return year + day if day else f"{int(year) + 1}-01-01"
    return f"{year}{day or '-01-01'}" if language.wishes["since"].search(text) else ""
