"""Which strategy fits a question, by rules that can be said in a sentence: `--strategy auto`.

English and Chinese. Two relations are a chain: the answer to one is what the other asks about. How
often these rules send the questions of public sets where they belong: `python -m evals.multihop`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from agent.evidence import words


class Choice(NamedTuple):
    """A strategy, and why it was chosen, in words for the user."""

    strategy: str
    reason: str


_BROAD = re.compile(
    r"^(?:(?:please|can you|could you|give|write|provide|prepare|me|us|an?|the)\s+)*"
    r"(?:overview|survey|report|summar(?:y|i[sz]e)|compare|comparison|contrast|explain|describe|"
    r"discuss|analy[sz]e|analysis|assess|evaluate|review|explore|investigate|outline|research|why|"
    r"pros and cons|(?:what (?:is|was) the )?history of|tell (?:me|us) (?:all |more )?about|"
    r"should (?:i|we|one)|what (?:is known|do we know) about|how ha(?:s|ve))\b"
    r"|^(?!who|whom|when|where|what|which|how)\b.*\b(?:vs\.?|versus)(?!\w)"
    r"|^(?:is|are|does|do|can)\b.*\b(?:good|bad|worth|safe|harmful|effective)\b"
    r"|\b(?:latest|recent|current|new) (?:advances|developments|findings|progress|trends)\b"
    r"|\bstate of (?:the )?(?:art|research|play|knowledge|\w+ (?:research|market|technology))\b"
    r"|^how (?:do|does|did|is|are|has|have|can|could|should|might|will)\b.*"
    r"\b(?:differ|compare|affect|influence|impact|shape|chang\w+|evolv\w+|work|develop\w*)\b"
    r"|\b(?:advantages|disadvantages|pros and cons|implications|trade-?offs|trends|impacts?|"
    r"effects?|causes|consequences|challenges|differences?) (?:of|in|on|for|between)\b"
    r"|概述|综述|概况|比较|对比|分析|为什么|为何|现状|趋势|影响|优缺点|利弊|区别|有何不同|介绍|总结|如何(?:影响|改变|发展|评价)"
    r"|(?:写|份|做).*报告|进展|前景|应用(?!程序|商店|软件)|的(?:历史|原因|挑战|意义)|值得|应该",
    re.I,
)
_EITHER = re.compile(
    r"\b(?:which|who|what|did|do|does|is|are|was|were|have|has)\b.*"
    r" .{2,80}\bor\b.{2,}"
    r"|\b(?:both|same|also)\b.*\band\b|\band\b.*\b(?:both|the same|in common|each)\b"
    r"|(?:还是|哪个更|谁更|都是|同一)",
    re.I,
)
#: What ties one thing to another: "the director of", "whose", "that was written by", "'s father".
_MADE = (
    "direct|writ|wrot|found|produc|creat|compos|perform|star|play|publish|releas|own|design|locat|"
    "bas|form|born|situat|serv|belong|nam|cover|record|featur|develop"
)
_WORK = "film|song|movie|album|book|novel"
_LINK = re.compile(
    rf"\b\w+ (?=of (?:{_WORK})\b)"
    rf"|['’]s?\s(?=\w)|\bof (?:the|an?|his|her|its|{_WORK}|[A-Z\d\"“])|\b(?:whose|whom)\b"
    r"|(?<=\w )(?:that|which|who|where|in which|for which)\b(?! (?:is|are|was|were) the\b)"
    rf"|\b(?:{_MADE})\w* (?:by|in|at|for|from|with|to|as|on|after)\b"
    r"|\bin the (?:\w+ )?(?:city|country|state|county|town|place|year|province|district|region|"
    r"film|series|band|company|team)\b",
)
_ZH_LINK = re.compile(r"的|所在|出生于|位于|由|创立|导演|写的")
CHAIN = 2  # links from which on a question is a chain; a long question counts as one
LONG = 10  # content words; found, as the patterns were, on the tune half
ZH_CHAIN = 2


def choice(topic: str, strategies: Container[str], slots: bool = False) -> Choice:
    """The strategy for a question, among those that there are; `slots`: the caller named some."""
    if slots:
        return Choice("slots", "facts were asked for by name")
    if _BROAD.search(topic) and "report" in strategies:
        return Choice("report", "it asks for an overview, a comparison or reasons")
    if _chained(topic):
        return Choice("loop", "one fact must be found to look for the next")
    if _EITHER.search(topic):
        return Choice("loop", "several things must be looked up and held against each other")
    return Choice("slots", "it asks for facts that a page can state")


def _chained(topic: str) -> bool:
    if re.search("[\u4e00-\u9fff]", topic):
        return len(_ZH_LINK.findall(topic)) >= ZH_CHAIN
    return len(_LINK.findall(topic)) + (len(words(topic)) >= LONG) >= CHAIN
