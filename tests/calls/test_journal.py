"""The journal: each call once, on disk as it ends, and never a key in it."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.calls.deadline import WaitLimits
from agent.calls.journal import Journal
from agent.calls.journal_lines import VERSION
from agent.calls.journal_reader import read_journal
from agent.calls.recorded_call import RecordedCall
from agent.errors import Exhausted, ExternalCallError, JournalError, SearchFailed, Stopped
from agent.run.begin import research
from agent.settings import parse_settings
from agent.state.json_data import Json
from tests.support.services import GEMINI_KEY, SERPAPI_KEY, Services
from tests.support.thinker import Fact, Thinker


class Echo(RecordedCall[str, str]):
    """A call that is made by a function of the test."""

    name = "search"
    go: Callable[[str], str]
    check: Callable[[str], None]

    def make(self, request: str) -> str:
        return self.go(request)

    def encode_request(self, request: str) -> Json:
        return {"query": request}

    def encode_response(self, response: str) -> Json:
        return {"text": response}

    def decode_response(self, request: str, written: Json) -> str:
        return str(written["text"])

    def permit(self, request: str) -> None:
        self.check(request)

    def check_time(self, request: str) -> None:
        """There is no limit."""


def recorded(
    journal: Journal,
    go: Callable[[str], str],
    limit: float = 5,
    patience: float = 0.2,
    permit: Callable[[str], None] = lambda _: None,
) -> RecordedCall[str, str]:
    call = Echo(journal, WaitLimits(timeout=limit, patience=patience))
    call.go, call.check = go, permit
    return call


def forbidden(text: str) -> str:
    raise AssertionError(f"called for {text}")


def written(path: Path, *texts: str) -> None:
    """Resume a journal, make these calls and close it."""
    journal = Journal.resume(path, {"run": "r"})
    call = recorded(journal, str.upper)
    assert [call(text) for text in texts] == [text.upper() for text in texts]
    journal.close()


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_call_is_made_once_and_shared(tmp_path: Path) -> None:
    made: list[str] = []

    def go(text: str) -> str:
        made.append(text)
        time.sleep(0.05)
        return text.upper()

    journal = Journal.begin(tmp_path / "a.jsonl", {"run": "r"})
    call = recorded(journal, go)
    futures = [call.start("x") for _ in range(20)]
    assert {future.result(2) for future in futures} == {"X"} and call("x") == "X"
    assert made == ["x"] and len(journal.calls) == 1
    journal.close()
    header, line = lines(tmp_path / "a.jsonl")
    assert header == {"journal": VERSION, "run": "r"}
    assert line["request"] == {"query": "x"} and line["response"] == {"text": "X"}


def test_of_two_limits_the_run_reports_the_one_that_its_replay_reports(tmp_path: Path) -> None:
    def refuse(limit: str) -> None:
        raise Exhausted(limit)

    journal = Journal.begin(tmp_path / "a.jsonl", {"run": "r"})
    call = recorded(journal, str.upper, permit=refuse)
    for limit in ("tokens", "calls"):
        with pytest.raises(Exhausted, match="tokens"):
            call(limit)
    journal.close()
    assert lines(tmp_path / "a.jsonl")[1:] == [{"halt": "tokens"}]


@given(st.lists(st.text(), max_size=8), st.text())
def test_a_journal_answers_without_a_call(texts: list[str], suffix: str) -> None:
    first = Journal({})
    call = recorded(first, lambda text: text + suffix)
    replies = [call(text) for text in texts]
    stored = [json.loads(json.dumps(line)) for line in first.calls]
    again = Journal({}, {line["key"]: line for line in stored})

    assert [recorded(again, forbidden)(text) for text in texts] == replies


def test_an_unexpected_error_is_reported_without_its_text() -> None:
    def go(_: str) -> str:
        raise KeyError("api_key=secret")

    with pytest.raises(SearchFailed) as failure:
        recorded(Journal({}), go)("x")
    assert "KeyError" in failure.value.message and "secret" not in failure.value.message


def test_a_straggler_is_missed_and_stays_missed() -> None:
    release = threading.Event()

    def go(text: str) -> str:
        if text == "slow":
            release.wait(5)
        return text

    journal = Journal({})
    call = recorded(journal, go)
    outcomes = list(call.collect(["a", "slow", "b"]))
    assert outcomes[0] == "a" and outcomes[2] == "b"
    assert isinstance(outcomes[1], ExternalCallError) and outcomes[1].outcome == "missed"
    release.set()
    with pytest.raises(SearchFailed):
        call("slow")
    assert sum(line["request"]["query"] == "slow" for line in journal.calls) == 1


def test_a_call_that_hangs_times_out() -> None:
    release = threading.Event()
    call = recorded(Journal({}), lambda text: str(release.wait(5)), limit=0.2)
    with pytest.raises(SearchFailed) as failure:
        call("x")
    release.set()
    assert failure.value.outcome == "timeout"


def test_after_a_stop_no_call_is_made() -> None:
    journal = Journal({})
    call = recorded(journal, lambda text: text)
    assert call("before") == "before"
    journal.stop.set()
    assert call("before") == "before"
    with pytest.raises(Stopped):
        call("after")


def test_a_full_disk_costs_the_journal_not_the_run(tmp_path: Path) -> None:
    """A limit on file size imitates the disk: the header fits, the first call does not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = Journal.begin(tmp_path / "a.jsonl", {"run": "r"})
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert recorded(journal, lambda text: text)("x") == "x"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert journal.path is None and "cannot be written" in journal.problem
    assert recorded(journal, lambda text: text)("y") == "y"


def test_a_run_writes_its_calls_and_no_key(services: Services, tmp_path: Path) -> None:
    services.pages = {"final": "Argentina won the cup."}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["final winner"])
    answer = research("Who won?", parse_settings(services.environment(tmp_path))).answer()
    assert answer.run and answer.run.journal
    text = Path(answer.run.journal).read_text("utf-8")
    assert GEMINI_KEY not in text and SERPAPI_KEY not in text
    header, *calls, last = lines(Path(answer.run.journal))
    assert header["run"] == answer.run.id and header["topic"] == "Who won?"
    assert last["answer"]["status"] == answer.status
    assert Counter(call["call"] for call in calls) == {"ask": 3, "search": 2, "read": 1}


def test_resume_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    written(path, "a", "b")
    journal = Journal.resume(path, {"run": "another"})
    assert journal.header["run"] == "r"
    assert recorded(journal, forbidden)("a") == "A"
    assert recorded(journal, str.upper)("c") == "C"
    journal.close()
    assert [line["request"]["query"] for line in lines(path)[1:]] == ["a", "b", "c"]


@pytest.mark.slow
@given(st.integers(min_value=0))
def test_a_file_cut_anywhere_is_resumed_with_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    written(path, "ä", "b", "c")
    data = path.read_bytes()
    kept = data[: cut % (len(data) + 1)]
    path.write_bytes(kept)
    written(path, "ä", "b", "c")
    assert len(lines(path)) == 4 and path.read_bytes().endswith(b"\n")
    whole = kept[: kept.rfind(b"\n") + 1]
    assert path.read_bytes().startswith(whole)


def failing(path: Path, outcome: str) -> None:
    """Record a failed call."""

    def fail(_: str) -> str:
        raise SearchFailed("no luck", "try later", outcome=outcome)

    journal = Journal.begin(path, {})
    with pytest.raises(SearchFailed):
        recorded(journal, fail)("x")
    journal.close()


def test_a_failure_is_raised_again_from_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    failing(path, "rate_limited")
    journal = Journal.resume(path, {})
    with pytest.raises(SearchFailed, match="no luck") as failure:
        recorded(journal, forbidden)("x")
    assert (failure.value.outcome, failure.value.remedy) == ("rate_limited", "try later")
    journal.close()
    journal = Journal.resume(path, {}, retry_failed=True)
    assert recorded(journal, str.upper)("x") == "X"
    journal.close()
    assert "response" in read_journal(path).calls[lines(path)[-1]["key"]]


def test_what_was_refused_for_a_key_is_asked_again(tmp_path: Path) -> None:
    """The user may have corrected it; a replay repeats what the run saw."""
    path = tmp_path / "a.jsonl"
    failing(path, "bad_key")
    with pytest.raises(SearchFailed):
        recorded(Journal.replay(path), forbidden)("x")
    journal = Journal.resume(path, {})
    assert recorded(journal, str.upper)("x") == "X"
    journal.close()


def test_a_replay_makes_no_call_and_names_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, "a")
    before = path.read_bytes()
    call = recorded(Journal.replay(path), forbidden)
    assert call("a") == "A"
    with pytest.raises(JournalError, match="search b"):
        call("b")
    assert path.read_bytes() == before


def test_two_writers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    journal = Journal.begin(path, {"run": "r"})
    with pytest.raises(JournalError, match="another run"):
        Journal.resume(path, {})
    journal.close()
    written(path, "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not json\n", "not a journal"),
        (b"[]\n", "not a journal"),
        (b'{"journal": 1}\n{}\n', "not a journal"),
        (b'{"journal": 99}\n', "newer version"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    for use in (lambda: Journal.replay(path), lambda: Journal.resume(path, {})):
        with pytest.raises(JournalError, match=message):
            use()
    assert path.read_bytes() == content
