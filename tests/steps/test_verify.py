"""Verify: what a model may lie about, and what reaches the user all the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.calls import Reply, Task
from agent.errors import AgentError, Exhausted
from agent.evidence import anchor_quote
from agent.evidence.citing import compose_answer
from agent.evidence.markers import cited_numbers
from agent.slots.weighing import make_findings
from agent.state import (
    Asked,
    Cited,
    Claim,
    Draft,
    Hit,
    Page,
    PageRead,
    Reflected,
    Report,
    Research,
    Section,
    Slot,
    Statement,
    Verified,
    Warned,
)
from agent.steps.judges import JudgeClaims, Judgements
from agent.steps.verify import MendClaims, Verify
from agent.verification.judge_view import QuotePlace
from agent.verification.judged_claims import shown_text
from agent.verification.rules import is_quoted, missing_in_quotes

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


def research(*texts: str, titles: Sequence[str] = ()) -> Research:
    made = Research("Who founded Nokia?")
    for n, text in enumerate(texts or TEXTS, 1):
        title = titles[n - 1] if titles else f"Page {n}"
        url = f"https://example.org/{n}"
        sha = hashlib.sha256(text.encode()).hexdigest()
        page = Page(url=url, title=title, text=text, sha256=sha, retrieved_at="")
        made.grow(PageRead(page=page, hit=Hit(url=url, date="2024-05-01" if n == 1 else None)))
    return made


class Judge:
    """A model with fixed verdicts, by the text of the claim, and one draft for what failed."""

    def __init__(
        self,
        says: dict[str, str] | str = "supported",
        mends: Draft | None = None,
        names: int | None = None,
    ) -> None:
        """`says` by a claim's text as it is shown; "" for any other. `names`: a source."""
        self._says = {"": says} if isinstance(says, str) else says
        self._mends = mends or Draft(answer="")
        self._names = names
        self.asked: list[Task[Any]] = []

    def __call__(self, task: Task[Any]) -> Reply[Any]:
        self.asked.append(task)
        if isinstance(task, MendClaims):
            return Reply(answer=self._mends, model="scripted")
        assert isinstance(task, JudgeClaims)
        rows = []
        for n, claim in enumerate(task.claims, 1):
            if says := self._says.get(shown_text(claim), self._says.get("")):
                rows.append({"claim": n, "verdict": says, "source": self._names})
        return Reply(answer=Judgements.model_validate({"verdicts": rows}), model="scripted")

    def collect(self, tasks: Sequence[Task[Any]]) -> Iterator[Reply[Any]]:
        return map(self, tasks)

    @property
    def tasks(self) -> list[str]:
        return [task.name for task in self.asked]


class FailingJudge:
    """A model that fails, or that a budget forbids to ask."""

    def __init__(self, error: AgentError) -> None:
        self._error = error
        self.count = 0

    def __call__(self, _: Task[Any]) -> Any:
        raise self._error

    def collect(self, tasks: Sequence[Task[Any]]) -> Iterator[Any]:
        self.count += len(tasks)
        return iter([self._error] * len(tasks))


def draft(answer: str, *cited: tuple[int, str]) -> Draft:
    return Draft(answer=answer, citations=[Cited(source=n, quote=quote) for n, quote in cited])


def verified(
    ask: Any, made: Draft, *texts: str, titles: Sequence[str] = (), **how: Any
) -> tuple[Verified, list[Any]]:
    world = research(*texts, titles=titles)
    world.grow(compose_answer(made, world.sources)[0])
    events = list(Verify(ask, 1000, **how)(world))
    assert isinstance(events[-1], Verified)
    return events[-1], events


def verdicts(found: Verified) -> list[tuple[str, str]]:
    return [(claim.verdict, claim.by) for claim in found.claims]


RAIN, HERE = "The weather was fine that year.", "It stands in Tampere to this day."


@pytest.mark.parametrize(
    ("answer", "cited", "text"),
    [
        ("He did [1].", [(1, HERE)], "He did [2]."),
        ("He did [1].", [(1, RAIN), (1, HERE)], "He did [1][2]."),
        ("He did [1].", [(1, "in Tampere")], "He did."),
        ("A [1]. B [2].", [(1, HERE), (2, RAIN)], "A [2]. B [1]."),
    ],
)
def test_a_quote_is_taken_from_the_page_that_has_it(
    answer: str, cited: list[tuple[int, str]], text: str
) -> None:
    """Word for word, and long enough to tell that page."""
    sources = research(RAIN, f"Idestam founded the mill. {HERE}").sources
    found, _ = compose_answer(draft(answer, *cited), sources)
    assert found.text == text
    assert all(q.text == sources[q.source - 1].page.text[q.start : q.end] for q in found.quotes)


def test_a_judge_sees_a_sentence_of_a_page_with_its_context() -> None:
    """A page may deny or invent what stands in it word for word."""
    text = (
        "# Lies about phones\nThese are told to children. Nokia was founded by elves. None is true."
    )
    ask = Judge("unsupported")
    found, _ = verified(ask, draft("Nokia was founded by elves [1].", (1, "by elves")), text)
    assert ask.tasks == ["verify"] and not found.claims
    assert [(c.verdict, c.by) for c in found.dropped] == [("unsupported", "scripted")]
    shown = ask.asked[0].prompt()
    assert "Lies about phones" in shown and "told to children" in shown and "None is true" in shown


@pytest.mark.parametrize(
    ("ask", "mode"),
    [
        (Judge(), "rules"),
        (Judge({"another claim": "supported"}), "model"),  # it leaves this one out
        (FailingJudge(Exhausted("The budget is used up.", "")), "model"),
    ],
)
def test_without_a_verdict_a_sentence_of_a_page_is_quoted(ask: Any, mode: str) -> None:
    found, _ = verified(ask, draft(f"{FOUNDER[:-1]} [1].", (1, FOUNDER)), mode=mode)
    assert verdicts(found) == [("quoted", "rule")]
    # also where its quote was lost: it is found again, word for word
    made = draft(f"{FOUNDER[:-1]} [1]. More is known [2].", (1, "invented"), (2, TAMPERE[:33]))
    found, _ = verified(ask, made, mode=mode)
    assert found.text.startswith(f"{FOUNDER[:-1]} [1].") and verdicts(found)[0] == (
        "quoted",
        "rule",
    )


def test_a_claim_with_a_name_of_nowhere_is_not_delivered_where_nobody_judged() -> None:
    text = "Rubel Athletic won the cup. It rained."
    made = draft("Paris Saint-Germain won the cup [1].", (1, "Rubel Athletic won the cup."))
    for ask, mode in (
        (Judge(), "rules"),
        (FailingJudge(Exhausted("The budget is used up.", "")), "model"),
    ):
        found, events = verified(ask, made, text, mode=mode)
        assert not found.claims and [c.verdict for c in found.dropped] == ["unsupported"]
        assert any("Paris Saint-Germain is not in its quotes" in str(e) for e in events)
    found, _ = verified(Judge("supported"), made, text)
    assert verdicts(found) == [("partial", "scripted")]


def test_all_that_is_open_is_put_to_a_judge_with_question_and_surroundings() -> None:
    ask = Judge({"Boots of good rubber were made.": "supported", "": "partial"})
    made = draft(
        "Boots of good rubber were made [1]. Rubber boots were made for all [1].",
        (1, "The firm made rubber boots."),
    )
    found, _ = verified(ask, made)
    assert ask.tasks == ["verify"]
    shown = ask.asked[0].prompt()
    assert '<claim id="1" cites="1">Boots of good rubber were made.</claim>' in shown
    assert "<topic>Who founded Nokia?</topic>" in shown
    assert 'site="example.org" date="2024-05-01">' in shown
    assert "He built a pulp mill" in shown and "Tampere lies" not in shown  # what is cited
    assert verdicts(found) == [("supported", "scripted"), ("partial", "scripted")]
    found, _ = verified(Judge({"Rubber boots were made for all.": "partial"}), made)
    assert verdicts(found)[0][0] == "unchecked"  # which the judge left out


@pytest.mark.parametrize(("batch", "calls"), [(2, 3), (8, 1)])
def test_so_many_claims_go_into_a_call_and_events_are_in_their_order(
    batch: int, calls: int
) -> None:
    ask = Judge({"": "supported"} | {f"Boot {n} was black.": "partial" for n in (1, 3)})
    text = " ".join(f"Boot {n} was black [1]." for n in range(5))
    boots = "They made boot 0, boot 1, boot 2, boot 3 and boot 4, all of them black."
    found, events = verified(ask, draft(text, (1, boots)), boots, batch=batch)
    assert ask.tasks == ["verify"] * calls
    assert [e.task for e in events if isinstance(e, Asked)] == ["verify"] * calls
    kinds = ["supported", "partial", "supported", "partial", "supported"]
    assert [claim.verdict for claim in found.claims] == kinds


@pytest.mark.parametrize(
    ("n", "claim", "quote"),
    [
        (1, "A mill was built in Tampere in 1866", MILL),
        (2, "Tampere had 5,000 mills in 1865, and 12 lakes", "In 1865 it had 5,000 people."),
    ],
)
def test_no_judge_makes_a_wrong_number_supported(n: int, claim: str, quote: str) -> None:
    made = draft(f"{claim} [{n}].", (n, quote))
    found, _ = verified(Judge("supported"), made)
    assert verdicts(found) == [("partial", "scripted")]
    found, _ = verified(Judge(), made, mode="rules")
    assert not found.claims and [c.verdict for c in found.dropped] == ["unsupported"]


def test_a_better_sentence_is_cited_if_the_judge_names_it() -> None:
    """The quote was copied from the wrong page; the right one is offered beside it."""
    made = draft("Fredrik Idestam founded Nokia [2].", (2, "Tampere lies between two lakes."))
    asked = Judge("supported", names=1)
    found, _ = verified(asked, made)
    assert '<claim id="1" cites="2,1">' in asked.asked[0].prompt()
    assert found.text == "Fredrik Idestam founded Nokia [1]."
    assert [quote.text for quote in found.quotes] == [FOUNDER]
    found, _ = verified(Judge("supported", names=2), made)
    assert found.text == "Fredrik Idestam founded Nokia [2]."
    found, _ = verified(Judge("contradicted", names=1), made)
    assert not found.claims and [c.verdict for c in found.dropped] == ["contradicted"]


def test_a_number_is_never_taken_from_a_page_about_something_else() -> None:
    """The claim's own quote says 3-1; another page says 2-0 of another cup."""
    right = "The 2031 final was played in Elm. The final score was 3-1 in favour of Rubel Athletic."
    other = "The 2030 final was played in Oak. Rubel Athletic won 2-0. Nobody was surprised."
    made = draft("Rubel Athletic won 2-0 [1].", (1, "The final score was 3-1"))
    for ask, how in ((Judge("supported", names=2), "model"), (Judge(), "rules")):
        found, _ = verified(ask, made, right, other, mode=how)
        assert all(c.citations == (1,) and c.verdict != "supported" for c in found.claims)
        assert not any("2030" in task.prompt() for task in ask.asked if task.name == "verify")


def test_a_refusal_in_any_words_gets_no_repair_call() -> None:
    ask, refusal = Judge("unsupported"), "Die Quellen sagen nichts dazu"
    found, _ = verified(ask, draft(f"{refusal} [1].", (1, "The firm made rubber boots.")))
    assert ask.tasks == ["verify"]
    assert not found.claims and not found.quotes and "do not answer" in found.text


def test_what_fails_is_said_anew_once_and_judged_like_any_claim() -> None:
    made = draft(f"{FOUNDER[:-1]} [1]. The mill was built in 1920 [1].", (1, FOUNDER), (1, MILL))
    says = {"The mill was built in 1920.": "contradicted", "": "supported"}
    mends = draft("The mill dates from 1865 [1]. It cost 9 marks [1].", (1, MILL))
    ask = Judge(says, mends)
    found, _ = verified(ask, made)
    assert ask.tasks == ["verify", "mend", "verify"]
    assert "1920 is not in its quotes" in ask.asked[1].prompt()
    assert [c.text for c in found.claims][1] == "The mill dates from 1865."
    assert [c.verdict for c in found.claims] == ["supported", "supported", "partial"]  # 9 marks
    worse = Judge(says | {"The mill dates from 1865.": "unsupported"}, draft("Lies [7]."))
    found, events = verified(worse, made)
    assert found.text == f"{FOUNDER[:-1]} [1]."
    assert [claim.text for claim in found.dropped] == ["The mill was built in 1920."]
    told = [event.message for event in events if isinstance(event, Warned)]
    assert any("Left out" in line and "1920" in line for line in told)


def test_flagged_instead_of_dropped() -> None:
    made = draft("A mill of 1920 [1].", (1, MILL))
    found, events = verified(Judge("unsupported"), made, on_unsupported="flag")
    assert [claim.verdict for claim in found.claims] == ["unsupported"] and not found.dropped
    assert any("1920" in event.message for event in events if isinstance(event, Warned))


SCORED = "1 goal: The goals were scored by Ann Lee, Bo Kim and Cy Ray. Di Poe missed a penalty."
TABLE = "| Player | Goals |\n| --- | --- |\n| Ann Lee | 1 [1] |"


@pytest.mark.parametrize(
    ("written", "says", "shown", "text"),
    [
        (
            "Three players scored:\n- Ann Lee [1]\n- Bo Kim [1]\n- Di Poe [1]",
            {"Three players scored: Di Poe": "contradicted", "": "supported"},
            ">Three players scored: Ann Lee</claim>",
            "Three players scored:\n- Ann Lee [1]\n- Bo Kim [1]",
        ),
        (
            f"{TABLE}\n| Bo Kim | 7 [1] |",
            {"| Player | Goals | | Bo Kim | 7 |": "contradicted", "": "supported"},
            "| Bo Kim | 7 |</claim>",
            TABLE,
        ),
    ],
)
def test_items_and_rows_are_judged_below_their_intro_each_by_itself(
    written: str, says: dict[str, str], shown: str, text: str
) -> None:
    ask = Judge(says)
    found, _ = verified(ask, draft(written, (1, SCORED)), SCORED)
    assert shown in ask.asked[0].prompt() and found.text == text
    assert len(found.dropped) == len(says) - 1


def filled(world: Research, *rows: tuple[str, int, str]) -> None:
    """Let the slot `founder` have these values, each with its source and quote."""
    said = []
    for value, n, text in rows:
        quote = anchor_quote(text, world.sources[n - 1])
        assert quote
        said.append(Statement(slot="founder", value=value, quote=quote))
    world.slots = (Slot(name="founder"),)
    findings = make_findings(world.slots, said, world.sources)
    world.grow(Reflected(round=1, findings=findings, said=tuple(said), need_more=False))


def checked(world: Research, ask: Judge, **how: Any) -> Verified:
    *_, found = Verify(ask, 1000, **how)(world)
    assert isinstance(found, Verified)
    return found


LAKES = ("Tampere", 2, "Tampere lies between two lakes.")


def test_values_of_slots_are_judged_in_the_same_call() -> None:
    world, ask = research(), Judge()
    filled(world, ("Fredrik Idestam", 1, FOUNDER))
    world.grow(compose_answer(draft("Idestam founded it [1].", (1, FOUNDER)), world.sources)[0])
    (finding,) = checked(world, ask).findings
    assert ask.tasks == ["verify"]
    assert ">founder: Fredrik Idestam</claim>" in ask.asked[0].prompt()
    assert (finding.status, finding.verdict, finding.by) == ("filled", "supported", "scripted")


@pytest.mark.parametrize(
    ("says", "left"),
    [("supported", [("supported", "scripted")]), ("unsupported", []), ("", [("quoted", "rule")])],
)
def test_sentences_added_to_a_draft_are_judged_in_the_same_call(
    says: str, left: list[tuple[str, str]]
) -> None:
    world, judge = research(), Judge({LAKES[2]: says, "": "supported" if says else ""})
    filled(world, LAKES)
    world.grow(compose_answer(draft("Idestam founded it [1].", (1, FOUNDER)), world.sources)[0])
    found = checked(world, judge)
    assert judge.tasks == ["verify"] and f">{LAKES[2]}</claim>" in judge.asked[0].prompt()
    added = [claim for claim in found.claims if claim.text == LAKES[2]]
    assert [(claim.verdict, claim.by) for claim in added] == left


def test_a_value_that_fails_is_missing_or_gives_way_to_another() -> None:
    world, judge = research(), Judge({"founder: Tampere": "unsupported", "": "supported"})
    filled(world, LAKES)
    world.grow(compose_answer(draft("Idestam founded it [1].", (1, FOUNDER)), world.sources)[0])
    (finding,) = checked(world, judge).findings
    assert (finding.status, finding.value) == ("missing", None)
    (finding,) = checked(world, judge, mode="rules").findings
    assert (finding.status, finding.verdict) == ("filled", "unchecked")
    filled(world, LAKES, ("Idestam", 1, FOUNDER))
    assert world.findings["founder"].status == "conflict"
    (finding,) = checked(world, judge).findings
    assert (finding.status, finding.value, finding.verdict) == ("filled", "Idestam", "supported")
    assert [quote.source for quote in finding.quotes] == [1] and not finding.alternatives


def test_a_report_is_checked_like_an_answer() -> None:
    world, made = research(), draft(f"{FOUNDER[:-1]} [1].", (1, FOUNDER))
    answered, _ = compose_answer(made, world.sources)
    true, lie = answered.claims[0], Claim(text="It was founded in 1920.", citations=(1,))
    themes = (Section(heading="Lies", claims=(lie,)), Section(heading="Truth", claims=(true, lie)))
    report = Report(title="Nokia", themes=themes, conflicts=(lie,))
    world.grow(answered.model_copy(update={"report": report, "claims": (lie,)}))
    found = checked(world, Judge({shown_text(true): "supported", "": "unsupported"}))
    assert found.report and [theme.heading for theme in found.report.themes] == ["Truth"]
    assert not found.report.conflicts and [c.text for c in found.dropped] == [lie.text]
    assert found.text == f"{FOUNDER[:-1]} [1]."  # no empty summary


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("It made boots [1-2]. He went [1 and 2].", "It made boots [1][2]. He went [1][2]."),
        ("Boots [[1]](https://x.example/). [He](x.html) went [^2].", "Boots [1]. He went [2]."),
        ("# Boots\n- It made some. [1]\n- He went. [2]", "- It made some [1].\n- He went [2]."),
        ("Boots [1]:\n\n* some\n* more [2]", "Boots:\n- some [1]\n- more [2]"),
        ("It went [1]. All:\n|a|b|\n|-|:-:|\n|1|2|[1]|\nSo [2].",
         "It went [1].\n\nAll:\n\n| a | b |\n| --- | --- |\n| 1 | 2 [1] |\n\nSo [2]."),
        ("12. Mai 1865 war es [1].", "12. Mai 1865 war es [1]."),
        ("他造纸。[2]他说：“别的不做。”[2]真的[2]！", "他造纸[2]。他说：“别的不做[2]。”真的[2]！"),
        ("[1] [2]", ""),
    ],
)  # fmt: skip
def test_markers_of_every_kind_are_read_and_marks_of_markdown_are_not(
    written: str, text: str
) -> None:
    found, _ = compose_answer(draft(written, (1, FOUNDER), (2, TAMPERE[:30])), research().sources)
    assert found.text == text


quotes = st.one_of(
    st.sampled_from([NOKIA, TAMPERE, NOKIA[:40], NOKIA[20:60], TAMPERE[-8:], "1865", "坦佩雷", ""]),
    st.tuples(st.integers(0, 120), st.integers(0, 60)).map(lambda p: NOKIA[p[0] : p[0] + p[1]]),
    st.text(max_size=30),
)
known = ["Nokia was founded by Ada", "Er baute 1920 eine Mühle", "坦佩雷有三个湖", "القمر جبن"]
sentences = st.sampled_from([*known, NOKIA[:-1]]) | st.text(max_size=60)
lies = st.builds(
    lambda parts, cited: Draft(
        answer=" ".join(f"{text} {''.join(f'[{n}]' for n in ns)}." for text, ns in parts),
        citations=[Cited(source=n, quote=quote) for n, quote in cited],
    ),
    st.lists(st.tuples(sentences, st.lists(st.integers(0, 4), max_size=3)), max_size=5),
    st.lists(st.tuples(st.integers(-1, 4), quotes), max_size=6),
)


@settings(deadline=None)
@given(
    lies,
    lies,
    st.sampled_from(["supported", "partial", "unsupported", "contradicted"]),
    st.booleans(),
)
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
        if claim.verdict == "supported":
            assert own and (is_quoted(claim.text, own) or not missing_in_quotes(claim.text, own))
