"""The check of a report as a run: verdicts by rules and by a model, journal, doors, formats."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agent.answer.check_result import CheckResult, build_check_result, check_schema
from agent.cli.check import command
from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.run.audit_answer import audit_answer
from agent.run.check_run import begin_check
from agent.settings import Settings
from agent.state import RunRequest
from agent.verification.cited_claims import ClaimRuling, rule_claim
from tests.evidence.test_evidence import source
from tests.support.processes import run_command
from tests.support.services import Raw, Services, parse_claims
from tests.support.web import Web, configure_from
from tests.support.worlds import read_journal_calls

ROOT = Path(__file__).parents[2]
AMPERE = (
    "The MF Ampere is the first battery-electric car ferry of Norway.\n"
    "It entered service on the Sognefjord in 2015.\n"
    "The ship carries 120 cars and 360 passengers.\n"
    "Ampere has crossed the Sognefjord on batteries since 2015, 34 times a day.\n"
    "“All new tenders shall ask for zero emissions from now on,” Minister Solvik wrote.\n"
)
ELLEN = (
    "Ellen is a Danish ferry that was built on the island of Als.\n"
    "Ellen carried her first passengers in August 2019, two years later than planned.\n"
    "The project cost 21.3 million euros, of which the Union paid 15 million.\n"
    "She can sail 22 nautical miles on one charge.\n"
)


def rule(claim: str, *texts: str) -> ClaimRuling:
    return rule_claim(claim, [source(text, n) for n, text in enumerate(texts, 1)])


@pytest.mark.parametrize(
    ("claim", "verdict", "reason"),
    [
        ("The ship carries 120 cars and 360 passengers.", "quoted", ""),
        ("The ship carries 150 cars and 360 passengers.", "unsupported", "150 is not on the page"),
        ("According to the yard, the ship carries 120 cars and 390 passengers.", "unsupported",
         "390 is not on the page"),
        ("Ellen carried her first passengers in August 2017.", "unchecked", ""),  # two years later
        ("The MF Ampere cost 84 million dollars.", "unsupported",
         "84 million dollars is not on the page"),
        ("“No diesel ferry will cross a fjord again,” Solvik wrote.", "unsupported",
         "these words are not on the page"),
        ("“All new tenders shall ask for zero emissions,” Minister Solvik wrote.", "unchecked", ""),
        ("It crosses the Sognefjord 34 times a day in every weather.", "unchecked", ""),
        ("The Union paid for most of the Danish project.", "unchecked", ""),
        ("Лионель Месси поднял кубок на стадионе в Катаре.", "unchecked", ""),
    ],
)  # fmt: skip
def test_what_rules_say(claim: str, verdict: str, reason: str) -> None:
    ruling = rule(claim, AMPERE, ELLEN)
    assert (ruling.verdict, ruling.reason) == (verdict, reason)


def test_a_number_elsewhere_on_the_page_or_another_script_is_for_a_judge() -> None:
    page = "In 2018 the old town had 4,900 people.\nIn 2019 the old town had 5,000 people.\n"
    assert rule("In 2019 the old town had 5,000 people, they say.", page).verdict == "unchecked"
    assert rule("In 2019 the old town had 4,800 people.", page).verdict == "unsupported"
    page = "阿根廷队在卢赛尔体育场击败法国队，梅西捧起大力神杯，姆巴佩上演帽子戏法。" * 5
    assert rule("Lionel Messi lifted the trophy at Lusail.", page).verdict == "unchecked"
    quote = rule("The ship carries 150 cars and 360 passengers.", ELLEN, AMPERE).quote
    assert quote and quote.source == 2 and quote.text.startswith("The ship carries 120 cars")


def write(services: Services) -> str:
    """A report on two pages, a dead one, and one that nobody names."""
    services.pages = {"ampere": AMPERE, "ellen": ELLEN}
    return (
        "# Electric ferries\n\n"
        "The ship carries 120 cars and 360 passengers [1]. "
        "The ship carries 150 cars and 360 passengers [1]. "
        "It crosses the Sognefjord 34 times a day in every weather [1]. "
        "Ellen was built on the island of Als in Denmark [2]. "
        "Basto Electric halved the emissions of its route [3]. "
        "The ministry agrees with all of this [4]. "
        "Most captains like the new ships.\n\n"
        f"## References\n\n[1] {services.url('ampere')}\n\n[2] {services.url('ellen')}\n\n"
        f"[3] {services.url('gone')}\n\n[4] The ministry, in print\n"
    )


def judge(rows: dict[str, str]) -> Callable[[Any], Any]:
    """A model that has a verdict for claims by their first words; it says yes to others."""

    def think(asked: Any) -> Any:
        verdicts = []
        for n, (cites, text) in parse_claims(asked.prompt).items():
            found = [verdict for start, verdict in rows.items() if text.startswith(start)]
            verdicts.append({"claim": n, "verdict": [*found, "supported"][0], "source": cites[0]})
        return {"verdicts": verdicts}

    return think


VERDICTS = {"It crosses": "partial", "Ellen was": "supported"}


def check(services: Services, settings: Settings, **changes: Any) -> CheckResult:
    report = read_report(write(services).encode(), "report.md")
    return build_check_result(
        begin_check(settings.model_copy(update=changes), RunRequest(report=report)).answer()
    )


def verdicts(result: CheckResult) -> list[str]:
    return [claim.verdict for claim in result.claims]


def test_a_report_is_checked_with_a_model(services: Services, settings: Settings) -> None:
    services.think = judge(VERDICTS)
    result = check(services, settings)
    told = ["supported", "unsupported", "partial", "partial", "unreadable", "unreadable"]
    assert verdicts(result) == told  # no judge lifts a name that is nowhere on the page: Denmark
    model = "gemini-3.8-flash"
    assert [claim.by for claim in result.claims[:4]] == [model, "rule", model, model]
    assert result.claims[2].reason == "the page says a part of it"
    assert "404" in result.claims[4].reason and "no address" in result.claims[5].reason
    assert [one.text for one in result.uncited] == ["Most captains like the new ships."]
    assert not result.ok and result.status == "partial" and result.error is None
    assert services.tasks() == ["verify"], "the open claims go out in one call"
    pages = [name for name in services.page_requests if name != "robots.txt"]
    assert sorted(pages) == ["ampere", "ellen", "gone"], "each page is read once"
    jsonschema.validate(result.model_dump(mode="json"), check_schema())
    hashes = {one.id: one.page_sha256 for one in result.sources}
    assert result.run and result.report
    calls = read_journal_calls(Path(result.run["journal"]))
    read = [one["response"] for one in calls if one["call"] == "read" and "response" in one]
    texts = {page["sha256"]: page["text"] for page in read}
    for claim in result.claims:
        assert claim.text.split()[0] in result.report.text[claim.start : claim.end]
        if claim.quote:
            text = texts[hashes[claim.source or 0]]
            assert text[claim.quote_start : claim.quote_end] == claim.quote
            assert claim.link.startswith("http") and "#:~:text=" in claim.link


NO_KEY = {"gemini_api_key": Settings().gemini_api_key, "use_vertexai": False}


@pytest.mark.parametrize("changes", [{"llm": ("extractive",)}, {"verify": "rules"}, NO_KEY, {}])
def test_without_a_model_the_rest_is_open(
    changes: dict[str, Any], services: Services, settings: Settings
) -> None:
    services.think = lambda _: Raw(403, "no")
    result = check(services, settings, **changes)
    assert verdicts(result)[:4] == ["quoted", "unsupported", "unchecked", "unchecked"]
    assert result.error is None and bool(services.model_requests) == (not changes)
    assert changes or any("403" in one or "rules" in one for one in result.warnings)


def test_a_check_is_replayed_and_audited_offline(services: Services, settings: Settings) -> None:
    services.think = judge(VERDICTS)
    first = check(services, settings)
    asked = len(services.model_requests), len(services.page_requests)
    assert first.run
    replay = RunRequest(replay=Path(first.run["journal"]))
    again = build_check_result(begin_check(Settings(), replay).answer())
    assert again.claims == first.claims and again.sources == first.sources
    value = json.loads(first.model_dump_json())
    audit = audit_answer(value)
    assert audit["ok"], audit["failures"]
    assert audit["stored"] and audit["checked"]["claims"] == 6
    assert {row["by"] for row in audit["judged_by_model"]} == {"gemini-3.8-flash"}
    assert asked == (len(services.model_requests), len(services.page_requests))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("claims", 1, "verdict"), "supported"),
        (("claims", 0, "quote_start"), 3),
        (("claims", 0, "link"), "https://elsewhere.example/"),
        (("report", "text"), "Another report."),
        (("sources", 0, "page_sha256"), "0" * 64),
    ],
)
def test_tampering_is_found(
    services: Services, settings: Settings, path: tuple[str | int, ...], value: Any
) -> None:
    services.think = judge(VERDICTS)
    result = json.loads(check(services, settings).model_dump_json())
    part: Any = result
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert not audit_answer(result)["ok"]


def test_a_check_goes_on_where_it_was_cut_off(services: Services, settings: Settings) -> None:
    services.think = judge(VERDICTS)
    report = read_report(write(services).encode(), "report.md")
    run = begin_check(settings, RunRequest(report=report, resume="monday"))
    for event in run:
        if event.type == "page_read":
            break  # as by a crash: the iterator is left
    del run
    asked = len(services.page_requests)
    result = build_check_result(begin_check(settings, RunRequest(resume="monday")).answer())
    assert verdicts(result)[0] == "supported" and result.error is None
    assert services.page_requests[:asked].count("ampere") == 1
    assert services.page_requests.count("ampere") == 1, "what was read is not read again"
    other = read_report(write(services).replace("150", "151").encode(), "report.md")
    with pytest.raises(UsageError, match="another report"):
        begin_check(settings, RunRequest(report=other, resume="monday"))


def test_sentences_without_source_are_searched_for(services: Services, settings: Settings) -> None:
    services.pages = {"ampere": AMPERE}
    services.hits = lambda _: ["ampere"]
    text = "The ship carries 120 cars and 360 passengers. The moon is made of green cheese."
    report = read_report(text.encode())
    rules = settings.model_copy(update={"verify": "rules"})
    run = begin_check(rules, RunRequest(report=report, search_uncited=True))
    result = build_check_result(run.answer())
    assert verdicts(result) == ["quoted", "unchecked"] and not result.uncited
    assert result.sources[0].found and result.claims[0].source == 1
    assert result.claims[1].reason == "nothing that was found says so"


CORPUS = [
    {"title": "Ampere", "url": "https://one.example/a", "text": AMPERE},
    {"title": "Ellen", "url": "https://two.example/e", "text": ELLEN},
]
TRUE = "The ship carries 120 cars and 360 passengers ([a](https://one.example/a)).\n"
FALSE = "The ship carries 150 cars and 360 passengers ([a](https://one.example/a)).\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    return path


def call(*arguments: str, stdin: str = "") -> tuple[int, str]:
    done = run_command("-m", "agent.cli", "check", *arguments, cwd=ROOT, input=stdin, text=True)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_the_exit_status_says_why_nothing_was_checked(tmp_path: Path, corpus: Path) -> None:
    status, shown = call(str(tmp_path / "none.md"))
    assert status == 2 and json.loads(shown)["error"]["kind"] == "usage"
    status, shown = call("-", "--llm", "gemini", stdin=TRUE)
    assert status == 4 and json.loads(shown)["error"]["kind"] == "not_configured"
    assert call("--replay", str(corpus))[0] == 4


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--schema"], standalone_mode=False) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


@pytest.fixture
def web(tmp_path: Path, corpus: Path) -> Iterator[Web]:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True, corpus=corpus)) as running:
        yield running


def test_a_report_is_checked_over_http(web: Web) -> None:
    response = web.client.post("/api/check", json={"report": FALSE, "name": "r.md"})
    value = response.json()
    assert response.status_code == 200 and not value["ok"]
    jsonschema.validate(value, check_schema())
    assert value["report"]["name"] == "r.md" and value["claims"][0]["verdict"] == "unsupported"
    name = response.headers["x-run-id"]
    again = web.client.get(f"/api/runs/{name}").json()
    assert again["answer"]["check"]["claims"] == value["claims"]
    assert "\n1 sentence does not hold\n" in again["answer"]["report"]
    page = web.client.get(f"/api/runs/{name}/answer?format=html").text
    assert page.count('class="verdict unsupported"')
    sent = base64.b64encode(TRUE.encode()).decode()
    encoded = web.client.post("/api/check", json={"report": sent, "encoding": "base64"})
    assert encoded.json()["ok"] is True
    assert not str(value["run"]["journal"]).startswith("/")


@pytest.mark.parametrize("changes", [{"report": ""}, {"encoding": "base64"}, {"form": "prose"}])
def test_what_cannot_be_checked_is_refused_over_http(changes: dict[str, str], web: Web) -> None:
    assert web.client.post("/api/check", json={"report": "é", **changes}).status_code == 422


def test_a_check_is_streamed(web: Web) -> None:
    body = {"report": FALSE}
    with web.client.stream("POST", "/api/check/stream", json=body) as response:
        frames = [json.loads(x[6:]) for x in response.iter_lines() if x.startswith("data: ")]
    assert [frames[0]["type"], frames[-1]["type"]] == ["start", "end"]
    answer = next(frame["detail"] for frame in frames if frame["type"] == "answer")
    assert answer["check"]["counts"]["unsupported"] == 1
