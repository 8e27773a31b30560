"""Bibliographic services: asked, found and fused, read in whole or by the abstract, and cited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bibtexparser
import pytest
import responses
import rispy
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.bibliography import to_bibtex, to_csl_json, to_ris
from agent.answer.schema import Answer, Citation
from agent.errors import SearchFailed
from agent.evidence.credibility import Credibility
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.search.scholar.fusion import SERVICES, Scholar
from agent.search.scholar.records import build_hit
from agent.search.search_options import SearchOptions
from agent.settings import Settings, parse_settings
from agent.state import Hit, Page, Source
from agent.state.excerpts import Excerpt
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import Assessment, decide_verdict
from tests.support.scholar_world import PAPERS, Paper, ScholarWorld

JSON_SERVICES = [name for name in SERVICES if name != "arxiv"]


@pytest.fixture
def papers() -> Iterator[ScholarWorld]:
    with ScholarWorld() as running:
        yield running


def settings_of(world: ScholarWorld, folder: Path, **more: str) -> Settings:
    places = {"RUNS_DIR": str(folder / "runs"), "CACHE_DIR": str(folder / "cache")}
    return parse_settings(
        {**world.environment, **places, "RESEARCH_AGENT_LLM": "extractive", **more}
    )


def ask(world: ScholarWorld, folder: Path, paper: Paper, **more: str) -> Answer:
    settings = settings_of(world, folder, SEARCH_PROVIDERS=paper.services[0], **more)
    run = research(paper.question, settings.model_copy(update={"max_rounds": 1}))
    for _ in run:
        pass
    return run.answer()


# --- a run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "text_from", "is_partial"),
    [(0, "europepmc", False), (10, "", False), (18, "crossref", True)],
)
def test_a_work_is_read_in_whole_or_by_its_abstract(
    papers: ScholarWorld, tmp_path: Path, n: int, text_from: str, is_partial: bool
) -> None:
    answer = ask(papers, tmp_path, PAPERS[n])
    assert PAPERS[n].fact[:-1] in answer.answer
    (first,) = (one for one in answer.citations if one.quote.endswith(PAPERS[n].fact))
    assert (first.text_from, bool(first.partial_text)) == (text_from, is_partial)
    agents = [headers["User-Agent"] for name, _, headers in papers.asked if name != "pdf"]
    assert all("mailto:me@lab.example" in agent for agent in agents)  # of full texts, too
    assert first.work and first.work["DOI"] == PAPERS[n].doi and "abstract" not in first.work
    assert first.work["issued"]["date-parts"][0][0] == 2024
    assert first.work["container-title"] == "Journal of Invented Trials"
    assert audit_answer(json.loads(answer.model_dump_json()))["ok"]


def test_a_retracted_work_proves_nothing_alone_and_weighs_nothing(
    papers: ScholarWorld, tmp_path: Path
) -> None:
    assert PAPERS[28].fact[:-1] not in ask(papers, tmp_path / "a", PAPERS[28]).answer
    answer = ask(papers, tmp_path / "b", PAPERS[18])  # beside which a retracted one has 90 percent
    assert "47 percent" in answer.answer and "90" not in answer.answer


def test_no_judge_makes_a_retracted_work_a_proof() -> None:
    text = "Velorine reduced relapse by 11 percent."
    retracted, sound = (QuotePlace(text, "T", 0, len(text), is_bad) for is_bad in (True, False))
    judged = Assessment("supported", "model")
    assert decide_verdict(text, [retracted], judged) == Assessment("unsupported", "rule")
    assert decide_verdict(text, [retracted, sound], judged) == judged


def test_a_retracted_work_is_marked_for_a_model() -> None:
    page = Page.from_text("https://doi.org/10.1/x", "A trial", "Text.", "2026-01-02T03:04:05Z")
    source = Source(n=1, page=page, hit=hit("crossref", DOI="10.1/x", retracted=True))
    assert Excerpt.of(source, ["Text."]).title == "[RETRACTED] A trial"


# --- the services on the wire --------------------------------------------------------------------


def test_what_is_asked_says_who_asks_and_since_when(papers: ScholarWorld, tmp_path: Path) -> None:
    settings = settings_of(papers, tmp_path)
    options = SearchOptions(since="2020-02-03")
    for service in SERVICES.values():
        service(settings, options).search("Velorine (and) relapse: AND?")
    requests = {name: (params, headers) for name, params, headers in papers.asked}
    assert all("mailto:me@lab.example" in headers["User-Agent"] for _, headers in requests.values())
    assert requests["crossref"][0]["filter"] == "from-pub-date:2020-02-03"
    assert requests["europepmc"][0]["query"] == (
        "(velorine OR relapse) AND FIRST_PDATE:[2020-02-03 TO 3000-12-31]"
    )
    assert requests["arxiv"][0]["search_query"] == (
        "(all:velorine OR all:relapse) AND submittedDate:[202002030000 TO 300001010000]"
    )
    assert requests["openalex"][0]["api_key"] == "alex-key"
    assert requests["semantic_scholar"][1]["x-api-key"] == "s2-key"


@pytest.mark.parametrize("name", list(SERVICES))
def test_each_service_finds_a_work(name: str, papers: ScholarWorld, tmp_path: Path) -> None:
    paper = next(one for one in PAPERS if name in one.services)
    service = SERVICES[name](settings_of(papers, tmp_path), SearchOptions())
    first = service.search(f"{paper.drug} {paper.endpoint}")[0]
    assert first.title.rstrip(".") == paper.title and paper.drug in first.snippet


@pytest.mark.parametrize("name", list(SERVICES))
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ({"status": 429, "headers": {"Retry-After": "7"}}, "rate_limited"),
        ({"json": {"message": 1, "results": "x"}}, "invalid"),
        ({"body": b"<feed" + b"<a>" * 10_000}, "invalid"),
    ],
)
def test_refusals(name: str, reply: dict[str, Any], outcome: str, tmp_path: Path) -> None:
    settings = parse_settings({"CACHE_DIR": str(tmp_path)})
    service = SERVICES[name](settings, SearchOptions())
    with responses.RequestsMock() as mock:
        mock.get(service.endpoint.base_url + service.path, **reply)
        with pytest.raises(SearchFailed) as caught:
            service.search("q")
    assert caught.value.outcome == outcome
    assert caught.value.retry_after == (7 if outcome == "rate_limited" else None)


# --- one work ------------------------------------------------------------------------------------


def hit(service: str, **record: Any) -> Hit:
    base = {"title": "A study of one thing and of another", "author": [{"family": "Ng"}]}
    (made,) = build_hit(service, {**base, **record})
    return made


def test_records_of_one_work_are_one_hit() -> None:
    arxiv = hit("arxiv", DOI="10.48550/arXiv.2401.1", day="2023-11", place="https://a.org/pdf/1")
    paper = hit("crossref", DOI="10.1/X", type="journal-article", day=[2024, 5], volume="3")
    again = hit(
        "openalex", DOI="https://doi.org/10.1/x", type="article", retracted=True, abstract="A."
    )
    other = hit("crossref", title="Another one", DOI="10.1/y", day=[2024])
    one, two = Scholar.fuse([[arxiv, other], [paper], [again]])
    assert (one.url, two.url) == ("https://doi.org/10.1/y", "https://doi.org/10.1/x")
    assert two.is_retracted and two.work and two.work["volume"] == "3"
    assert two.work["source"] == "openalex" and two.places == ("https://a.org/pdf/1",)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("name", JSON_SERVICES)
@given(
    row=st.dictionaries(
        st.sampled_from("title author authors issued journal DOI abstract doi url".split()), values
    )
)
def test_no_row_breaks_a_service(name: str, row: dict[str, Any]) -> None:
    service = SERVICES[name](Settings(), SearchOptions())
    body: Any = [row]
    for key in reversed(service.rows.split(".")):
        body = {key: body}
    for record in service.read(json.dumps(body).encode()):
        for made in build_hit(name, record):
            assert made.title and made.url.startswith("http") and len(made.snippet) <= 1000


# --- the bibliography ----------------------------------------------------------------------------

WORK = {
    "id": "10.1/x", "type": "article-journal", "DOI": "10.1/x_y", "URL": "https://doi.org/10.1/x_y",
    "title": "Salt & {Water}: 50% of $x_1$ \\ #1 ~ ^2", "container-title": "J. of A & B",
    "author": [{"family": "Müller", "given": "Ana"}, {"literal": "Group of Rock and Salt"}],
    "issued": {"date-parts": [[2024, 5, 2]]}, "page": "10-19", "volume": "3", "status": "retracted",
}  # fmt: skip


def answer_of(*works: dict[str, Any] | None, title: str = "A page") -> Answer:
    trust = Credibility(score=0.5, domain=0.4, relevance=1, recency=0, reason="")
    cited = tuple(
        Citation(
            id=n, title=title, url=f"https://a.org/{n}", quote="q", start=0, end=1, match="exact",
            link="", page_sha256="", retrieved_at="2026-01-02T03:04:05Z", via="page",
            credibility=trust, work=work,
        )
        for n, work in enumerate(works, 1)
    )  # fmt: skip
    return Answer(topic="t", status="complete", citations=cited)


def test_bibtex_and_ris_and_csl_are_read_by_others() -> None:
    answer = answer_of(WORK, None)
    library = bibtexparser.parse_string(to_bibtex(answer))
    keys = [entry.key for entry in library.entries]
    assert not library.failed_blocks and keys == ["mller2024-1", "source-2"]
    fields = library.entries_dict["mller2024-1"].fields_dict
    assert fields["author"].value == "Müller, Ana and {Group of Rock {and} Salt}"
    assert fields["title"].value.startswith("{Salt \\& \\{Water\\}: 50\\% of \\$x\\_1\\$ ")
    first, page = rispy.loads(to_ris(answer))
    assert first["authors"] == ["Müller, Ana", "Group of Rock and Salt"]
    assert (first["start_page"], first["end_page"], first["year"]) == ("10", "19", "2024")
    assert first["title"] == WORK["title"] and first["notes"] == ["Retracted"]
    assert page["type_of_reference"] == "ELEC" and page["urls"] == ["https://a.org/2"]
    types = [item["type"] for item in json.loads(to_csl_json(answer))]
    assert types == ["article-journal", "webpage"]
