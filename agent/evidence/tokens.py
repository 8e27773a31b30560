"""How many tokens a text is for a model, without the model's tokenizer."""

from __future__ import annotations

import math
import re
from functools import lru_cache

_LETTERS = re.compile(r"[A-Za-z]+")
_BLANKS = re.compile(r"\s{2,}")


@lru_cache(maxsize=4096)
def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: within a third above the truth for most scripts.

    Calibrated against the Gemma vocabulary: a word of up to eight letters is one token, longer
    ones gain one for each further eight, a digit is one, a character beyond ASCII three quarters.
    """
    words, blanks = _LETTERS.findall(text), _BLANKS.findall(text)
    shown = "".join(text.split())
    ascii_count = len(shown.encode("ascii", "ignore"))
    total = sum(1 + (len(word) - 1) // 8 - len(word) for word in words) + ascii_count
    beyond = len(shown) - ascii_count + sum(not blank[0].isascii() for blank in blanks)
    plain: float = total + sum(blank[0].isascii() for blank in blanks)
    return math.ceil(plain + 0.75 * beyond)
