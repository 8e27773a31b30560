"""What stands beside a sentence on its page: it turns what the page says, or it does not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checking.bench import text_around_quotes
from agent.checking.cited_claims import rule_claim
from agent.checking.context import find_turn
from agent.checking.rules import QuotePlace, is_proved
from agent.errors import ModelFailed
from agent.outside import Reply, Task
from agent.state import Claim, Hit, Page, PageRead, Quote, Research, Source, Verified, Warned
from agent.steps.judges import HINTS, JudgeClaims
from agent.steps.verify import Verify
from tests.support.services import parse_claims

#: A sentence in each language.
SAID = {
    "en": "The bridge was built by two brothers in 1884.",
    "de": "Die Brücke wurde 1884 von zwei Brüdern gebaut.",
    "fr": "Le pont fut construit en 1884 par deux frères.",
    "es": "El puente fue construido en 1884 por dos hermanos.",
    "it": "Il ponte fu costruito nel 1884 da due fratelli.",
    "pt": "A ponte foi construída em 1884 por dois irmãos.",
    "nl": "De brug werd in 1884 door twee broers gebouwd.",
    "ru": "Мост был построен в 1884 году двумя братьями.",
    "zh": "这座桥由两兄弟于1884年建造。",
    "ja": "この橋は1884年に二人の兄弟によって建てられた。",
    "ar": "شيد الأخوان الجسر القديم في عام 1884.",
}
BUILT = SAID["en"]
PAGES = Path(__file__).with_name("turns.toml")
STANDS = "it stands on the page, but not by itself: beside"
TURNING = [
    (tag, kind, form)
    for tag, halves in tomllib.loads(PAGES.read_text("utf-8")).items()
    for kind, form in halves["tune"].items()
]


def pages(title: str, text: str) -> tuple[Source, ...]:
    return read_pages((title, text)).sources


def read_pages(*told: tuple[str, str]) -> Research:
    """A research that has read pages of these titles and texts."""
    made = Research("Who built the bridge?")
    for n, (title, text) in enumerate(told, 1):
        url = f"https://example.org/{n}"
        page = Page.from_text(url, title, text, "2026-01-01T00:00:00Z")
        made.grow(PageRead(page=page, hit=Hit(url=url)))
    return made


class Judge:
    """A judge that says one thing of every claim; `asked` has their texts."""

    def __init__(self, verdict: str) -> None:
        self._verdict = verdict
        self.asked: list[str] = []

    def __call__(self, task: Task[Any]) -> Reply[Any]:
        if task.name != "verify":
            raise ModelFailed("nothing to say", "", outcome="invalid")
        claims = parse_claims(task.prompt())
        self.asked += [text for _, text in claims.values()]
        rows = [{"claim": n, "verdict": self._verdict, "source": 1} for n in claims]
        return Reply(answer=task.answer_type.model_validate({"verdicts": rows}), model="m")

    def collect(self, tasks: Sequence[Task[Any]]) -> Iterator[Reply[Any]]:
        return map(self, tasks)


@pytest.mark.parametrize(("tag", "kind", "form"), TURNING)
def test_a_sentence_that_its_page_does_not_say_stands_there_only(
    tag: str, kind: str, form: str
) -> None:
    title, _, body = form.partition("‖")
    told = pages(title, body.replace("¶", "\n").replace("{s}", SAID[tag]))
    ruling = rule_claim(SAID[tag], told)
    assert (ruling.verdict, ruling.quote and ruling.quote.text) == ("unchecked", SAID[tag])
    turn = ruling.reason.removeprefix(f"{STANDS} “").removesuffix("”")
    assert turn and turn in f"{title}\n{told[0].page.text}", "the reason is what the page says"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The Myth (2005 film)", "The Myth is a 2005 film.\n{}\nIt won a prize."),
        ("Dune (novel)", "Dune is a 1965 novel by Frank Herbert. {} It sold well."),
        ("Old bridges", "## History\n{} It opened on a false start, as the story goes on.\n"),
        ("Old bridges", "Note: It is old. {}\nMany people say that they like it."),
        ("Old bridges", "He called it “a gift”. {} “Nobody thanked them,” she wrote."),
        ("Old bridges", "Who built it? {} No bridge was longer. The reverse side is of stone."),
        ("Old bridges", "{}\nComments"),
        ("Old bridges", "The rumours about its age went round for years.\n{}\nConclusion"),
    ],
)
def test_a_plain_sentence_is_said_whatever_words_are_about(title: str, text: str) -> None:
    assert rule_claim(BUILT, pages(title, text.replace("{}", BUILT))).verdict == "supported"


def test_one_plain_page_proves_what_another_one_denies() -> None:
    denied, plain = f"{BUILT} This is false.", f"It is old. {BUILT}"
    told = read_pages(("A", denied), ("B", plain)).sources
    ruling = rule_claim(BUILT, told)
    assert ruling.verdict == "supported" and ruling.quote and ruling.quote.source == 2
    assert is_proved(BUILT, [QuotePlace(denied, "", 0, 9), QuotePlace(plain, "", 12, 20)])


@pytest.mark.parametrize(
    ("page", "claim", "verdict"),
    [
        ("“{}” Ann Solvik wrote.", "“{}” Ann Solvik wrote.", "supported"),
        ("Ann Solvik never wrote “{}”", "Ann Solvik never wrote “{}”", "supported"),
        ("“{}” Ann Solvik wrote on Monday.", "Ann Solvik wrote: “{}”", "unchecked"),
        ("Ann Solvik denied that “{}”", "“{}” Ann Solvik wrote.", "unchecked"),
        ("“{}” Ann Solvik wrote to Bo Lund.", "“{}” Bo Lund wrote.", "unchecked"),
    ],
)
def test_who_says_a_quotation_is_left_to_a_judge(page: str, claim: str, verdict: str) -> None:
    bare = BUILT.rstrip(".")
    text = page.format(BUILT if "“" not in page else f"{bare},")
    assert rule_claim(claim.format(f"{bare},"), pages("Bridges", text)).verdict == verdict


def answer(arm: bool | None, text: str) -> tuple[Verified, list[Any], Judge]:
    """What becomes of the sentence in an answer: with a judge that says yes, no, or none."""
    from agent.evidence.citing import compose_answer
    from agent.state import Cited, Draft

    world: Research = read_pages(("Bridges", text))
    assert list(world.events_of(PageRead))
    made = Draft(answer=f"{BUILT} [1]", citations=[Cited(source=1, quote=BUILT)])
    world.grow(compose_answer(made, world.sources)[0])
    judge = Judge("supported" if arm else "unsupported")
    events = list(Verify(judge, 1000, mode="rules" if arm is None else "model")(world))
    assert isinstance(events[-1], Verified)
    return events[-1], events, judge


def test_an_answer_says_of_a_turned_sentence_that_it_is_not_confirmed() -> None:
    page = f"## Myths\n{BUILT}\n## Facts\nA company built it."
    found, events, _ = answer(None, page)
    assert [claim.verdict for claim in found.claims] == ["unchecked"]
    (told,) = [event.message for event in events if isinstance(event, Warned)]
    assert told == f"Not confirmed, {STANDS} “Myths”: {BUILT}"
    assert answer(True, page)[0].claims[0].verdict == "supported"
    assert answer(False, page)[0].claims == ()
    plain, events, judge = answer(True, f"## History\n{BUILT}")
    assert plain.claims[0].by == "rule" and not judge.asked, "no call for a plain page"
    assert not any(isinstance(event, Warned) for event in events)


def test_a_judge_is_shown_headings_and_neighbours() -> None:
    text = f"# Bridges\nOf old.\n## Built when?\nSome were.\nOne is known. {BUILT} Others too. End."
    start = text.index(BUILT)
    quote = Quote(source=1, text=BUILT, start=start, end=start + len(BUILT), match="exact")
    (page,) = (source.page for source in pages("", text))
    shown = "\n".join(text_around_quotes(page, [quote]))
    assert all(part in shown for part in ("# Bridges", "## Built when?", "One is known.", "Others"))
    assert "Some were." not in shown and "End." not in shown


@given(st.text(max_size=300), st.text(max_size=60), st.integers(0, 300), st.integers(0, 60))
def test_any_page_is_read(text: str, title: str, start: int, length: int) -> None:
    turn = find_turn(text, title, start, start + length)
    assert not turn or turn in f"{title}\n{text}"


def test_a_judge_is_told_hints_only_where_there_are_some() -> None:
    claims = (Claim(text=BUILT, citations=(1,)), Claim(text="It is old.", citations=(1,)))
    plain = JudgeClaims(topic="Bridges", claims=claims, hints=("", "")).prompt()
    assert plain == JudgeClaims(topic="Bridges", claims=claims).prompt()
    told = JudgeClaims(topic="Bridges", claims=claims, hints=("", "below <Myths>")).prompt()
    assert told.startswith(plain) and told.endswith(f"{HINTS}\n2. below &lt;Myths&gt;")
