"""The deterministic checker: facts, negation, opposites, roles and overlap, in four languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.checking import check_claim
from agent.checking.premise import denies_premise, find_premise
from agent.checking.reading import normalize, read_sentences
from agent.checking.rules import LONGEST_CLAIM
from agent.evidence.numbers import chinese_value, read_number_words
from evals import claims

SUPPORTED = [
    ("Argentina won the 2022 World Cup.", "Argentina won the 2022 FIFA World Cup in Qatar."),
    ("The bridge has 1,000 lamps.", "In all, 1000 lamps light the bridge."),
    ("The bridge has one thousand lamps.", "In all, 1,000 lamps light the bridge."),
    ("Sales grew by 5%.", "Sales grew by five per cent in the year."),
    ("Some 300 people were killed.", "In the end 302 people were killed."),
    ("The firm paid $4.5 billion.", "The firm paid 4,500 million dollars for it, or $4.5bn."),
    ("Ada Lind was born on 5 May 1920.", "Ada Lind was born on May 5th, 1920, in Oslo."),
    ("Ada Lind was born on 5 May 1920.", "Ada Lind (born 1920-05-05 in Oslo)"),
    ("Ada Lind was born on 5 May 1920.", "Ada Lind, born 05.05.1920, grew up in Oslo."),
    ("It was built in the 1990s.", "It was built in 1994 by the city."),
    ("She served from 2018 to 2019.", "She served there in the years 2018-19."),
    ("The WHO was founded in 1948.", "The World Health Organization was founded in 1948."),
    ("He moved to the United States.", "He moved to the U.S. with his brother."),
    ("The company purchased the factory.", "The company bought the factory last year."),
    ("Argentina beat France.", "France was beaten by Argentina in the final."),
    ("The museum was established in Oslo.", "The establishment of the museum in Oslo took years."),
    (
        "阿根廷在2022年12月18日赢得世界杯。",
        "2022年12月18日，阿根廷队击败法国队，赢得了世界杯冠军。",
    ),
    ("大楼高一百二十米。", "这座大楼高120米，建于1998年。"),
    ("观众有八万人。", "现场观众有8万人。"),
    ("Die Mauer fiel am 9. November 1989.", "Am 9. November 1989 fiel in Berlin die Mauer."),
    ("فازت الأرجنتين بكأس العالم 2022", "فازت الأرجنتين بكأس العالم عام ٢٠٢٢ في قطر"),
]


@pytest.mark.parametrize(("claim", "quote"), SUPPORTED)
def test_what_the_quotes_say_is_supported(claim: str, quote: str) -> None:
    assert check_claim(claim, [quote]).verdict == "supported", check_claim(claim, [quote])
    unrelated = check_claim(claim, ["Bees make honey out of nectar."])
    assert unrelated.verdict == "unsupported" and unrelated.score < 0.3


LACKING = [
    ("The bridge opened in 1987.", "The bridge opened in 1978.", "the number 1987"),
    ("He scored three goals.", "He scored two goals in the final.", "the number three"),
    ("Sales grew by 5%.", "Sales grew by 5 units.", "the number 5"),
    ("13. Mai 1865 war es.", "Es war am 12. Mai 1865.", "the number 13"),
    ("The firm paid $4 billion.", "The firm paid $4 million.", "the number 4"),
    ("Ada was born on 5 May 1920.", "Ada was born on 5 June 1920.", "the month May"),
    (
        "Ada came on 5 October.",
        "Ada left on 5 June and came late in October.",
        "the date 5 October",
    ),
    ("Brazil won the 2022 World Cup.", "Argentina won the 2022 World Cup.", "the name Brazil"),
    ("The cup was won by Peru Norte.", "The cup was won by Peru Sur.", "the name Peru Norte"),
    ("The NATO report was published.", "The UNESCO report was published.", "the name NATO"),
    ("It was opened by Rosa Parker.", "It was opened by Rosa Park.", "the name Rosa Parker"),
    ("It was opened by Doctor Olav.", "It was opened by Physician Olav.", "the name Doctor Olav"),
    ("巴西赢得了世界杯。", "阿根廷赢得了世界杯。", "the word 巴西"),
    ("比赛在2021年举行。", "比赛在2022年举行。", "the number 2021"),
    ("Die Mauer fiel 1988 in Berlin.", "Die Mauer fiel 1989 in Berlin.", "the number 1988"),
    ("فازت الأرجنتين بكأس العالم 2018", "فازت الأرجنتين بكأس العالم ٢٠٢٢", "the number 2018"),
]


@pytest.mark.parametrize(("claim", "quote", "what"), LACKING)
def test_a_fact_that_the_quotes_lack_is_never_supported(claim: str, quote: str, what: str) -> None:
    found = check_claim(claim, [quote])
    assert found.verdict != "supported"
    assert found.reason == f"{what} is not in its quotes"


AGAINST = [
    ("The drug is safe for children.", "The drug is not safe for children.", "negated"),
    ("He never visited Paris.", "He visited Paris in spring.", "negated"),
    ("The minister admitted the payment.", "The minister denied the payment.", "negated"),
    ("The team reached the final.", "The team fails to reach the final.", "negated"),
    ("Prices rose in the spring.", "Prices fell in the spring.", "opposite"),
    ("The senate approved the treaty.", "The senate rejected the treaty.", "opposite"),
    ("She left before the war.", "She left after the war.", "opposite"),
    ("It is possible to land there.", "It is impossible to land there.", "opposite"),
    ("Argentina beat France in the final.", "France beat Argentina in the final.", "roles"),
    ("Orion Foods acquired Delta Mills.", "Delta Mills acquired Orion Foods.", "roles"),
    ("Argentina was beaten by France.", "Argentina beat France.", "roles"),
    ("Mars is larger than Venus.", "Venus is larger than Mars.", "roles"),
    ("他获得了冠军。", "他没有获得冠军。", "negated"),
    ("城市人口增加了。", "城市人口减少了。", "opposite"),
    ("阿根廷击败法国。", "法国击败阿根廷。", "roles"),
    ("Er hat die Wahl gewonnen.", "Er hat die Wahl nicht gewonnen.", "negated"),
    ("Die Preise sind gestiegen.", "Die Preise sind gesunken.", "opposite"),
    ("المدينة كبيرة جدا", "المدينة ليست كبيرة جدا", "negated"),
    ("فاز الفريق بالكأس", "خسر الفريق بالكأس", "opposite"),
]


@pytest.mark.parametrize(("claim", "quote", "why"), AGAINST)
def test_what_the_quotes_deny_is_unsupported(claim: str, quote: str, why: str) -> None:
    found = check_claim(claim, [quote])
    assert found.verdict == "unsupported" and why in found.reason
    assert check_claim(quote, [quote]).verdict == "supported"


@pytest.mark.parametrize(
    "claim",
    [
        "She not only wrote the book but sold it.",
        "他不仅写了这本书，还卖掉了它。",
        "无论如何，未来的城市会不断增长。",
        "France was beaten by Argentina, which did not concede.",
    ],
)
def test_a_claim_in_the_quotes_own_words_is_supported(claim: str) -> None:
    assert check_claim(claim, [f"Before. {claim} After."]).verdict == "supported"


def test_another_sentence_that_affirms_outweighs_a_denial() -> None:
    quotes = [
        "It was said that the drug is not safe for children.",
        "The drug is safe for children.",
    ]
    assert check_claim("The drug is safe for children.", quotes).verdict == "supported"


def test_a_negation_and_an_opposite_cancel_out() -> None:
    assert check_claim("He did not win the race.", ["He lost the race."]).verdict == "partial"
    assert check_claim("He did win the race.", ["He lost the race."]).verdict == "unsupported"


def test_a_hedge_that_the_claim_drops_makes_it_partial() -> None:
    quote = "The minister allegedly stole the painting from the museum."
    found = check_claim("The minister stole the painting from the museum.", [quote])
    assert found.verdict == "partial" and "allegedly" in found.reason
    assert check_claim(quote, [quote]).verdict == "supported"


def test_surroundings_supply_names_and_never_numbers() -> None:
    quote = "She was born in Oslo and became a painter."
    claim = "Ada Lind was born in Oslo and became a painter."
    near = ["Ada Lind was a Norwegian artist, born in 1920."]
    assert "Ada Lind" in check_claim(claim, [quote]).reason
    assert check_claim(claim, [quote], near).score > check_claim(claim, [quote]).score
    with_year = check_claim("She was born in Oslo in 1920 and became a painter.", [quote], near)
    assert with_year.verdict != "supported" and "1920" in with_year.reason


def test_what_is_scattered_is_worth_less_than_what_stands_together() -> None:
    claim = "The old library keeps rare maps."
    together = check_claim(claim, ["The old library keeps many rare maps of the coast."])
    words = ["The old man sat.", *["Nothing went on there."] * 5, "A library."]
    apart = check_claim(
        claim, [" ".join([*words, *["It rained."] * 5, "He keeps bees, rare maps no."])]
    )
    assert apart.score < together.score


@pytest.mark.parametrize("claim", ["", " ", "…", "It is.", "的", "[1]"])
def test_a_claim_of_nothing_is_unsupported(claim: str) -> None:
    assert check_claim(claim, ["It is here [1]."]).verdict == "unsupported"
    assert check_claim("Bees make honey.", []).reason == "nothing of it is in its quotes"


@pytest.mark.parametrize(
    ("words", "used", "value"),
    [
        ("twenty one", 2, 21),
        ("one hundred and five people", 4, 105),
        ("two million three hundred", 4, 2_000_300),
        ("fifteen", 1, 15),
        ("five six", 1, 5),
        ("one of", 0, 0),
        ("a", 0, 0),
    ],
)
def test_numbers_written_out(words: str, used: int, value: float) -> None:
    assert read_number_words(words.split()) == (used, value)
    assert (
        chinese_value("一百二十") == 120
        and chinese_value("二〇二二") == 2022
        and chinese_value("三万五千") == 35000
    )


def test_a_capital_that_only_begins_a_sentence_makes_no_certain_name() -> None:
    (sentence,) = read_sentences("Granite holds quartz, said Ada Lind of the WHO.")
    assert [w.text for w in sentence if w.kind == "name" and not w.rough] == ["Ada", "Lind", "WHO"]


PIECES = st.sampled_from([".", "1", ",", "not ", "A", "a ", "不", "一", "百", "لا", "-", "%", "\n"])
HOSTILE = [unit * 51_000 for unit in (".", "1", "1,", "A.", "a-", "一", "not ", "'", "(", "\ufdfa")]
HOSTILE += ["Ada beat Bo not " * 4000, "Ada beat Bo not. " * 4000, "阿根廷击败法国没" * 8000]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_judged_and_never_supported(text: str) -> None:
    for claim, quote in ((text, text), ("Ada beat Bo in 1920.", text), (text, "Ada beat Bo.")):
        assert 0 <= check_claim(claim, [quote], [quote]).score <= 1
    assert check_claim(text, [text]).verdict != "supported" and len(text) > LONGEST_CLAIM


@settings(deadline=1000, max_examples=50)
@given(st.text() | st.lists(PIECES).map("".join), st.lists(st.text(), max_size=3))
@example("1/1/0000 99-99-9999 0000-00-00 ²³ ٣٫٥ 1.2.3,4 月5月", ["½ ⅷ 5月 99.99.9999"])
def test_any_text_gets_a_verdict_and_the_same_one_twice(claim: str, quotes: list[str]) -> None:
    found = check_claim(claim, quotes, quotes)
    assert found == check_claim(claim, list(quotes), list(quotes))
    assert 0 <= found.score <= 1 and found.reason
    assert (found.verdict == "supported") <= (found.score >= 0.5)


@settings(max_examples=30)
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_changed_number_is_never_supported(true: int, told: int) -> None:
    found = check_claim(f"The lake has {told:,} fish.", [f"The lake has {true} fish."])
    assert (found.verdict == "supported") == (true == told)


def test_reading_keeps_to_its_limits() -> None:
    assert len(normalize("\ufdfa" * 5000, 2000)) <= 2000


def test_the_checker_beats_overlap_on_real_claims(data: Path) -> None:
    """A sample of the tune half: the figures are in evals/RESULTS.md."""
    every = claims.load_rows(data / "claims", "attributionbench")
    part = [row for row in every if claims.half(row.claim) == "tune"][::6]
    ours = [(check_claim(row.claim, row.quotes).score, row.supported) for row in part]
    plain = [(claims.overlap(row.claim, row.quotes), row.supported) for row in part]
    assert claims.auc(ours) > claims.auc(plain) > 0.5


def test_the_figures_of_a_small_set(tmp_path: Path) -> None:
    """Six claims a half: the true ones are quotes, the false ones have another number."""
    lines: dict[str, list[str]] = {
        name: [] for name in ("attributionbench", "wice_claim", "factcheck_stance")
    }
    for n in range(24):
        said, true = f"The lake of town {n} has {n + 100} fish.", n % 2
        claim = said if true else said.replace("fish", "boats")
        label = {"attribution_label": "attributable" if true else "no", "references": [said]}
        lines["attributionbench"].append(json.dumps({"claim": claim, **label}))
        page = {"label": "supported" if true else "no", "evidence": ["A page", said]}
        lines["wice_claim"].append(json.dumps({"claim": claim, **page}))
        stance = {"stance": "completely-support" if true else "refute", "evidence": said}
        lines["factcheck_stance"].append(json.dumps({"claim": claim, **stance}))
    for name, rows in lines.items():
        (tmp_path / f"{name}.dev.jsonl").write_text("\n".join(rows), "utf-8")
    found = claims.measure(tmp_path)
    assert all(found[name]["report"]["auc"] == 1 for name in claims.SETS)
    assert found["factcheck"]["report"]["refute_auc"] == 1
    assert claims.table(found).count("\n") == 7
    weights, _ = claims.fit(claims.examples(tmp_path))
    assert weights[0] > 0


FILM = "Bright Leaf is a 1950 film directed by Michael Curtiz and starring Gary Cooper."


@pytest.mark.parametrize(
    ("claim", "evidence", "holds"),
    [
        ("Bright Leaf was directed by Michael Curtiz.", FILM, True),
        ("The director of Bright Leaf is Michael Curtiz.", FILM, True),
        ("The director of Bright Leaf is Gary Cooper.", FILM, False),
        ("Gary Cooper directed Bright Leaf.", FILM, False),
        ("Gary Cooper resigned.", FILM, False),
        ("The Alpha dam is made of cheese.", "The Alpha dam was opened in 1964.", False),
        ("The Alpha dam collapsed.", "The Alpha dam was opened in 1964.", False),
        ("Bo Ek directed Ur.", "Ur was directed by Al Ash and written by Bo Ek.", False),
        ("No Way Out is not a film by Al Ash.", "No Way Out is a film by Al Ash.", False),
        ("No Way Out is a film by Al Ash.", "No Way Out is a film by Al Ash of 1968.", True),
        ("The date of Bright Leaf is Gary Cooper.", FILM, False),
        ("The producer of Bright Leaf is Gary Cooper.", FILM, False),
        ("Bright Leaf was admired in Texas.", FILM, False),
        ("Bo Ek was born in Uppsala.", "Bo Ek (born 1950 in Uppsala) studied in Lund.", True),
        ("Bo Ek was born in Lund.", "Bo Ek (born 1950 in Uppsala) studied in Lund.", False),
        ("The capital of Velmora is Oskar.", "Oskar is the capital of Velmora.", True),
        ("Paris is the capital of France.", "Paris, capital of France, lies in the north.", True),
    ],
)
def test_a_role_belongs_to_its_name(claim: str, evidence: str, holds: bool) -> None:
    assert (check_claim(claim, [evidence]).verdict == "supported") is holds


def test_a_number_that_is_not_there_is_never_half_right() -> None:
    found = check_claim(
        "He built a pulp mill in Tampere in 1866.", ["He built a pulp mill in Tampere in 1865."]
    )
    assert found.verdict == "unsupported" and found.barred and "1866" in found.reason


@pytest.mark.parametrize(
    ("question", "sentence", "false"),
    [
        ("Why did France win the 2022 World Cup?", "Argentina won the 2022 World Cup.", True),
        ("Why did Argentina win the 2022 World Cup?", "Argentina won the 2022 World Cup.", False),
        ("Why did France win the 1998 World Cup?", "Argentina won the 2022 World Cup.", False),
        ("How did Nokia buy Motorola Networks?", "Nokia bought Motorola Networks in 2011.", False),
        ("Who won the 2022 World Cup?", "Argentina won the 2022 World Cup.", False),
        ("Why did France win the 2022 World Cup?", "The 2022 World Cup was won by Brazil.", True),
        ("When was the Orbita bridge built by Ada?", "Bo built the Orbita bridge.", True),
        ("When did Mira Holt resign?", "Mira Holt did not resign in 2020.", True),
        (
            "Why is the Wall of Ur visible from space?",
            "The Wall of Ur is not visible there.",
            False,
        ),
        ("Since when has Ada led Lumo?", "Ada has led Lumo since 2015.", False),
        ("Why did the sun set?", "Argentina won.", False),
        ("Why did ?", "", False),
    ],
)
def test_a_false_premise_is_seen(question: str, sentence: str, false: bool) -> None:
    assert denies_premise(find_premise(question), sentence) is false
