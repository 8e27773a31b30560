"""What is shown of a run: all that the journal holds, and nothing that commands who looks."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pty
import re
import struct
import subprocess
from fcntl import ioctl
from html.parser import HTMLParser
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from rich.cells import cell_len

from agent.answer import Answer, Citation, RunInfo, SlotAnswer
from agent.answer.html import link_element
from agent.errors import JournalError
from agent.evidence.credibility import Credibility
from agent.outside.journal import Journal
from agent.run import research
from agent.settings import Settings
from agent.state import (
    Alternative,
    Answered,
    Asked,
    Attempt,
    Claim,
    Failed,
    Finding,
    Hit,
    Page,
    PageRead,
    Queried,
    Quote,
    Reflected,
    Searched,
    SearchResults,
    Slot,
    Started,
    Verified,
)
from agent.trace.__main__ import format_lines, format_page, load_trace
from agent.trace.calls import Trace, TracedCall, parse_calls
from tests.support.browser import Browser
from tests.support.processes import run_command, start_command
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
    services.think = Thinker(
        [
            Fact("founder", "Ole Kirk Christiansen", "founded by"),
            Fact("leader", "Niels B. Christiansen", "became chief"),
            Fact("revenue", "9 billion", "revenue"),
        ],
        ["broken"],
        {"leader": "Lego chief executive"},
    )
    run = research(TOPIC, settings.model_copy(update={"resume": "lego"}))
    list(run)
    assert run.answer().status == "partial"
    assert settings.runs_dir
    return settings.runs_dir / "lego.jsonl"


def shown(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RUNS_DIR": str(cwd / "runs")}
    return run_command("-m", "agent.trace", *arguments, cwd=cwd, env=environment, text=True)


def whole(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines(keepends=True)


# --- the tree ------------------------------------------------------------------------------------


def test_the_tree_tells_what_happened(journal: Path, tmp_path: Path) -> None:
    done = shown("lego", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout
    text = done.stdout
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


def test_a_journal_is_named_by_its_path_too(journal: Path, tmp_path: Path) -> None:
    assert shown(journal, cwd=tmp_path).stdout == shown("lego", cwd=tmp_path).stdout


def test_what_cannot_be_shown_is_told_on_one_line(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "prose.jsonl").write_text("This is no journal.\n")
    (tmp_path / "later.jsonl").write_text('{"journal": 99}\n')
    (tmp_path / "bare.jsonl").write_text('{"journal": 1}\n')
    for name in ("nobody", "prose.jsonl", "later.jsonl", "bare.jsonl"):
        done = shown(name, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), name
        assert done.stderr.startswith("Error: ")


def test_a_damaged_line_is_told_and_never_a_traceback(journal: Path, tmp_path: Path) -> None:
    damaged = [line.replace('"hits": [', '"hits": [7, ') for line in whole(journal)]
    journal.write_text("".join(damaged), "utf-8")
    done = shown("lego", cwd=tmp_path)
    said = done.stdout + done.stderr
    assert "Traceback" not in said and re.search("cannot be used|is damaged", said), said


def test_wrong_usage(journal: Path, tmp_path: Path) -> None:
    for arguments in ([], ["lego", "--colour"], ["lego", "--html", tmp_path / "no" / "page.html"]):
        done = shown(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "Traceback" not in done.stderr


def shown_calls(trace: Trace) -> list[str]:
    """The ids of the lines of calls."""
    return re.findall(r'<li (?:class="\w+" )?id="(call-[^"]+)"', format_page(trace))


def test_a_run_that_crashed_is_shown_as_far_as_it_went(
    journal: Path, settings: Settings, tmp_path: Path
) -> None:
    """Wherever it is cut: every call that it holds is shown once, and that it ends is told."""
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
    """Also where the second ended first, and where something else stood in for a model."""
    tries = [Attempt(what="llm", provider="m", outcome="ok", seconds=s) for s in (3, 1, 0)]
    events = [Asked(task="verify", model="m", attempts=(tried,)) for tried in tries]
    made = [
        TracedCall(
            f"k{s}", "ask", "verify", "m", "ok", 0.0, s, attempts=(tried.model_dump(mode="json"),)
        )
        for s, tried in ((1.0, tries[1]), (3.0, tries[0]))
    ]
    text = format_lines(Trace(Answer(topic="t", status="error"), events, made, max_rounds=2))
    asked = [line for line in text.splitlines() if line.startswith("asked m")]
    assert [re.findall(r"[\d.]+ s", line) for line in asked] == [["3.0 s"], ["1.0 s"], []]


def test_looking_at_a_run_changes_nothing_and_goes_nowhere(
    journal: Path, services: Services, tmp_path: Path
) -> None:
    before = (
        journal.read_bytes(),
        len(services.model_requests),
        len(services.search_queries),
        len(services.page_requests),
    )
    shown("lego", cwd=tmp_path)
    shown("lego", "--html", tmp_path / "lego.html", cwd=tmp_path)
    after = (
        journal.read_bytes(),
        len(services.model_requests),
        len(services.search_queries),
        len(services.page_requests),
    )
    assert before == after and [file.name for file in journal.parent.iterdir()] == ["lego.jsonl"]


# --- times -------------------------------------------------------------------------------------


def test_the_journal_tells_when_each_call_began(journal: Path) -> None:
    told = [json.loads(line) for line in whole(journal)[1:]]
    asked = [line for line in told if line["call"] == "ask"]
    for before, after in zip(asked, asked[1:], strict=False):
        assert after["began"] >= before["began"] + before["seconds"] - 0.002
    assert all(line["began"] >= 0 and line["seconds"] >= 0 for line in told)


def test_a_resumed_run_goes_on_counting(journal: Path) -> None:
    ends = [line["began"] + line["seconds"] for line in map(json.loads, whole(journal)[1:])]
    again = Journal.resume(journal, {})
    assert again.elapsed_seconds() >= max(ends) - 0.002  # counted in milliseconds
    again.close()


def test_calls_of_an_older_journal_are_put_one_behind_the_other(
    journal: Path, settings: Settings
) -> None:
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
    (call,) = parse_calls(
        [{"call": "read", "key": "k", "began": wrong, "seconds": wrong, "error": {}}]
    )
    assert 0 <= call.start <= 1 and 0 <= call.seconds <= 1


# --- a terminal ----------------------------------------------------------------------------------


def on_terminal(journal: Path, width: int, **environment: str) -> list[str]:
    """What the command writes to a terminal of this many columns."""
    main, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    given = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = start_command(
        *("-m", "agent.trace", journal),
        cwd=ROOT,
        env={**given, "TERM": "xterm", **environment},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    said = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # Linux says so where the other end is closed
            break
        if not piece:
            break
        said += piece
    os.close(main)
    assert process.wait(60) == 0
    return said.decode().replace("\r\n", "\n").splitlines()


def test_a_terminal_gets_lines_of_its_width(journal: Path) -> None:
    plain = on_terminal(journal, 70, NO_COLOR="1")
    assert not any("\x1b" in line for line in plain)
    assert 60 < max(map(cell_len, plain)) <= 70
    told = " ".join(" ".join(plain).split())
    assert "The founder is Ole Kirk Christiansen [1]. The leader is Niels B. Christiansen" in told
    coloured = on_terminal(journal, 70)
    assert [re.sub(r"\x1b\[[\d;]+m", "", line).rstrip() for line in coloured] == plain
    assert any("\x1b[31m" in line for line in coloured)


# --- hostile content -----------------------------------------------------------------------------

EVIL = "<script>alert('x')</script> \"onload=alert(1)\" <img src=x onerror=alert(2)> &"
EVIL += "\x1b[2J\x07\u202e"  # clears a terminal, rings its bell, turns the direction of writing
BAD_URL = "javascript:alert('x')//\"><b>"
RUN = RunInfo(id=EVIL, strategy=EVIL, models=(EVIL,), providers=(EVIL,), started_at=EVIL)


def hostile() -> Trace:
    """A run in which whatever comes from outside wants to be more than text."""
    source = Page(url=BAD_URL, title=EVIL, text=EVIL, sha256="0", retrieved_at=EVIL)
    hit = Hit(url=BAD_URL, title=EVIL, snippet=EVIL)
    quote = Quote(source=1, text=EVIL, start=0, end=len(EVIL), match="exact")
    tried = Attempt(what="search", provider=EVIL, outcome="blocked", detail=EVIL)
    other = Alternative(value=EVIL, citations=(1,), weight=0.4)
    findings = (
        Finding(slot=EVIL, status="filled", value=EVIL, quotes=(quote,), alternatives=(other,)),
        Finding(slot="b" + EVIL, status="conflict", value=EVIL, alternatives=(other,)),
    )
    failed = Failed(what="page", subject=BAD_URL, outcome="blocked", message=EVIL, stand_in=EVIL)
    worth = Credibility(score=0.5, domain=0.5, relevance=0.5, recency=0.5, reason=EVIL)
    citation = Citation(
        id=1, title=EVIL, url=BAD_URL, quote=EVIL, start=0, end=1, match="exact", link=BAD_URL,
        page_sha256="0", retrieved_at=EVIL, via="page", credibility=worth,
    )  # fmt: skip
    slot = SlotAnswer(value=EVIL, status="filled", confidence=1, alternatives=(other,))
    return Trace(
        answer=Answer(
            topic=EVIL,
            status="complete",
            answer=f"{EVIL} [1]",
            citations=(citation,),
            slots={EVIL: slot},
            warnings=(EVIL,),
            run=RUN,
        ),
        events=[
            Started(topic=EVIL, strategy=EVIL, slots=(Slot(name=EVIL),)),
            Queried(round=1, queries=(EVIL,), slots=(Slot(name=EVIL),)),
            Searched(
                round=1,
                found=SearchResults(query=EVIL, hits=(hit,), provider=EVIL, attempts=(tried,)),
            ),
            PageRead(page=source, hit=hit),
            failed,
            Reflected(round=1, findings=findings, need_more=False),
            Answered(text=EVIL, quotes=(quote,), claims=()),
            Verified(
                text="", quotes=(), claims=(Claim(text=EVIL, citations=(), verdict="unchecked"),)
            ),
        ],
        calls=[
            TracedCall('"><b>', "read", BAD_URL, EVIL, "ok", 0.0, 1.0),
            TracedCall("k", "search", EVIL, EVIL, EVIL, 1.0, 0.0),
            TracedCall("l", EVIL, EVIL, EVIL, EVIL, 1.0, 0.0),
        ],
        max_rounds=2,
        unfinished_reason=EVIL,
    )


class Elements(HTMLParser):
    """Every element with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


KNOWN = set(
    "html head meta title style body main header section h1 h2 h3 p ul li span a b div table thead "
    "tbody tr th td dl dt dd wbr blockquote details summary svg line rect text".split()
)


def test_a_page_shows_hostile_content_as_text() -> None:
    elements = Elements(format_page(hostile()))
    assert {tag for tag, _ in elements.found} <= KNOWN
    names = {name for _, attributes in elements.found for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "style")]
    targets = [attributes.get("href") or "#" for _, attributes in elements.found]
    assert all(target.startswith("#") for target in targets)  # it has no URL that may be a link
    assert elements.text.count("<script>alert('x')</script>") > 20
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", elements.text)


def test_claims_that_are_not_supported_are_told_and_the_answer_that_is_left() -> None:
    verdicts = ("supported", "partial", "unsupported", "contradicted", "unchecked")
    claims = tuple(Claim(text=f"{verdict}!", citations=(), verdict=verdict) for verdict in verdicts)
    events = [
        Answered(text="All.", quotes=(), claims=()),
        Verified(text="Less.", quotes=(), claims=claims),
    ]
    trace = Trace(Answer(topic="t", status="partial"), events, [], max_rounds=2)
    told = [line.strip() for line in format_lines(trace).splitlines()]
    assert "answer: All." in told and "answer: Less." in told
    assert "supported: supported!" not in told
    assert {f"{verdict}: {verdict}!" for verdict in verdicts[1:]} <= set(told)


def test_a_terminal_shows_hostile_content_as_text() -> None:
    assert all(line.isprintable() for line in format_lines(hostile()).split("\n"))


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
    elements = Elements(text)
    assert not {"script", "link", "img", "iframe", "form", "object"} & {
        t for t, _ in elements.found
    }
    style = text.split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\(|@import|</", style)
    policy = next(a["content"] for _, a in elements.found if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert any("#:~:text=Lego" in (a.get("href") or "") for _, a in elements.found)
    ids = [a["id"] for _, a in elements.found if "id" in a]
    inside = {a["href"][1:] for _, a in elements.found if (a.get("href") or "").startswith("#")}
    assert len(ids) == len(set(ids)) and inside <= set(ids), inside - set(ids)
    assert text.count("<rect") == len(whole(journal)) - 1


# --- a browser -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_browser_takes_the_style_in_light_and_dark(
    browser: Browser, journal: Path, tmp_path: Path
) -> None:
    file = tmp_path / "lego.html"
    shown("lego", "--html", file, cwd=tmp_path)
    with browser.tab(600, 400) as tab:
        tab.open(file.as_uri())
        for dark, ground in ((False, "rgb(252, 252, 250)"), (True, "rgb(22, 24, 27)")):
            tab.set_viewport(600, 400, dark=dark)
            assert tab.run("getComputedStyle(document.body).backgroundColor") == ground
            assert tab.run("document.querySelector('svg').getBoundingClientRect().height") > 0
        assert tab.errors == []


def test_a_run_that_is_none_is_an_error(settings: Settings) -> None:
    with pytest.raises(JournalError):
        load_trace(settings, "nobody")
