"""The values that a sentence states of a relation: who did it, when or where it was, how many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.evidence import CJK, content_words, stem, stop_words
from agent.evidence.asked import find_values
from agent.evidence.names import name_spans
from agent.evidence.quantities import find_years
from agent.llm.extractive.fact import Fact

Span = tuple[int, int]
_QUOTED = re.compile(r"[\"“«][^\"”»]{0,80}[\"”»]")
FAR = 90  # characters between a relation and its value
_WORD = re.compile(rf"[{CJK}]{{2}}|[^\W{CJK}]+")
_CHINESE = re.compile(f"[{CJK}]")
#: What is said to be so only perhaps, or not at all, states nothing.
_HEDGE = re.compile(
    r"\b(?:would|expected|planned|scheduled|intended|rumou?red|(?-i:may)|might|could|whether|if|not|never"
    r"|nor|proposed|supposed|allegedly|some (?:say|claim|believe)"
    r"|(?:did|does|was|were|is|has|had)n['’]t)\b|~~",  # struck through
    re.I,
)


def find_stated(text: str, asked: Fact, title: str) -> list[str]:
    """The values that a sentence states, best first; each stands in it word for word."""
    if _HEDGE.search(_QUOTED.sub(" ", text.replace(title, " "))):
        return []
    if asked.kind in ("name", "names") and not _CHINESE.search(text):
        spots, spans = relation_spans(text, asked), name_spans(text)
        known = {*asked.words, *content_words(title)}
        found = [text[a:b] for spot in spots for a, b in _doers(text, spot, spans, known)]
        if "won" in asked.relation and (given := _GIVEN.search(text)):
            span = _first_after(text, given.end(), spans)
            found += [text[slice(*_extend_list(text, span, spans))]] if span else []
        return [_drop_place(name) for name in found]
    if asked.role:
        return _role_holders(text, asked, title)
    if asked.counted:
        return _counts(text, asked.counted)
    return _values_beside(text, asked) or _days_held(text, asked, title)


def _drop_place(name: str) -> str:
    """`Ada Quill of Lund` without the place."""
    return name.partition(" of ")[0] if re.match(r"\S+ \S+ of \S+$", name) else name


def relation_spans(text: str, asked: Fact) -> list[Span]:
    """Where a sentence says the relation."""
    if _CHINESE.search(text):
        written = "|".join(word for word in asked.relation if _CHINESE.match(word))
        return [m.span() for m in re.finditer(written, text)] if written else []
    roots = tuple(word[:6] for word in asked.relation if len(word) > 5)
    plain = (m for m in _WORD.finditer(text) if not (m.start() and m[0][0].isupper()))  # no name
    words = ((m.span(), stem(m[0].casefold())) for m in plain)
    return [at for at, word in words if word in asked.relation or word.startswith(roots)]


# --- who -----------------------------------------------------------------------------------------

_BY = re.compile(r"(?:(?!(?<!and )\b\w+ed\b)[^.;:]){0,80}?\bby\s")
_GIVEN = re.compile(r"\b(?:went|awarded|given|presented) to\s")
_DIRECTLY_BY = re.compile(r"(?: and \w+)?(?: (?:in|on) [\w ,]{1,30})?,? by\s")
#: Nouns, which nobody is the subject of.
_ROLE = re.compile(r"\w+(?:ers?|ors?|ists?|ions?|ect|ent)", re.I)
_HELD = re.compile(
    r"\b(?:of|from|for|against|by|in|at|to|with|over|on|under|than|after)\s(?:the\s)?$"
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|being|be|got)\s(?:\w+ly\s|first\s)?$", re.I)
#: What may stand between who did it and the verb: brackets, an apposition, auxiliaries, adverbs.
_SUBJECT = re.compile(
    r"(?:\s\([^)]*\))?(?:,[^,;.]{1,60},)?\s?(?:(?:who|which|that|has|have|had|also|later|first|then"
    r"|did|and [a-z]+|\w+ly)\s){0,4}"
)
_RANKED = re.compile(r"\b(?:first|second|third|last|only|\w{3,}est) $")  # `the only Dutch club to`
_TO_VERB = re.compile(r"\s(?:[a-z]+\s){0,8}to\s")
_AFTER_ROLE = re.compile(r"(?:,|:|\s(?:is|was|are|were))?\s(?:the\s)?")
_AFTER_OWNER = re.compile(
    r"\s(?:of|for|in|at)\s(?:the\s)?(?P<owner>[^,;:.]{1,60}?)\s(?:is|was|are|were)\s(?:the\s)?"
)
_BEFORE_ROLE = re.compile(
    r"(?:\s\([^)]*\))?(?:,|\s(?:is|was|are|were|became|as|serves as|served as)|,? who (?:is|was))"
    r"\s(?:(?!of\b|son\b|daughter\b|under\b)[\w-]+\s){0,4}"
)
_LISTED = re.compile(r"(?:\s\([^)]*\))?(?:, (?:and )?| and (?:the )?| & )")
#: Words between two names of which the first describes the second: `British singer X`.
_DESCRIBED = re.compile(
    r" (?:(?!(?:of|in|for|at|from|with|on|under|as|by|\w+ed|\w+ing)\s)[a-z'’/-]+ ){1,4}"
)


def _doers(text: str, spot: Span, spans: list[Span], known: set[str]) -> Iterator[Span]:
    """Who did what the words at a spot say: one span, of a name or a list of names."""
    start, end = spot
    passive = bool(_PASSIVE.search(text[:start][-30:]))
    found: Span | None = None
    if by := (_BY if passive else _DIRECTLY_BY).match(text, end):
        found = _first_after(text, by.end(), spans)
    elif _ROLE.fullmatch(text[start:end]):
        found = _role_holder(text, spot, spans, known)
    elif not passive:
        found = _subject(text, start, spans)
    if found:
        yield _extend_list(text, found, spans)


def _first_after(text: str, at: int, spans: list[Span]) -> Span | None:
    """The name that follows `by`, behind what only describes it: `the physicist X`."""
    after = [span for span in spans if span[0] >= at]
    while len(after) > 1 and _DESCRIBED.fullmatch(text[after[0][1] : after[1][0]]):
        after.pop(0)
    words = text[at : after[0][0]] if after else ";"
    owns = after and re.match(r"['’]s\b", text[after[0][1] :])
    return None if owns or re.search(r"[,.;:()]", words) or len(words.split()) > 8 else after[0]


def _role_holder(text: str, spot: Span, spans: list[Span], known: set[str]) -> Span | None:
    """The name beside a word for a role: `its author X`, `X, the author`, `the author is X`.

    So too behind whose it is, where that is `known`: `the author of Y is X`.
    """
    start, end = spot
    links = [_AFTER_ROLE.match(text, end), _AFTER_OWNER.match(text, end)]
    owned = links[1] and known.issuperset(content_words(links[1]["owner"]))
    ends = {link.end() for link in (links if owned else links[:1]) if link}
    after = next((s for s in spans if s[0] in ends), None)
    before = [s for s in spans if s[1] <= start]
    if after or not before:
        return after
    return before[-1] if _BEFORE_ROLE.fullmatch(text[before[-1][1] : start]) else None


def _subject(text: str, start: int, spans: list[Span]) -> Span | None:
    """The name before a verb that can be its subject."""
    before = [s for s in spans if s[1] <= start]
    gap = text[before[-1][1] : start] if before else ";"
    if not (_SUBJECT.fullmatch(gap) or _TO_VERB.fullmatch(gap)):
        return None
    head = text[: before[-1][0]][-12:]
    return None if _HELD.search(head) or _RANKED.search(head) else before[-1]


def _extend_list(text: str, span: Span, spans: list[Span]) -> Span:
    """A name with those that it is listed with; commas alone list nobody."""
    first = last = spans.index(span)
    while last + 1 < len(spans) and _LISTED.fullmatch(text[spans[last][1] : spans[last + 1][0]]):
        last += 1
    while first and _LISTED.fullmatch(text[spans[first - 1][1] : spans[first][0]]):
        first -= 1
    whole = spans[first][0], spans[last][1]
    return whole if re.search(r"\band\b|&", text[slice(*whole)]) else span


# --- what is named as such ---------------------------------------------------------------------

_OWNER = r"(?:\s(?:of|for|in|at)\s(?:the\s)?(?P<owner>[^,;:.]{1,60}?))?"
_IS = r"\s(?:is|are|was|were)\s"


def _role_holders(text: str, asked: Fact, title: str) -> list[str]:
    """The names that a sentence gives to a word: `The mascot was X`, `X was the mascot`.

    Whose it is, where the sentence tells that, must be what is asked or what the page is about.
    """
    spans = name_spans(text)
    role = rf"\b(?:the|its)\s{re.escape(asked.role)}\b{_OWNER}"
    after = re.finditer(rf"^{role}(?:{_IS}(?:(?:named|called)\s)?|:\s)(?:the\s)?", text, re.I)
    before = re.finditer(rf"(?:{_IS}|,\s){role}(?=[,;.]|$)", text, re.I)
    known = {*asked.words, *content_words(title)}
    found = [(m, span) for m in after for span in spans if span[0] == m.end()]
    found += [(m, span) for m in before for span in spans if span[1] == m.start()]
    return [
        _drop_place(text[slice(*_extend_list(text, span, spans))])
        for m, span in found
        if known.issuperset(content_words(m["owner"] or "")) and _is_whole(text, span)
    ]


def _is_whole(text: str, span: Span) -> bool:
    """Whether a name is no part of a longer phrase: `the Danish krone`, `Ada's dog`."""
    following = re.match(r"\s([^\W\d_]+)", text[span[1] : span[1] + 30])
    told = not following or following[1].casefold() in stop_words()
    return (
        told
        and not re.match(r"['’]s\b", text[span[1] :])
        and not _HELD.search(text[: span[0]][-12:])
    )


# --- when, where, how many -----------------------------------------------------------------------


def _counts(text: str, counted: str) -> list[str]:
    """The numbers of what is counted: `163 episodes`, `two full seasons`."""
    found = (
        (value, match[0].casefold().split())
        for value in find_values("number", text)
        for match in re.finditer(rf"\b{re.escape(value)}\b(?:\s[\w'’-]+){{0,3}}", text)
    )
    return [value for value, words in found if any(_is_same_noun(w, counted) for w in words)]


def _is_same_noun(word: str, counted: str) -> bool:
    """Whether a word is what is counted, also in its number: of `two season tickets` it is none."""
    return word[-1:] == counted[-1:] and content_words(word) == content_words(counted)


def _values_beside(text: str, asked: Fact) -> list[str]:
    """The values of a type that stand near the relation, the nearest first."""
    spots = relation_spans(text, asked)
    if asked.relation and not spots:
        return []
    rated: list[tuple[float, int, str]] = []
    at = 0
    for value in find_values(asked.kind, text, asked.unit):
        start = max(text.find(value, at), text.find(value))
        at = start + len(value)
        far = [_distance(text, (start, at), spot) for spot in spots if asked.kind != "score"]
        rated.append((min(far, default=0), start, value))
    if asked.kind == "number" and not spots and len(rated) > 1:
        return []  # nothing tells which of them it is
    return [_whole_span(text, value) for far, _, value in sorted(rated) if far <= FAR]


def _whole_span(text: str, value: str) -> str:
    """A date with the one that ends its span: `January 1887 to March 1889`."""
    ends = (re.escape(last) for last in find_values("date", text) if last != value)
    link = r"\s?(?:to|until|till|through|–|-|至|到)\s?"
    found = re.search(rf"{re.escape(value)}{link}(?:{'|'.join(ends) or '(?!)'})", text)
    return found[0] if found else value


#: That something took place, with what it was before it.
_TOOK_PLACE = re.compile(
    r"\s(?:took place|happened|occurred|(?:was|were) (?:held|played|fought|staged|contested|signed)"
    r")\b",
    re.I,
)
_ITSELF = re.compile(r"(?:it|this|the (?:event|match|game))", re.I)


def _days_held(text: str, asked: Fact, title: str) -> list[str]:
    """The day on which a sentence says that its subject, the thing asked, took place."""
    verb = _TOOK_PLACE.search(text[:FAR]) if asked.events else None
    if not verb or not _is_itself(text[: verb.start()], asked, title):
        return []
    told = text[verb.end() : verb.end() + FAR]
    days = find_values("date", told)
    return [day for day in days if find_years(day)][:1]


def _is_itself(subject: str, asked: Fact, title: str) -> bool:
    """Whether a subject is the event that is asked for: `The 2022 final`, not `The 2020 final`."""
    words = content_words(subject)
    known = {*asked.words, *content_words(title), *asked.events}
    named = bool(words) and words[-1] in asked.events and known.issuperset(words)
    return named or bool(_ITSELF.fullmatch(subject))


def _distance(text: str, value: Span, spot: Span) -> float:
    """Characters from the relation to its value; a value before it counts as farther."""
    behind = value[0] >= spot[1]
    gap = text[spot[1] : value[0]] if behind else text[value[1] : spot[0]]
    if ";" in gap or re.search(r"\b(?:born|died)\b", gap):
        return FAR + 1
    return len(gap) * (1 if behind else 1.5)
