"""Words that a question and its answer use for one thing: irregular forms, verbs and nouns."""

from __future__ import annotations

import re
from functools import lru_cache

from agent.evidence import content_words

#: Each line is a group. Made from the commonest verbs of English questions, not from any test set.
_GROUPS = """
win wins won winner winning beat beating defeated victory champion champions triumphed
won winner 冠军 夺冠 获胜 夺得 赢得
write writes wrote written writer author authored novelist penned
sing sings sang sung singer song vocals performed recorded artist
play plays played player portrayed portray starring stars role cast actor actress voiced
make makes made making produced created maker
build builds built construction constructed builder erected
begin begins began begun start starts started beginning commenced opened debuted premiered
found founded founder founders cofounded cofounder established formed creator
founded founders 创立 创办 成立
release releases released come comes came out premiered premieres premiere published debut
release released come comes came debuted aired airs air airing broadcast launched
bear born birth birthplace native
die dies died death dead killed
lead leads led leader head heads headed chief ceo president
buy buys bought acquired purchase purchased acquisition
sell sells sold sale
hold holds held host hosted took place
speak speaks spoke spoken language
teach teaches taught teacher
fight fights fought battle war
give gives gave given
get gets got received
take takes took taken
know knows known called named nickname name
invent invented inventor invention devised
discover discovered discovers discovery discoverer described noticed identified observed
direct directed director filmmaker
marry married wife husband spouse
live lives lived resident residence
score scores scored scorer scorers goalscorer goalscorers 进球
climb climbs climbed climber climbers ascent ascended reached summit
leave leaves left departed
work works worked job
approve approves approved approval approver authorise authorised authorize authorized signed
pay pays paid payment price cost costs fee fees charge charges
buy order ordered orders
return returns refund refunds refunded reimburse reimbursed reimbursement
big biggest large largest
tall tallest height high highest
long longest length
old oldest age aged
many number total
film movie motion picture
tv television series show
country nation
city town
usa us united states america american
uk united kingdom britain british
located location situated lies based headquarters headquartered 位于 总部
job position role responsible responsibility charge
holiday holidays vacation leave
phone telephone number
deadline due latest
allowed permitted may can
forbidden prohibited banned
meeting meet met
end ends ended finish finished concluded
die killed assassinated
wrote composed composer written
draw drew drawn
grow grew grown
choose chose chosen selected elected election
fly flew flown flight
drive drove driven
eat ate eaten food diet
cause causes caused because due reason
happen happened happens occurred
lose loses lost missing
heavy weigh weighs weight
mean means meaning definition defined refers
contain contains consists includes comprises
"""


@lru_cache(maxsize=1)
def _load_groups() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _GROUPS.strip().splitlines():
        group = frozenset(content_words(line))
        for word in group:
            table[word] = table.get(word, frozenset()) | group - {word}
    return table


def synonyms_of(word: str) -> frozenset[str]:
    """The stems that may stand for a stem."""
    return _load_groups().get(word, frozenset())


_NOUN = re.compile(r"\w+(?:er|or|ers|ors|ion|ions|ment|ure|ist|book)$")


def is_verb(word: str) -> bool:
    """Whether a word may be the past of a verb."""
    return word.endswith("ed") or (word in _GROUPS.split() and not _NOUN.fullmatch(word))


def doer_noun(verb: str) -> str:
    """The word for who or what did a verb: `founder` for `founded`; empty where none is known."""
    group = next((g for g in map(str.split, _GROUPS.strip().splitlines()) if verb in g), [])
    return next((word for word in group if _NOUN.fullmatch(word)), "")
