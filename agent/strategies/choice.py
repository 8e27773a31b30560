"""Which strategy fits a topic, by rules: `--strategy auto`.

The rules are patterns of English and Chinese questions. A broad question gets `report`. A chain of
relations, where the answer to one is what the next one asks about ("the director of the film that
..."), gets `loop`, and so does a comparison of facts. Everything else gets `slots`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from agent.evidence import CJK, content_words


class StrategyChoice(NamedTuple):
    """A strategy, and the reason for choosing it, shown to the user."""

    strategy: str
    reason: str
    is_research: bool = False  # works of research answer it


_BROAD_QUESTION = re.compile(
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
_FACT_COMPARISON = re.compile(
    r"\b(?:which|who|what|did|do|does|is|are|was|were|have|has)\b.*"
    r" .{2,80}\bor\b.{2,}"
    r"|\b(?:both|same|also)\b.*\band\b|\band\b.*\b(?:both|the same|in common|each)\b"
    r"|(?:还是|哪个更|谁更|都是|同一)",
    re.I,
)
#: A relation between two things: "the director of", "whose", "that was written by", "'s father".
_RELATION_VERBS = (
    "direct|writ|wrot|found|produc|creat|compos|perform|star|play|publish|releas|own|design|locat|"
    "bas|form|born|situat|serv|belong|nam|cover|record|featur|develop"
)
_WORKS = "film|song|movie|album|book|novel"
_RELATION = re.compile(
    rf"\b\w+ (?=of (?:{_WORKS})\b)"
    rf"|['’]s?\s(?=\w)|\bof (?:the|an?|his|her|its|{_WORKS}|[A-Z\d\"“])|\b(?:whose|whom)\b"
    r"|(?<=\w )(?:that|which|who|where|in which|for which)\b(?! (?:is|are|was|were) the\b)"
    rf"|\b(?:{_RELATION_VERBS})\w* (?:by|in|at|for|from|with|to|as|on|after)\b"
    r"|\bin the (?:\w+ )?(?:city|country|state|county|town|place|year|province|district|region|"
    r"film|series|band|company|team)\b",
)
_CHINESE_RELATION = re.compile(r"的|所在|出生于|位于|由|创立|导演|写的")
#: What only works of research answer. Chosen like the others.
_RESEARCH = re.compile(
    r"\b(?:meta-?analys[ei]s|systematic reviews?|peer.reviewed|preprints?|placebo|randomi[sz]ed|"
    r"in (?:mice|rats|vitro|vivo)|(?:clinical|controlled) (?:trials?|stud(?:y|ies))|cohort stud\w+|"
    r"(?:scientific|research|scholarly|medical) (?:literature|papers?|evidence|articles?)|"
    r"stud(?:y|ies) (?:show|find|found|suggest|say|on|of (?:the )?effects?)|efficacy of|"
    r"(?:evidence|research) (?:that|for|on|about|into|say\w*|show\w*)|literature (?:on|review)|"
    r"(?:papers|studies|trials) (?:on|about|of|that|have)|doi)\b"
    r"|^(?:do|does|did|can|is|are)\b.*\b(?:causes?|prevents?|improves?|treat|reduces?|increases?|harms?|"
    r"associated with|linked to)\b"
    r"|研究(?:表明|显示|证明|发现)|论文|文献|临床试验|荟萃分析|随机对照",
    re.I,
)
_CJK_CHARACTER = re.compile(f"[{CJK}]")
#: The least number of relations that make a chain. A long question counts as one more relation.
#: These three were chosen, like the patterns, on the half of the public sets kept for tuning.
MIN_RELATIONS = 2
MIN_CHINESE_RELATIONS = 2
LONG_QUESTION = 10  # content words


def strategy_for_topic(
    topic: str, strategies: Container[str], slots: bool = False
) -> StrategyChoice:
    """The strategy that fits a topic, out of `strategies`; `slots`: the caller named slots.

    For a question of research the bibliographic services are asked first.
    """
    choice = _choose(topic, strategies, slots)
    if not _RESEARCH.search(topic):
        return choice
    reason = f"{choice.reason}; it is one of research, so scholarly works are searched first"
    return StrategyChoice(choice.strategy, reason, is_research=True)


def _choose(topic: str, strategies: Container[str], slots: bool) -> StrategyChoice:
    if slots:
        return StrategyChoice("slots", "facts were asked for by name")
    if _BROAD_QUESTION.search(topic) and "report" in strategies:
        return StrategyChoice("report", "it asks for an overview, a comparison or reasons")
    if _is_chain(topic):
        return StrategyChoice("loop", "one fact must be found to look for the next")
    if _FACT_COMPARISON.search(topic):
        return StrategyChoice(
            "loop", "several things must be looked up and held against each other"
        )
    return StrategyChoice("slots", "it asks for facts that a page can state")


def _is_chain(topic: str) -> bool:
    if _CJK_CHARACTER.search(topic):
        return len(_CHINESE_RELATION.findall(topic)) >= MIN_CHINESE_RELATIONS
    is_long = len(content_words(topic)) >= LONG_QUESTION
    return len(_RELATION.findall(topic)) + is_long >= MIN_RELATIONS
