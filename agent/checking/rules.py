"""Whether a sentence is supported by the words that it cites: judged by rules, with no model.

First what can be named: a number, a date or a name that the evidence lacks, a negation, an
opposite, roles that are swapped. Then how much of the sentence the evidence says, and how closely.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Literal

from agent.checking.conflicts import find_conflict, find_hedge
from agent.checking.facts import find_facts
from agent.checking.likeness import Comparison, Evidence, Likeness, read_evidence
from agent.checking.reading import LONGEST_SENTENCE, normalize, read_sentences
from agent.checking.roles import COPULAS, find_unsaid_role, lacks_date
from agent.checking.words import Sentence, Word, is_common, weight, words_of
from agent.evidence.dates import month_pattern
from agent.evidence.markers import strip_markers
from agent.state import Frozen

LONGEST_CLAIM = 2_000  # characters; a longer claim is never supported

#: Weights of the features, in the order of `Likeness`, and what is added. Fitted by gradient
#: descent on the tune halves of three public sets, each set and each of its two classes counting
#: alike: `python -m evals.claims --fit` prints them; run it after any change to what is read or
#: compared, then `python -m evals.claims` for the figures.
WEIGHTS = (1.995, 0.956, 0.62, 0.809, -1.296, -0.428, 0.38, -0.304, -0.316)
ADDED = -0.989
#: Chosen by hand on the same tune halves: from SUPPORTED on, 8 or 9 of 10 claims are true where
#: half of all are, 6 of 10 where a fifth are; below PARTIAL few are. After a change: see the
#: precision and recall of "supported" that `python -m evals.claims` prints.
SUPPORTED = 0.75
PARTIAL = 0.4
VERBATIM = 0.95  # the least score of a claim whose very words are there
CONFLICTING = 0.1  # the most of one that its evidence contradicts
ENOUGH = 0.5  # of a claim's words in one sentence: below it, that sentence is of another thing
CLOSEST = 10  # sentences at most
ALMOST = 0.85  # of the closest sentence's share: sentences as close are asked as well


class Checked(Frozen):
    """A verdict on a claim, a score from 0 to 1 behind it, and why, in plain words.

    `barred`: something that can be named speaks against it, so that no reading can better it.
    """

    verdict: Literal["supported", "partial", "unsupported"]
    score: float
    reason: str
    barred: bool = False


def check_claim(claim: str, quotes: Sequence[str], surroundings: Sequence[str] = ()) -> Checked:
    """Whether quotes support a claim. Deterministic; no model, no network.

    `surroundings`, the text around each quote on its page, may supply names, never a number. At
    most 2,000 characters of the claim and 50,000 of the quotes are read. There is no inference:
    what follows only by reasoning is not seen as supported, and words that all stand there in
    another sense may be. Meant for English and Chinese; German and Arabic by overlap, numbers,
    negation and a few opposites.
    """
    found = Comparison(_read(claim), read_evidence(tuple(quotes)))
    if not found.words:
        return _make_checked(0.0, "it states nothing")
    return _judge(found, read_evidence(tuple(surroundings)), len(claim) > LONGEST_CLAIM)


def find_turning_word(lead: str) -> str:
    """The word in what leads up to a quote in its clause that turns it: "nobody thinks that".

    A quote cut off from it is out of its context and supports nothing. Empty where there is none.
    """
    clause = _CLAUSE.split(lead)[-1].casefold().replace("’", "'")
    known = frozenset().union(*(words_of(of, "words") for of in ("turns", "negators", "hedges")))
    said = (word for word in _LETTERS.findall(clause) if word in known or word.endswith("n't"))
    chinese = words_of("turns", "chinese") | words_of("hedges", "chinese")
    return next(said, "") or next((word for word in sorted(chinese) if word in clause), "")


_CLAUSE = re.compile(r"[,;:，；：،؛–—]")
_LETTERS = re.compile(r"[^\W\d_]+(?:'t)?")


def claim_likeness(claim: str, quotes: Sequence[str]) -> Likeness:
    """The features that `check` weighs: for fitting the weights."""
    return Comparison(_read(claim), read_evidence(tuple(quotes))).likeness


#: The number of an item in a list; `12. Mai` begins with a date.
_ITEM = re.compile(r"^\s*\d{1,2}[.)]\s")


def _read(claim: str) -> tuple[Sentence, ...]:
    text = strip_markers(claim[:LONGEST_CLAIM])
    item = _ITEM.match(text)
    if item and not re.match(month_pattern(), text[item.end() :]):
        text = text[item.end() :]
    return read_sentences(normalize(text, LONGEST_CLAIM))


def _judge(found: Comparison, around: Evidence, cut: bool) -> Checked:
    """What is certain first; the score of the words where nothing is."""
    score = max(_score(found.likeness), VERBATIM if found.verbatim else 0.0)
    against, hedge = _find_contradiction(found)
    if against:
        return _make_barred(score * CONFLICTING, against)
    if any(lacks_date(sentence) for sentence in found.claim):
        return _make_barred(score * CONFLICTING, "it names no date")
    stated = find_facts(found, around)
    lacking = [fact for fact in stated if not fact.there]
    if lacking:
        # A name may be another word for the same; a number that is not there is another number.
        wrong = 3 * len(lacking) >= len(stated) or any(fact.exact for fact in lacking)
        most = PARTIAL if wrong else SUPPORTED
        return _make_barred(score * (most - 0.01), f"{lacking[0].text} is not in its quotes")
    if found.likeness.all and (silent := _find_unspoken(found)):
        return _make_barred(min(score, SUPPORTED - 0.01), f"its quotes do not speak of {silent}")
    if role := next((r for s in found.claim if (r := find_unsaid_role(s, found.hits))), ""):
        return _make_barred(min(score, SUPPORTED - 0.01), f"its quotes do not speak of the {role}")
    if hedge:
        return _make_barred(min(score, SUPPORTED - 0.01), f"its quotes are less sure: {hedge}")
    if cut:
        return _make_barred(min(score, SUPPORTED - 0.01), "it is too long to be checked whole")
    return _make_checked(score, _explain_score(score, found))


def _find_unspoken(found: Comparison) -> str:
    """What a claim with no number says of its subject, where its evidence has no word of it.

    One word alone beside a copula ("the city is Uppsala") is a label.
    """
    said = [word for word in found.words if word.kind == "word" and not is_common(word)]
    numbered = any(word.kind == "number" for word in found.words)
    labels = len(said) == 1 and any(
        word.text.casefold() in COPULAS for sentence in found.claim for word in sentence
    )
    subject = _subject(found)
    told = [word for word in said if word not in subject]
    silent = told and not (labels or numbered or any(map(found.hits, told)))
    return told[0].text if silent else ""


def _subject(found: Comparison) -> list[Word]:
    """The words in a row that open a claim, as far as its evidence has them."""
    opening = dropwhile(lambda word: word.little, found.claim[0])
    return list(takewhile(lambda word: not word.little and word.keys and found.hits(word), opening))


def _find_contradiction(found: Comparison) -> tuple[str, str]:
    """Why the evidence denies the claim, and its hedge, if all the sentences closest to it do."""
    shares = found.shares(1)
    least = max(ENOUGH, ALMOST * max(shares, default=0.0))
    claim = tuple(word for sentence in found.claim for word in sentence)[:LONGEST_SENTENCE]
    order = sorted(range(len(shares)), key=lambda n: -shares[n])[:CLOSEST]
    closest = [found.evidence.sentences[n] for n in order if shares[n] >= least]
    reasons = [find_conflict(claim, sentence) for sentence in closest]
    hedges = [find_hedge(claim, sentence) for sentence in closest]
    against = reasons[0] if reasons and all(reasons) else ""
    return against, hedges[0] if hedges and all(hedges) else ""


def _score(features: Likeness) -> float:
    total = ADDED + sum(w * x for w, x in zip(WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-total))


def _make_checked(score: float, reason: str) -> Checked:
    verdict = (
        "supported" if score >= SUPPORTED else "partial" if score >= PARTIAL else "unsupported"
    )
    return Checked.model_validate({"verdict": verdict, "score": round(score, 3), "reason": reason})


def _make_barred(score: float, reason: str) -> Checked:
    return _make_checked(score, reason).model_copy(update={"barred": True})


def _explain_score(score: float, found: Comparison) -> str:
    if not found.likeness.all:
        return "nothing of it is in its quotes"
    if score >= SUPPORTED:
        return "its quotes say it"
    absent = sorted((w for w in found.words if not found.hits(w)), key=weight, reverse=True)
    if absent:
        return f"not in its quotes: {', '.join(word.text for word in absent[:3])}"
    return "its words are in its quotes, but not together"
