"""Text as evidence: cut at sentence borders, ranked for a question, shown to a model, and quoted.

Every span is a half-open range of character offsets into a page's stored text.
"""

from agent.evidence.copies import find_copies
from agent.evidence.quoting import (
    anchor_quote,
    closest_sentences,
    nearest_passage,
)
from agent.evidence.ranking import rank_texts
from agent.evidence.selection import is_heading, is_row, render_sources, select_passages
from agent.evidence.sentences import Span, split_passages, split_sentences
from agent.evidence.tokens import estimate_tokens
from agent.evidence.words import (
    CJK,
    content_words,
    fold,
    fold_with_offsets,
    stem,
    stop_words,
    strip_accents,
)

__all__ = [
    "CJK",
    "Span",
    "anchor_quote",
    "closest_sentences",
    "content_words",
    "estimate_tokens",
    "find_copies",
    "fold",
    "fold_with_offsets",
    "is_heading",
    "is_row",
    "nearest_passage",
    "rank_texts",
    "render_sources",
    "select_passages",
    "split_passages",
    "split_sentences",
    "stem",
    "stop_words",
    "strip_accents",
]
