"""How many tokens a text is for a model, without the model's tokenizer."""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(r"[A-Za-z]+|\d|\s{2,}|[^\sA-Za-z\d]")


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: within a third above the truth for most scripts.

    Calibrated against the Gemma vocabulary: a word of up to eight letters is one token, longer
    ones gain one for each further eight, a digit is one, a character beyond ASCII three quarters.
    """
    total = 0.0
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece[0].isascii():
            total += 1 + (len(piece) - 1) // 8 if piece[0].isalpha() else 1
        else:
            total += 0.75
    return math.ceil(total)
