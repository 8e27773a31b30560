"""What is shown of a run: all that the journal holds, and nothing that commands who looks."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agent.answer import Answer
from agent.answer.html import link_element
from agent.cli.trace import format_lines, format_page, load_trace
from agent.outside.journal import Journal
from agent.run import research
from agent.settings import Settings
from agent.state import Alternative, Answered, Asked, Attempt, Claim, Reflected, Verified
from agent.trace.calls import Trace, TracedCall, parse_calls
from tests.answer.test_render import Shown, fill
from tests.cli.test_people import STYLE, in_terminal
from tests.support.processes import run_command
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

ROOT = Path(__file__).parents[2]
TOPIC = "Who founded Lego, and who leads it?"


@pytest.fixture
def journal(services: Services, settings: Settings) -> Path:
    """A run of two rounds in which a page is refused, a search fails and a slot stays empty."""
    services.pages = {
        "history": "Lego was founded by Ole Kirk Christiansen in 1932. It makes bricks.",
        "ceo": "Niels B. Christiansen became chief executive in 2017.",
        "refused": Raw(403, "no"),
    }
    found = {TOPIC: ["history", "refused"], "Lego chief executive": ["ceo"]}
    services.hits = lambda query: Raw(500, "") if query == "broken" else found.get(query, [])
    facts = [
        Fact("founder", "Ole Kirk Christiansen", "founded by"),
        Fact("leader", "Niels B. Christiansen", "became chief"),
        Fact("revenue", "9 billion", "revenue"),
    ]
    services.think = Thinker(facts, ["broken"], {"leader": "Lego chief executive"})
    run = research(TOPIC, settings.model_copy(update={"resume": "lego"}))
    list(run)
    assert run.answer().status == "partial"
    assert settings.runs_dir
    return settings.runs_dir / "lego.jsonl"


def shown(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RUNS_DIR": str(cwd / "runs")}
    return run_command("-m", "agent.cli", "trace", *arguments, cwd=cwd, env=environment, text=True)


def whole(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines(keepends=True)


def test_the_tree_tells_what_happened(journal: Path, services: Services, tmp_path: Path) -> None:
    """Named by its name or its path; looking changes nothing and goes nowhere."""
    before = journal.read_bytes(), len(services.model_requests), len(services.page_requests)
    done = shown("lego", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout
    text = done.stdout
    assert shown(journal, cwd=tmp_path).stdout == text
    after = journal.read_bytes(), len(services.model_requests), len(services.page_requests)
    assert before == after and [file.name for file in journal.parent.iterdir()] == ["lego.jsonl"]
    for told in (
        rf"^{re.escape(TOPIC)}\n\nstrategy slots · started \d{{4}}-",
        r"asked gemini-3\.8-flash: generate_queries  \(\d+ \+ \d+ tokens · \$0\.\d+ · [\d.]+ m?s",
        r"searched: Who founded Lego, and who leads it\?  \(serpapi · 2 hits · [\d.]+ m?s\)",
        r"could not search: broken  \(unavailable · .*HTTP 500",
        r"read: \[1\] history  \(http.*/web/history · 67 characters · [\d.]+ m?s\)",
        r"did not read: http.*/web/refused  \(blocked · .*HTTP 403",
        r"founder: Ole Kirk Christiansen \[1\]",
        r"leader: missing",
        r"goes on: still open: leader, revenue; searches for Lego chief executive$",
        r"stops: still open: revenue; it was the last round \(2\)",
        r"answer: The founder is Ole Kirk Christiansen \[1\]\.",
        r"\[1\] “Lego was founded by Ole Kirk Christiansen in 1932\.”",
        r"\[3\] “Niels B\. Christiansen became chief executive in 2017\.”",  # as the tree counts
        r"verified: 2 supported; 0 dropped",
        r"gemini-3\.8-flash  \(4 calls · [\d,]+ \+ [\d,]+ tokens · \$",
        r"serpapi  \(3 calls · 1 failed",
        r"pages  \(3 calls · 1 failed",
    ):
        assert re.search(told, text, re.M), told
    assert text.index("Round 1") < text.index("Round 2") < text.index("Answer") < text.index("Cost")


def test_what_cannot_be_shown_is_told_on_one_line(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "prose.jsonl").write_text("This is no journal.\n")
    (tmp_path / "later.jsonl").write_text('{"journal": 99}\n')
    (tmp_path / "bare.jsonl").write_text('{"journal": 1}\n')
    for name in ("nobody", "prose.jsonl", "later.jsonl", "bare.jsonl"):
        done = shown(name, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), name
        assert done.stderr.startswith("Error: ")
    for arguments in ([], ["lego", "--colour"], ["lego", "--html", tmp_path / "no" / "page.html"]):
        done = shown(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "Traceback" not in done.stderr
    damaged = [line.replace('"hits": [', '"hits": [7, ') for line in whole(journal)]
    journal.write_text("".join(damaged), "utf-8")
    done = shown("lego", cwd=tmp_path)
    said = done.stdout + done.stderr
    assert "Traceback" not in said and re.search("cannot be used|is damaged", said), said


def shown_calls(trace: Trace) -> list[str]:
    """The ids of the lines of calls."""
    return re.findall(r'<li (?:class="\w+" )?id="(call-[^"]+)"', format_page(trace))


def test_a_crashed_run_is_shown_so_far(journal: Path, settings: Settings, tmp_path: Path) -> None:
    everything = whole(journal)
    for cut in range(1, len(everything)):
        part = tmp_path / "part.jsonl"
        part.write_text("".join(everything[:cut]) + everything[cut][:20], "utf-8")
        trace = load_trace(settings, str(part))
        assert sorted(shown_calls(trace)) == sorted(call.id for call in trace.calls)
        assert len(trace.calls) == cut - 1
        told = "The journal ends here: The run was cut off, is still under way"
        assert told in format_lines(trace), cut
        assert "unfinished" in format_page(trace)
    complete = load_trace(settings, str(journal))
    assert not complete.unfinished_reason and "ends here" not in format_lines(complete)
    assert len(shown_calls(complete)) == len(everything) - 1


def test_two_askings_of_one_task_are_told_apart() -> None:
    tries = [Attempt(what="llm", provider="m", outcome="ok", seconds=s) for s in (3, 1, 0)]
    events = [Asked(task="verify", model="m", attempts=(tried,)) for tried in tries]
    call = TracedCall("k1", "ask", "verify", "m", "ok", 0.0, 1.0)
    made = [
        call._replace(key=f"k{s}", seconds=s, attempts=(tried.model_dump(mode="json"),))
        for s, tried in ((1.0, tries[1]), (3.0, tries[0]))
    ]
    text = format_lines(Trace(Answer(topic="t", status="error"), events, made, max_rounds=2))
    asked = [line for line in text.splitlines() if line.startswith("asked m")]
    assert [re.findall(r"[\d.]+ s", line) for line in asked] == [["3.0 s"], ["1.0 s"], []]


def test_the_journal_tells_when_each_call_began(journal: Path) -> None:
    told = [json.loads(line) for line in whole(journal)[1:]]
    asked = [line for line in told if line["call"] == "ask"]
    for before, after in zip(asked, asked[1:], strict=False):
        assert after["began"] >= before["began"] + before["seconds"] - 0.002
    assert all(line["began"] >= 0 and line["seconds"] >= 0 for line in told)
    again = Journal.resume(journal, {})  # a resumed run goes on counting
    ends = [line["began"] + line["seconds"] for line in told]
    assert again.elapsed_seconds() >= max(ends) - 0.002, "it is counted in milliseconds"
    again.close()


def test_calls_of_an_older_journal_follow_one_another(journal: Path, settings: Settings) -> None:
    old = [json.loads(line) for line in whole(journal)]
    for line in old:
        line.pop("began", None)
    journal.write_text("".join(json.dumps(line) + "\n" for line in old), "utf-8")
    trace = load_trace(settings, "lego")
    assert trace.calls[0].start == 0 and len(trace.calls) == len(old) - 1
    for before, after in zip(trace.calls, trace.calls[1:], strict=False):
        assert after.start == before.end
    assert format_page(trace).count("<rect") == len(trace.calls)


@pytest.mark.parametrize("wrong", ["soon", None, -1, float("nan"), 1e300, [], True])
def test_times_that_cannot_be_are_nothing(wrong: object) -> None:
    line = {"call": "read", "key": "k", "began": wrong, "seconds": wrong, "error": {}}
    (call,) = parse_calls([line])
    assert 0 <= call.start <= 1 and 0 <= call.seconds <= 1


def test_a_terminal_gets_lines_of_its_width(journal: Path, tmp_path: Path) -> None:
    asked: Any = {"home": tmp_path, "columns": 70}
    plain = in_terminal("trace", str(journal), **asked, NO_COLOR="1").out.splitlines()
    assert not any("\x1b" in line for line in plain)
    assert 60 < max(map(cell_len, plain)) <= 70
    told = " ".join(" ".join(plain).split())
    assert "The founder is Ole Kirk Christiansen [1]. The leader is Niels B. Christiansen" in told
    coloured = in_terminal("trace", str(journal), **asked).out.splitlines()
    assert [STYLE.sub("", line).rstrip() for line in coloured] == plain
    assert any("\x1b[31m" in line for line in coloured)


EVIL = "<script>alert('x')</script> \"onload=alert(1)\" <img src=x onerror=alert(2)> &"
EVIL += "\x1b[2J\x07\u202e"  # clears a terminal, rings its bell, turns the direction of writing
KEPT = "type status verdict form match via schema_version outcome what kind answered_by".split()
BAD_URL = "javascript:alert('x')//\"><b>"


@pytest.fixture
def hostile(journal: Path, settings: Settings) -> Trace:
    """A run in which whatever comes from outside wants to be more than text."""
    trace = load_trace(settings, str(journal))
    value = fill(trace.answer.model_dump(mode="json"), EVIL, KEPT)
    value["slots"] = dict(zip((EVIL, f"b{EVIL}"), value["slots"].values(), strict=False))
    dumps = ((type(event), event.model_dump(mode="json")) for event in trace.events)
    events = [kind.model_validate(fill(dump, EVIL, KEPT)) for kind, dump in dumps]
    other = {"alternatives": (Alternative(value=EVIL, citations=(1,), weight=0.4),)}
    for n, event in enumerate(events):
        if isinstance(event, Reflected):
            findings = tuple(found.model_copy(update=other) for found in event.findings)
            events[n] = event.model_copy(update={"findings": findings})
    odd: Any = {"subject": BAD_URL, "service": EVIL, "outcome": EVIL}
    calls = [call._replace(key=f'"><b>{n}', **odd) for n, call in enumerate(trace.calls)]
    calls.append(calls[0]._replace(kind=EVIL))
    return Trace(Answer.model_validate(value), events, calls, 2, EVIL)


KNOWN = set(
    "html head meta title style body main header section h1 h2 h3 p ul li span a b div table thead "
    "tbody tr th td blockquote details summary svg line rect text".split()
)


def test_a_page_shows_hostile_content_as_text(hostile: Trace) -> None:
    elements = Shown(format_page(hostile))
    assert {tag for tag, _ in elements.elements} <= KNOWN
    names = {name for _, attributes in elements.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "style")]
    targets = [attributes.get("href") or "#" for _, attributes in elements.elements]
    assert all(target.startswith("#") for target in targets)  # it has no URL that may be a link
    assert elements.text.count("<script>alert('x')</script>") > 20
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", elements.text)
    assert all(line.isprintable() for line in format_lines(hostile).split("\n")), "a terminal too"


def test_claims_that_are_not_supported_are_told_and_the_answer_that_is_left() -> None:
    verdicts = ("supported", "partial", "unsupported", "contradicted", "unchecked")
    claims = tuple(Claim(text=f"{verdict}!", citations=(), verdict=verdict) for verdict in verdicts)
    events = [Answered(text="All.", quotes=(), claims=())]
    events += [Verified(text="Less.", quotes=(), claims=claims)]
    trace = Trace(Answer(topic="t", status="partial"), events, [], max_rounds=2)
    told = [line.strip() for line in format_lines(trace).splitlines()]
    assert "answer: All." in told and "answer: Less." in told
    assert "supported: supported!" not in told
    assert {f"{verdict}: {verdict}!" for verdict in verdicts[1:]} <= set(told)


@pytest.mark.parametrize(
    "url, linked",
    [
        ("https://example.com/a?b=1&c=2#:~:text=x", True),
        (" HTTP://example.com ", True),
        ("file:///notes/a.md", True),
        (BAD_URL, False),
        ("java\nscript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("\x01javascript:alert(1)", False),
        ("data:text/html,<b>", False),
        ("//example.com", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_only_documents_are_linked(url: str, linked: bool) -> None:
    assert link_element(url, "text").startswith("<a ") == linked


def test_a_page_stands_alone(journal: Path, tmp_path: Path) -> None:
    file = tmp_path / "lego.html"
    done = shown("lego", "--html", file, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = file.read_text("utf-8")
    elements = Shown(text)
    assert not set("script link img iframe form object".split()) & set(elements.tags)
    style = text.split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\(|@import|</", style)
    policy = next(a["content"] for _, a in elements.elements if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'sha256-{digest}'"
    assert policy == f"{allowed}; base-uri 'none'; form-action 'none'"
    assert any("#:~:text=Lego" in (a.get("href") or "") for _, a in elements.elements)
    ids = [a["id"] for _, a in elements.elements if "id" in a]
    inside = {a["href"][1:] for _, a in elements.elements if (a.get("href") or "").startswith("#")}
    assert len(ids) == len(set(ids)) and inside <= set(ids), inside - set(ids)
    assert text.count("<rect") == len(whole(journal)) - 1
