"""Verify: what a model may lie about, and what reaches the user all the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.checking import find_turning_word
from agent.checking.bench import QuotePlace, decide_verdict
from agent.errors import Exhausted, ModelFailed
from agent.evidence.citing import Cited, Draft, compose_answer
from agent.evidence.markers import cited_numbers
from agent.outside import Reply, Task
from agent.state import (
    Claim,
    Failed,
    Hit,
    Page,
    PageRead,
    Report,
    Research,
    Section,
    Verified,
    Warned,
)
from agent.steps.verify import JudgeClaims, Judgements, MendClaims, Verify

NOKIA = (
    "Nokia was founded by Fredrik Idestam. He built a pulp mill in Tampere in 1865. "
    "The firm made rubber boots. Nobody thinks that Nokia made cars."
)
TAMPERE = (
    "Tampere lies between two lakes. In 1865 it had 5,000 people. 坦佩雷是芬兰的城市。它有两个湖。"
)
FOUNDER = "Nokia was founded by Fredrik Idestam."
MILL = "He built a pulp mill in Tampere in 1865."
TEXTS = (NOKIA, TAMPERE)


def research(*texts: str) -> Research:
    made = Research("Who founded Nokia?")
    for n, text in enumerate(texts or TEXTS, 1):
        url = f"https://example.org/{n}"
        sha = hashlib.sha256(text.encode()).hexdigest()
        page = Page(url=url, title=f"Page {n}", text=text, sha256=sha, retrieved_at="")
        made.grow(PageRead(page=page, hit=Hit(url=url)))
    return made


class Judge:
    """A model with fixed verdicts, by the text of the claim, and one draft for what failed."""

    def __init__(
        self, says: dict[str, str] | str = "supported", mends: Draft | None = None
    ) -> None:
        self._says = says
        self._mends = mends or Draft(answer="")
        self.asked: list[Task[Any]] = []

    def __call__(self, task: Task[Any]) -> Reply[Any]:
        self.asked.append(task)
        if isinstance(task, MendClaims):
            return Reply(answer=self._mends, model="scripted")
        assert isinstance(task, JudgeClaims)
        says = self._says
        rows = [
            {
                "claim": n,
                "verdict": says if isinstance(says, str) else says.get(claim.text, says[""]),
            }
            for n, claim in enumerate(task.claims, 1)
        ]
        return Reply(answer=Judgements.model_validate({"verdicts": rows}), model="scripted")

    @property
    def tasks(self) -> list[str]:
        return [task.name for task in self.asked]


def draft(answer: str, *cited: tuple[int, str]) -> Draft:
    return Draft(answer=answer, citations=[Cited(source=n, quote=quote) for n, quote in cited])


def verified(ask: Any, made: Draft, *texts: str, **how: Any) -> tuple[Verified, list[Any]]:
    world = research(*texts)
    world.grow(compose_answer(made, world.sources)[0])
    events = list(Verify(ask, 1000, **how)(world))
    assert isinstance(events[-1], Verified)
    return events[-1], events


def test_a_sentence_of_a_page_needs_no_model() -> None:
    ask = Judge("unsupported")
    text = FOUNDER
    found, _ = verified(ask, draft(f"{text[:-1]} [1].", (1, text)))
    assert [claim.verdict for claim in found.claims] == ["supported"] and not ask.asked


def test_all_that_is_open_is_asked_at_once() -> None:
    ask = Judge({"Boots of good rubber were made.": "supported", "": "partial"})
    made = draft(
        "Boots of good rubber were made [1]. Rubber boots were made for all [1].",
        (1, "The firm made rubber boots."),
    )
    found, _ = verified(ask, made, mode="all")
    assert ask.tasks == ["verify"]
    shown = ask.asked[0].prompt()
    assert '<claim id="1" cites="1">Boots of good rubber were made.</claim>' in shown
    assert "He built a pulp mill" in shown and "Tampere lies" not in shown  # what is cited
    assert [claim.verdict for claim in found.claims] == ["supported", "partial"]


@pytest.mark.parametrize(
    ("claim", "quote", "most"),
    [
        (
            "Nokia was founded by Ada Lindqvist.",
            FOUNDER,
            "unsupported",
        ),
        (
            "He built a mill in Tampere in 1866.",
            MILL,
            "partial",
        ),
        ("The firm never made rubber boots.", "The firm made rubber boots.", "unsupported"),
        ("Bananas are rich in potassium.", "The firm made rubber boots.", "partial"),
        ("Nokia made cars.", "Nokia made cars", "unsupported"),
    ],
)
def test_a_model_cannot_lift_what_the_rules_bar(claim: str, quote: str, most: str) -> None:
    order = ("unsupported", "partial", "supported")
    found, _ = verified(Judge(), draft(f"{claim[:-1]} [1].", (1, quote)), on_unsupported="flag")
    assert order.index(found.claims[0].verdict) <= order.index(most)


def test_a_quote_out_of_its_context_supports_nothing() -> None:
    assert (
        find_turning_word("Nobody thinks that ")
        and find_turning_word("It is a hoax that ")
        and find_turning_word("有谣言说")
    )
    assert not find_turning_word("Although Brazil did not qualify, ") and not find_turning_word("")


def test_a_name_near_a_quote_is_not_enough_but_a_pronoun_may_mean_it() -> None:
    firm = draft("Nokia made rubber boots [1].", (1, "The firm made rubber boots."))
    found, _ = verified(Judge(), firm)
    assert [claim.verdict for claim in found.claims] == ["partial"]
    mill = draft("Fredrik Idestam built a pulp mill in Tampere in 1865 [1].", (1, MILL))
    for says in ("supported", "partial"):
        found, _ = verified(Judge(says), mill)
        assert [claim.verdict for claim in found.claims] == [says]
    found, _ = verified(Judge(), mill, mode="rules")
    assert [claim.verdict for claim in found.claims] == ["partial"]


def test_better_evidence_is_found_in_what_was_read() -> None:
    ask = Judge("unsupported")
    made = draft(
        "He built a pulp mill in Tampere in 1865 [2].", (2, "Tampere lies between two lakes.")
    )
    found, _ = verified(ask, made)
    assert found.text == "He built a pulp mill in Tampere in 1865 [1]."
    assert [quote.text for quote in found.quotes] == [MILL]
    assert not ask.asked


def test_what_fails_is_said_anew_once_and_then_left_out() -> None:
    right = "The pulp mill was built in 1865"
    mends = draft(f"{right} [1]. It cost 9 marks [1].", (1, MILL))
    ask = Judge("supported", mends)
    made = draft("The pulp mill was built in 1920 [1].", (1, MILL))
    found, events = verified(ask, made)
    assert ask.tasks == ["mend"]
    assert "the number 1920 is not in its quotes" in ask.asked[0].prompt()
    assert found.text == f"{right} [1]." and not found.dropped
    mends = draft("Lies [7].", (7, "of another kind"))
    found, events = verified(Judge("supported", mends), made)
    assert found.claims == () and "do not answer" in found.text and not found.quotes
    assert [claim.text for claim in found.dropped] == ["The pulp mill was built in 1920."]
    told = [event.message for event in events if isinstance(event, Warned)]
    assert any("Left out" in line and "1920" in line for line in told)


def test_flagged_instead_of_dropped() -> None:
    made = draft("It was in 1920 [1].", (1, MILL))
    found, events = verified(Judge(), made, on_unsupported="flag")
    assert [claim.verdict for claim in found.claims] == ["unsupported"] and not found.dropped
    assert any("1920" in event.message for event in events if isinstance(event, Warned))


def test_by_rules_alone_no_model_is_asked() -> None:
    ask = Judge()
    made = draft("The founder had a mill [1]. It was 1920 [1].", (1, "The firm made rubber boots."))
    verified(ask, made, mode="rules")
    assert not ask.asked


@pytest.mark.parametrize(
    "error", [ModelFailed("down", "", outcome="unavailable"), Exhausted("up", "")]
)
def test_where_no_model_answers_the_rules_judge(error: Exception) -> None:
    def ask(_: Task[Any]) -> Any:
        raise error

    made = draft("The mill of his was in Tampere [1].", (1, MILL))
    found, events = verified(ask, made, mode="all")
    assert found.claims and found.claims[0].verdict in ("partial", "supported")
    told = [e for e in events if isinstance(e, Failed | Warned)]
    assert told and not any(event.type == "halted" for event in events)


def test_a_report_is_checked_like_an_answer() -> None:
    world = research()
    quote = FOUNDER
    answered, _ = compose_answer(
        draft("Nokia was founded by Fredrik Idestam [1].", (1, quote)), world.sources
    )
    true, lie = answered.claims[0], Claim(text="It was founded in 1920.", citations=(1,))
    themes = (Section(heading="Lies", claims=(lie,)), Section(heading="Truth", claims=(true, lie)))
    report = Report(title="Nokia", themes=themes, conflicts=(lie,), confidence="Low")
    world.grow(answered.model_copy(update={"report": report, "claims": (lie,)}))
    *_, found = Verify(Judge("supported"), 1000)(world)
    assert isinstance(found, Verified) and found.report
    assert [theme.heading for theme in found.report.themes] == ["Truth"]
    assert not found.report.conflicts and [c.text for c in found.dropped] == [lie.text]
    assert found.text == "Nokia was founded by Fredrik Idestam [1]."  # no empty summary


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("It made boots [1-2]. He went [1 and 2].", "It made boots [1][2]. He went [1][2]."),
        ("It made boots［1］. He went〔2〕.", "It made boots [1]. He went [2]."),
        ("Boots [[1]](https://x.example/). [He](x.html) went [^2].", "Boots [1]. He went [2]."),
        ("# Boots\n- It made some. [1]\n- He went. [2]", "It made some [1]. He went [2]."),
        ("1. It made some. [1]\n2. He went. [2]", "It made some [1]. He went [2]."),
        ("12. Mai 1865 war es [1].", "12. Mai 1865 war es [1]."),
        ("他造纸。[2]他说：“别的不做。”[2]真的[2]！", "他造纸[2]。他说：“别的不做[2]。”真的[2]！"),
        ("It went. [1] It went. [1]", "It went [1]."),
        ("[1] [2]", ""),
    ],
)  # fmt: skip
def test_markers_of_every_kind_are_read_and_marks_of_markdown_are_not(
    written: str, text: str
) -> None:
    found, _ = compose_answer(draft(written, (1, FOUNDER), (2, TAMPERE[:30])), research().sources)
    assert found.text == text


def test_a_draft_without_end_is_told_in_few_words() -> None:
    made = draft(" ".join(f"Mill {n} was built [1]." for n in range(300)), (1, MILL))
    found, told = compose_answer(made, research().sources, max_words=8)
    assert len(found.claims) == 2 and len(told) == 6 and told[-1].startswith("293 more")


# --- models that lie in every way ----------------------------------------------------------------

quotes = st.one_of(
    st.sampled_from([NOKIA, TAMPERE, NOKIA[:40], NOKIA[20:60], TAMPERE[-8:], "1865", "坦佩雷", ""]),
    st.tuples(st.integers(0, 120), st.integers(0, 60)).map(lambda p: NOKIA[p[0] : p[0] + p[1]]),
    st.text(max_size=30),
)
sentences = st.one_of(
    st.sampled_from(
        [
            "Nokia was founded by Ada",
            "Er baute 1920 eine Mühle",
            "坦佩雷有三个湖",
            "القمر جبن",
            NOKIA[:-1],
        ]
    ),
    st.text(max_size=60),
)
lies = st.builds(
    lambda parts, cited: Draft(
        answer=" ".join(f"{text} {''.join(f'[{n}]' for n in ns)}." for text, ns in parts),
        citations=[Cited(source=n, quote=quote) for n, quote in cited],
    ),
    st.lists(st.tuples(sentences, st.lists(st.integers(0, 4), max_size=3)), max_size=5),
    st.lists(st.tuples(st.integers(-1, 4), quotes), max_size=6),
)


@settings(deadline=None)
@given(lies, lies, st.sampled_from(["supported", "partial", "unsupported"]), st.booleans())
def test_whatever_a_model_says_what_is_cited_is_there(
    first: Draft, second: Draft, says: str, flag: bool
) -> None:
    world = research()
    world.grow(compose_answer(first, world.sources)[0])
    how = "flag" if flag else "drop"
    for event in Verify(Judge(says, second), 1000, on_unsupported=how)(world):
        world.grow(event)
    answer = world.answer
    assert answer is not None
    _holds(answer.text, answer.claims, answer.quotes, world)


def _holds(text: str, claims: Sequence[Claim], quotes: Sequence[Any], world: Research) -> None:
    quoted = {quote.source for quote in quotes}
    assert {n for claim in claims for n in claim.citations} == quoted
    assert not claims or cited_numbers(text) >= quoted
    places = {}
    for quote in quotes:
        page = world.sources[quote.source - 1].page
        assert page.text[quote.start : quote.end] == quote.text
        place = QuotePlace(page.text, page.title, quote.start, quote.end)
        places.setdefault(quote.source, []).append(place)
    for claim in claims:
        own = tuple(place for n in claim.citations for place in places[n])
        rules = decide_verdict(claim.text, own)
        assert claim.verdict != "supported" or (own and rules != "unsupported")
