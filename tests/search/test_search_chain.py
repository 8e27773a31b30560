"""The chain: who is asked, in which order, and what each refusal means for the rest of the run."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from agent.errors import SearchFailed
from agent.search.circuit_breaker import COOLDOWN, CircuitBreaker
from agent.search.provider_chain import SearchChain
from agent.state import Attempt, Hit, Outcome, SearchResults

HIT = Hit(url="https://example.org/a", title="A", snippet="about a")

Answer = tuple[Hit, ...] | Exception
Asked = list[tuple[str, str]]


def refusal(outcome: Outcome, after: float | None = None) -> SearchFailed:
    return SearchFailed(f"it said {outcome}", "a remedy", outcome=outcome, retry_after=after)


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.time

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


class Engine:
    """A provider that answers as caught, one answer a query; the last one is repeated."""

    def __init__(self, name: str, asked: Asked, *answers: Answer) -> None:
        self.name, self.asked, self.answers = name, asked, list(answers)
        self._lock = threading.Lock()

    def search(self, query: str) -> tuple[Hit, ...]:
        with self._lock:
            self.asked.append((self.name, query))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class World:
    """A chain of engines `a`, `b`, ... with a clock, and a record of who was asked."""

    def __init__(self, *answers: list[Answer]) -> None:
        self.asked: Asked = []
        self.clock = Clock()
        engines = [
            Engine(name, self.asked, *given) for name, given in zip("abcdef", answers, strict=False)
        ]
        self.chain = SearchChain(engines, now=self.clock, pause=self.clock.pause)

    def names(self) -> str:
        return "".join(name for name, _ in self.asked)


def outcomes(found: SearchResults | SearchFailed) -> list[str]:
    return [f"{attempt.provider}:{attempt.outcome}" for attempt in found.attempts]


def failure(ask: Callable[[], object]) -> SearchFailed:
    with pytest.raises(SearchFailed) as caught:
        ask()
    return caught.value


# --- order and what counts as an answer --------------------------------------------------------


def test_the_first_that_has_hits_answers_and_nobody_else_is_asked() -> None:
    world = World([(HIT,)], [(HIT,)])
    found = world.chain("q")
    assert (found.provider, found.hits, world.names()) == ("a", (HIT,), "a")
    assert outcomes(found) == ["a:ok"] and found.attempts[0].detail == "hits: 1"


def test_no_results_moves_on_and_is_no_failure() -> None:
    world = World([()], [refusal("unavailable")], [(HIT,)])
    found = world.chain("q")
    assert outcomes(found) == ["a:empty", "b:unavailable", "c:ok"] and found.provider == "c"


def test_some_empty_and_some_failed_is_an_answer_without_hits() -> None:
    found = World([()], [refusal("timeout")]).chain("q")
    assert (found.hits, outcomes(found)) == ((), ["a:empty", "b:timeout"])


def test_all_failed_is_one_error_that_names_each_and_why() -> None:
    world = World([refusal("no_key")], [refusal("timeout")], [refusal("bad_key")])
    error = failure(lambda: world.chain("q"))
    assert "a: it said no_key; b: it said timeout; c: it said bad_key" in error.message
    assert error.remedy == "a remedy" and error.outcome == "timeout"
    assert outcomes(error) == ["a:no_key", "b:timeout", "c:bad_key"]


# --- what a refusal means ----------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["no_key", "bad_key", "no_credit"])
def test_final_refusals_are_not_asked_again(outcome: Outcome) -> None:
    world = World([refusal(outcome)], [(HIT,)])
    first, second = world.chain("one"), world.chain("two")
    assert world.asked == [("a", "one"), ("b", "one"), ("b", "two")]
    assert outcomes(first) == outcomes(second) == [f"a:{outcome}", "b:ok"]
    again = second.attempts[0]
    assert again.seconds == 0 and again.remedy == "a remedy"
    if outcome == "no_key":  # nobody was asked the first time either: the same row
        assert again == first.attempts[0]
    else:
        assert again.detail == f"not asked again: it said {outcome}"


def test_rate_limited_rests_as_long_as_it_says_while_the_next_is_asked() -> None:
    world = World([refusal("rate_limited", 20), (HIT,)], [(HIT,)])
    assert world.chain("one").provider == "b"
    assert (
        world.chain("two").attempts[0].detail
        == "not asked, paused after failures: it said rate_limited"
    )
    world.clock.time += 20
    assert world.chain("three").provider == "a"
    assert world.names() == "abba" and not world.clock.pauses


def test_a_short_rest_is_waited_for_when_nobody_else_answers() -> None:
    world = World([refusal("rate_limited", 3), (HIT,)], [refusal("timeout")])
    found = world.chain("q")
    assert outcomes(found) == ["a:rate_limited", "b:timeout", "a:ok"]
    assert world.clock.pauses == [3] and world.names() == "aba"


@pytest.mark.parametrize("outcome", ["timeout", "unavailable", "invalid", "rejected", "blocked"])
def test_any_other_failure_moves_on_and_the_third_in_a_row_rests(outcome: Outcome) -> None:
    world = World([refusal(outcome)], [(HIT,)])
    for _ in range(4):
        assert outcomes(world.chain("q")) == [f"a:{outcome}", "b:ok"]
    assert world.names() == "ab" * 3 + "b"
    world.clock.time += COOLDOWN
    world.chain("q")  # one try after the rest; it fails, so it rests again
    world.chain("q")
    assert world.names() == "ab" * 3 + "b" + "ab" + "b"


def test_a_success_does_not_end_a_rest_that_the_service_asked_for() -> None:
    """Two queries at once: the one that was answered later must not undo the other's refusal."""
    breaker = CircuitBreaker(Clock())
    breaker.record(Attempt(what="search", provider="a", outcome="rate_limited"), 10)
    breaker.record(Attempt(what="search", provider="a", outcome="ok"), None)
    assert breaker.skipped_attempt("a")


def test_nothing_that_a_provider_raises_leaves_the_chain() -> None:
    world = World([KeyError("api_key=secret")], [RecursionError("secret")], [(HIT,)])
    found = world.chain("q")
    assert outcomes(found) == ["a:invalid", "b:invalid", "c:ok"]
    assert "KeyError" in found.attempts[0].detail and "secret" not in str(found.attempts)
