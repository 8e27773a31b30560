"""Text as evidence: cut at sentence borders, ranked for a question, shown to a model, and quoted.

Every span is a half-open range of character offsets into a page's stored text.
"""

from agent.evidence.copies import copies
from agent.evidence.quoting import anchor, antecedent, closest, lead, near, nearest
from agent.evidence.selection import is_heading, is_row, select, show
from agent.evidence.text import (
    CJK,
    STOP_WORDS,
    Span,
    fold,
    passages,
    rank,
    sentences,
    tokens,
    words,
)

__all__ = [
    "CJK",
    "STOP_WORDS",
    "Span",
    "anchor",
    "antecedent",
    "closest",
    "copies",
    "fold",
    "is_heading",
    "is_row",
    "lead",
    "near",
    "nearest",
    "passages",
    "rank",
    "select",
    "sentences",
    "show",
    "tokens",
    "words",
]
