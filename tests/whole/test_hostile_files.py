"""Files of unknown origin: each interface ends in a result or in a clear error."""

from __future__ import annotations

import copy
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.calls.input_file import open_regular, read_bytes, read_json, read_lines
from agent.calls.journal_reader import read_header, read_journal
from agent.calls.prices import load_prices
from agent.cli.audit import command as audit_command
from agent.errors import AgentError, JournalError, UsageError
from agent.llm.model import Generation
from agent.llm.replies import parse_reply
from agent.run.audit_answer import audit_answer
from agent.run.batch.rows import OutputFile
from agent.run.batch.topics import read_topics
from agent.run.begin import research
from agent.run.evaluation.questions import load_questions
from agent.run.stored_answer import read_answer
from agent.run.trace import trace_lines
from agent.search.hits import clean_hits, parse_hit
from agent.search.search_options import SearchOptions
from agent.server.run_manager import Runs
from agent.settings import Settings
from agent.state.characters import strip_controls
from agent.state.json_data import MAX_DEPTH, InvalidJson, Json, parse_json
from agent.state.sanitizing import sanitize_line
from agent.steps.synthesize import WriteAnswer
from agent.strategies.report.gather import Explore
from tests.whole.golden.__main__ import make_run

EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "20"))
DEEP = "[" * 200_000 + "]" * 200_000
LONG = "9" * 400


# --- the parser of JSON ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [DEEP, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), '{"a":' * 5000, LONG, "1e999", "-1e999"]
    + ["NaN", "[Infinity]", "-Infinity", "0." + "0" * 500, "", "[1", b"\xff", b'"\xe2"', "1 2"],
)
def test_what_is_no_json_of_ours_is_one_error(text: str | bytes) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_json(text)
    assert 0 < len(str(caught.value)) < 200


plain = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
json_values = st.recursive(
    plain | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values, st.text() | st.binary())
def test_other_json_is_as_json_has_it_and_any_text_a_value_or_one_error(
    value: Any, text: str | bytes
) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(f'{{"a": 1, "a": {json.dumps(value)}}}') == {"a": value}
    with suppress(InvalidJson):
        parse_json(text)


@given(json_values, st.integers(0, 60))
def test_json_of_too_many_values_is_refused_before_it_is_parsed(value: Any, most: int) -> None:
    """What is inside of a text is not counted."""

    def count(one: Any) -> int:
        inner = (
            list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else []
        )
        is_holder = isinstance(one, dict | list)
        return is_holder + max(0, len(inner) - 1) + sum(map(count, inner))

    text = json.dumps(value)
    if count(value) <= most:
        assert parse_json(text, most) == value
    else:
        with pytest.raises(InvalidJson, match="holds more than"):
            parse_json(text, most)
    assert parse_json(json.dumps("[{," * 9 + '"\\' * 9), 0) == "[{," * 9 + '"\\' * 9


def test_a_text_without_an_end_takes_no_time() -> None:
    for text in ('"' * 2_000_001 + ",[", '["' + '\\"' * 2_000_000, "[" * 3_000_000):
        with pytest.raises(InvalidJson):
            parse_json(text + "," * 600_000)


# --- what is opened -------------------------------------------------------------------------------


@pytest.fixture
def odd_paths() -> Iterator[list[str]]:
    """Paths of what is no regular file, or holds no end."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        os.mkfifo(f"{folder}/pipe")
        listener.bind(f"{folder}/socket")
        Path(folder, "link").symlink_to("/dev/zero")
        system = "/dev/zero /dev/stdin /proc/self/fd/0 /proc/self/mem /proc/self/environ".split()
        made = [f"{folder}/{name}" for name in ("pipe", "socket", "link", "missing", "pipe/x")]
        yield [*system, folder, *made, "a\0b", "a\ud800b", "x" * 5000]


def test_only_regular_files_are_read(odd_paths: list[str]) -> None:
    for name in odd_paths:
        for read in (read_header, read_journal):
            with pytest.raises(JournalError) as caught:
                read(Path(name))
            assert caught.value.remedy and "\0" not in caught.value.message
        for load in (read_topics, load_questions, load_prices, _read_prices):
            with pytest.raises(UsageError):
                load(Path(name))


def _read_prices(path: Path) -> Any:
    return read_json(path, "Name another file.")


def test_a_file_is_read_within_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345\n" + b"6" * 50)
    assert read_bytes(path, 56) == path.read_bytes()
    with pytest.raises(OSError, match="more than 55 bytes"):
        read_bytes(path, 55)
    with open_regular(path) as file:
        assert list(read_lines(file, 50)) == [b"12345\n", b"6" * 50]
        file.seek(0)
        with pytest.raises(OSError, match="line of more than 49"):
            list(read_lines(file, 49))
    path.write_bytes(b"a\n")  # what is appended meanwhile is not read
    with open_regular(path) as file, path.open("ab", buffering=0) as other:
        lines = read_lines(file)
        other.write(b"b\n")
        read = [next(lines)]
        other.write(b"c\n" * 10_000)
        assert len(read + list(lines)) <= 2


# --- the interfaces ------------------------------------------------------------------------------

Interface = Callable[[Path], None]


def trace(path: Path) -> None:
    assert trace_lines(path)


def replay(path: Path) -> None:
    assert_valid(research("", Settings(), replay=path).answer())


def resume(path: Path) -> None:
    """The corpus is tiny, so that going on costs nothing."""
    corpus = path.parent / "corpus"
    corpus.mkdir()
    (corpus / "cats.md").write_text("# Cats\nCats sleep most of the day.")
    caps: Json = {"max_calls": 30, "max_seconds": 20}
    options: Json = {"corpus": corpus, "offline": True, "cache": False, "cache_dir": corpus}
    assert_valid(research("", Settings(**options, **caps), resume=str(path)).answer())


def assert_valid(answer: Answer) -> None:
    to_json(answer)
    assert not answer.error or (answer.error.kind != "internal" and answer.error.remedy)


def server(path: Path) -> None:
    runs = Runs(Settings(runs_dir=path.parent))
    runs.list_newest(10)
    live = runs.find(path.stem)
    assert live is None or live.frames[-1].type == "end"


def audit(path: Path) -> None:
    report = audit_answer(golden_answer(), path)
    assert report["ok"] == (not report["failures"])


INTERFACES: list[Interface] = [trace, replay, resume, server, audit]


@cache
def golden_lines() -> tuple[str, ...]:
    """The lines of a journal of two rounds; the last one is the answer."""
    return tuple(make_run("two-round")[0].splitlines())


@cache
def golden_journal() -> Path:
    path = Path(tempfile.mkdtemp()) / "golden.jsonl"
    path.write_bytes(as_journal(golden_lines()))
    return path


@cache
def golden_answer() -> Json:
    return dict(read_answer(golden_journal()).model_dump(mode="json"))


def as_journal(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


@contextmanager
def stored(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(content)
        yield path


def assert_interfaces_bear(content: bytes) -> None:
    """Each interface shows what it can, or raises an error of ours that says what to do."""
    for interface in INTERFACES:
        with stored(content) as path:
            try:
                interface(path)
            except AgentError as error:
                assert error.kind in ("journal", "damaged") and error.remedy, (interface, error)
                assert len(error.message) < 1000


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, child in items:
        yield from paths_of(child, (*path, key))


numbers = [-1, 2**70, 10**300, 1e308]
texts = ["http://[", "\ud800", "\x1b]0;x\x07", "9" * 400, "x" * 9999]
odd_values = json_values | st.sampled_from([*numbers, *texts, [[]] * 50])


def replace(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    node = value
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = new
    return value


def damage(content: bytes, draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """Some bytes changed, or none."""
    damaged = bytearray(content)
    for _ in range(draw(st.sampled_from([0, 0, 1, 5]))):
        damaged[draw(st.integers(0, len(damaged) - 1))] = draw(st.integers(0, 255))
    return bytes(damaged)


@st.composite
def mutated_journals(draw: st.DrawFn) -> bytes:
    """The golden journal with values replaced, lines cut, repeated, moved; then bytes changed."""
    lines = list(golden_lines())
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["replace", "replace", "replace", "cut", "repeat", "drop"]))
        if how == "cut":
            lines[n] = lines[n][: draw(st.integers(0, len(lines[n])))]
        elif how == "repeat":
            lines.insert(draw(st.integers(0, len(lines))), lines[n])
        elif how == "drop" and len(lines) > 1:
            del lines[n]
        elif lines[n].startswith("{") and lines[n].endswith("}"):
            value = json.loads(lines[n])
            path = draw(st.sampled_from(list(paths_of(value))))
            lines[n] = json.dumps(replace(value, path, draw(odd_values)))
    return damage(as_journal(lines), draw)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(mutated_journals())
def test_a_mutated_journal_never_breaks_an_interface(content: bytes) -> None:
    assert_interfaces_bear(content)


# --- answers --------------------------------------------------------------------------------------


def run_audit(*arguments: str) -> tuple[int, Json]:
    done = CliRunner().invoke(audit_command, arguments, standalone_mode=False)
    assert done.exception is None, done.exception
    return int(done.return_value), dict(json.loads(done.stdout))


def assert_report(status: int, report: Json) -> None:
    assert status in (0, 1, 2)
    if status == 2:
        assert report["ok"] is False and report["error"]["message"] and report["error"]["remedy"]
    else:
        assert report["ok"] == (status == 0)


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_a_mutated_answer_never_breaks_the_audit(data: st.DataObject) -> None:
    value = json.loads(json.dumps(golden_answer()))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(paths_of(value))))
        value = replace(value, path, copy.deepcopy(data.draw(odd_values)))
    content = damage(json.dumps(value).encode(), data.draw)
    with tempfile.TemporaryDirectory() as folder:
        file, whole = Path(folder) / "answer.json", Path(folder) / "whole.json"
        file.write_bytes(content)
        whole.write_text(json.dumps(golden_answer()))
        assert_report(*run_audit(str(file), "--journal", str(golden_journal())))
        assert_report(*run_audit("--diff", str(file), str(whole)))


def test_an_odd_answer_or_journal_path_is_not_waited_for(
    odd_paths: list[str], tmp_path: Path
) -> None:
    for name in odd_paths:
        if "\ud800" not in name and "\0" not in name:  # no command line can hold these
            assert run_audit(name)[0] == 2
            assert run_audit("--diff", name, name)[0] == 2
            assert run_audit(str(tmp_path / "no.json"), "--journal", name)[0] == 2
        for interface in (trace, replay):
            with pytest.raises(AgentError):
                interface(Path(name) if "/" in name else tmp_path / name)
    for name in set(odd_paths) & {"/dev/zero", "/proc/self/fd/0", "/proc/self/mem", odd_paths[5]}:
        with pytest.raises(JournalError):
            research("Who won?", Settings(offline=True, cache_dir=tmp_path), resume=name)


# --- other files ----------------------------------------------------------------------------------


ROW: Json = {"id": "a", "topic": "t", "status": "complete", "usage": {"llm_calls": 1, "usd": 0.5}}


@pytest.mark.parametrize("place", "id topic status usage usage.llm_calls usage.usd".split())
def test_a_row_of_another_shape_is_named(place: str, tmp_path: Path) -> None:
    for n, odd in enumerate(([], {"a": []}, 1.5, 10**300, -1, True, "\x1b")):
        path, row = tmp_path / f"{n}.jsonl", copy.deepcopy(ROW)
        before = f"{json.dumps(ROW)}\n{json.dumps(replace(row, tuple(place.split('.')), odd))}\n"
        path.write_text(before)
        try:
            OutputFile(path).close()
        except UsageError as error:
            assert "line 2" in error.message
        assert path.read_text() == before


@pytest.mark.parametrize("suffix", ["jsonl", "txt", "csv", "tsv", "json"])
@pytest.mark.parametrize("text", [DEEP, LONG, '{"topic": NaN}', "\0", "\x1b]0;x\x07", '"' * 999])
def test_odd_topics_and_questions(text: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"odd.{suffix}"
    path.write_text(text)
    for load in (read_topics, load_questions, load_prices, _read_prices):
        try:
            load(path)
        except UsageError as error:
            assert str(path) in error.message or "column" in error.message
            assert error.remedy and len(error.message) < 500


# --- characters that command ----------------------------------------------------------------------

COMMANDS = "".join(
    chr(code)
    for codes in (range(9), (11, 12), range(14, 32), range(127, 160), range(0x202A, 0x202F),
                  range(0x2066, 0x206A), (0xFEFF, 0xAD, 0x2060, 0xDFFF, 0xD800, 0xE0001, 0xE0041))
    for code in codes
)  # fmt: skip
NEEDED = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
    "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
    "\U0001f469\u200d\U0001f680 \u2764\ufe0f\u200d\U0001f525",  # emoji
    "\u05e9\u05dc\u05d5\u05dd!\u200f C++\u200e \u05d8\u05d5\u05d1",  # Hebrew, with marks
    "\u0627\u061c-5",  # Arabic, with a mark before a number
    "\u0e20\u0e32\u0e29\u0e32\u200b\u0e44\u0e17\u0e22",  # Thai, with a word break
    "\u845b\U000e0100",  # a variant of a Han character
    "a\tb\nc",
]


@given(st.text(st.sampled_from(COMMANDS + "\u200b\u200c\u200d\u200e\u200f\u061c ab\u05d0\n")))
def test_no_character_that_commands_stays(text: str) -> None:
    clean = strip_controls(text)
    assert not set(clean) & set(COMMANDS) and strip_controls(clean) == clean
    assert not set(sanitize_line(text, 500)) & set(COMMANDS + "\n")
    if "\u05d0" not in text:
        assert not set(clean) & set("\u200b\u200c\u200d\u200e\u200f\u061c")


def test_what_a_script_needs_stays_and_line_breaks_become_line_feeds() -> None:
    assert list(map(strip_controls, NEEDED)) == NEEDED
    assert strip_controls("a\r\nb\rc\x85d\u2028e\x0bf") == "a\nb\nc\nd\ne\nf"
    error = UsageError("No \x1b[2J\u202efile.", "Do\x9b this.")
    assert (error.message, error.remedy, str(error)) == ("No [2Jfile.", "Do this.", "No [2Jfile.")


def test_a_reply_loses_control_characters() -> None:
    written = {"answer": f"Built{COMMANDS} in 1904 [1].", "citations": []}
    reply, _ = parse_reply(Generation(text=json.dumps(written)), WriteAnswer(topic="x"))
    assert reply.answer == f"Built{6 * chr(10)} in 1904 [1]."


def test_a_turn_loses_them_in_calls_and_keeps_what_is_sent_back() -> None:
    verbatim = {"signature": "\u202ex", "text": "\x1b"}
    arguments = {"query\x9b": "a\u202eb", "n": [1, "\x07c"]}
    calls = [{"name": "search\x1b", "arguments": arguments}]
    turn = {"calls": calls, "text": "\x1b[31mdone", "verbatim": verbatim}
    reply, _ = parse_reply(Generation(text=json.dumps(turn)), Explore(topic="x"))
    [call] = reply.calls
    assert call.name == "search" and call.arguments == {"query": "ab", "n": [1, "c"]}
    assert reply.text == "[31mdone" and reply.verbatim == verbatim


def test_a_hit_loses_control_characters() -> None:
    [hit] = parse_hit("https://a.example/", f"A{COMMANDS}b", "x&#27;[31m\u202ey\u2066", "2020\x1b")
    [clean] = clean_hits([hit], SearchOptions())
    shown = clean.title + clean.snippet + str(clean.date)
    assert not set(shown) & set(COMMANDS) and clean.title.startswith("A")


@pytest.mark.parametrize("command", ["\x1b]0;owned\x07", "\x9b31m", "\u202e", "\u2066"])
def test_an_answer_from_any_journal_commands_nothing(command: str) -> None:
    """Whatever a journal holds: `jq -r .answer`, warnings and errors print text alone."""
    escaped = json.dumps(command)[1:-1]
    lines = [line.replace(" of ", f" {escaped}of ") for line in golden_lines()]
    with stored(as_journal(lines)) as path:
        shown = to_json(research("", Settings(), replay=path).answer())
    assert not set(json.dumps(json.loads(shown), ensure_ascii=False)) & set(COMMANDS)
