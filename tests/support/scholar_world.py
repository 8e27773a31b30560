"""A closed world of 40 scholarly works on loopback, behind every service as it is on the wire."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.loopback import Loopback
from tests.support.office_files import pdf, shown

DRUGS = (
    "Velorine Santrexol Ombrelast Quintapril Feroxamide Tullimab Norvexine Glastrolol Pirendazole "
    "Almitrexan Corvadine Rastufen Beltraxone Ximorelin Dorvatinib Ketrusol Mavenprost "
    "Zulferine Hesterol Jubraxin Lomentide Watrifen Ysoprazine Eptraxil Ivorelast Nuxadine "
    "Orbitrol Prellamab Skandrin Trevolast Ufradine Vantoxil Wendrolol Xartepine"
).split()
ENDPOINTS = "relapse admission mortality fatigue fever pain".split()


class Paper(NamedTuple):
    """A work: what it is known by, where its fact is, and which services know it."""

    n: int
    drug: str
    percent: int
    kind: str  # jats, pdf, abstract, retracted, rival (retracted, next to a valid one), preprint
    services: tuple[str, ...]

    @property
    def endpoint(self) -> str:
        return ENDPOINTS[DRUGS.index(self.drug) % len(ENDPOINTS)]

    @property
    def title(self) -> str:
        more = " in a second cohort" if self.kind == "rival" else ""
        return f"Effect of {self.drug} on {self.endpoint}: a randomised trial{more}"

    @property
    def fact(self) -> str:
        return f"{self.drug} reduced {self.endpoint} by {self.percent} percent."

    @property
    def question(self) -> str:
        return f"By how many percent did {self.drug} reduce {self.endpoint}?"

    @property
    def abstract(self) -> str:
        known = self.fact if self.kind not in ("jats", "pdf") else "The results are reported."
        return (
            f"Background: {self.drug} is given to many patients. Methods: We enrolled "
            f"{600 + self.n} patients with {self.endpoint} at nine hospitals. Results: {known} "
            "Conclusions: More trials are needed."
        )

    @property
    def doi(self) -> str:
        return "" if self.kind == "preprint" else f"10.5555/trial.{self.n}"

    @property
    def arxiv(self) -> str:
        return f"2401.{10000 + self.n}"

    @property
    def is_retracted(self) -> bool:
        return self.kind in ("retracted", "rival")

    @property
    def whole(self) -> str:
        methods = "Patients were allotted by chance, and nobody knew what was given. " * 6
        return f"{methods}\n{self.fact}\nNo serious event was seen in either group."


KINDS = ["jats"] * 10 + ["pdf"] * 8 + ["abstract"] * 10 + ["retracted"] * 6
KNOWN = {
    "jats": ("europepmc", "crossref"), "pdf": ("crossref", "openalex", "semantic_scholar"),
    "abstract": ("crossref", "europepmc", "openalex"), "retracted": ("crossref", "openalex"),
    "rival": ("europepmc", "crossref"), "preprint": ("arxiv",),
}  # fmt: skip


def make_papers() -> list[Paper]:
    """34 of a drug each; of six that are whole or abstracts a retracted rival, or a preprint."""
    own = [Paper(n, DRUGS[n], 11 + 2 * n, k, KNOWN[k]) for n, k in enumerate(KINDS)]
    rivals = [Paper(34 + n, DRUGS[18 + n], 90 + n, "rival", KNOWN["rival"]) for n in range(3)]
    pre = [
        Paper(37 + n, DRUGS[22 + n], own[22 + n].percent, "preprint", ("arxiv",)) for n in range(3)
    ]
    return [*own, *rivals, *pre]


PAPERS = make_papers()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class ScholarWorld(Loopback):
    """A server of all services; `asked` is what was asked."""

    def __init__(self, papers: list[Paper] = PAPERS) -> None:
        self.papers = papers
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self._lock = threading.Lock()
        super().__init__(_handler(self))

    @property
    def environment(self) -> dict[str, str]:
        """What directs a run to this world."""
        names = "crossref europepmc arxiv openalex semantic_scholar unpaywall".split()
        urls = {f"{name.upper()}_BASE_URL": f"{self.base}/{name}" for name in names}
        keys = {"OPENALEX_API_KEY": "alex-key", "SEMANTIC_SCHOLAR_API_KEY": "s2-key"}
        more = {"SCHOLAR_CONTACT": "me@lab.example", "SEARCH_PROVIDERS": "scholar"}
        more |= {"ALLOW_PRIVATE_NETWORK": "1", "RESEARCH_AGENT_RESPECT_ROBOTS": "0"}
        return {**urls, **keys, **more}

    def reply(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, str]:
        """Status, body and content type of an address."""
        parts = urlsplit(path)
        name, rest = parts.path.strip("/").partition("/")[::2]
        parameters = {key: value[0] for key, value in parse_qs(parts.query).items()}
        with self._lock:
            self.asked.append((name, parameters, headers))
        if name == "unpaywall":
            return self._unpaywall(unquote(rest))
        if name == "pdf":
            return 200, _make_pdf(self.papers[int(rest)]), "application/pdf"
        if rest.endswith("/fullTextXML"):
            number = int(rest.partition("/")[0].removeprefix("PMC"))
            return 200, _make_jats(self.papers[number]), "application/xml"
        return self._search(name, parameters)

    def _unpaywall(self, doi: str) -> tuple[int, bytes, str]:
        found = next((one for one in self.papers if one.doi == doi), None)
        if found is None:
            return 404, b"{}", "application/json"
        url = f"{self.base}/pdf/{found.n}" if found.kind == "pdf" else None
        place = {"url_for_pdf": url} if url else None
        return 200, json.dumps({"doi": doi, "best_oa_location": place}).encode(), "application/json"

    def _search(self, name: str, parameters: dict[str, str]) -> tuple[int, bytes, str]:
        (key,) = {"query", "search", "search_query"} & parameters.keys()
        wanted = _words(parameters[key].replace("all:", ""))
        papers = [one for one in self.papers if name in one.services]
        shared = {one.n: len(wanted & _words(f"{one.title} {one.abstract}")) for one in papers}
        best = sorted(papers, key=lambda one: -shared[one.n])
        hits = [one for one in best if shared[one.n] >= 2][:10]
        if name == "arxiv":
            return 200, _make_feed(hits).encode(), "application/atom+xml"
        return 200, json.dumps(_WRITERS[name](hits, self.base)).encode(), "application/json"


def _handler(world: ScholarWorld) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, kind = world.reply(self.path, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


# --- as each service writes it -------------------------------------------------------------------


def _crossref(hits: list[Paper], base: str) -> Any:
    notice = [{"DOI": "10.5555/notice", "type": "retraction", "source": "retraction-watch"}]
    items = [
        {
            "DOI": one.doi, "title": [one.title], "type": "journal-article",
            "URL": f"https://doi.org/{one.doi}", "container-title": ["Journal of Invented Trials"],
            "author": [{"given": "Ana", "family": f"Müller-{one.drug}"}, {"name": "A & B"}],
            "issued": {"date-parts": [[2024, 5]]}, "volume": "12", "issue": "3", "page": "1-9",
            "abstract": f"<jats:title>Abstract</jats:title><jats:p>{escape(one.abstract)}</jats:p>",
            **({"updated-by": notice} if one.is_retracted else {}),
        }
        for one in hits
    ]  # fmt: skip
    return {"status": "ok", "message": {"total-results": len(items), "items": items}}


def _europepmc(hits: list[Paper], base: str) -> Any:
    rows = [
        {
            "id": str(9000 + one.n), "source": "MED", "pmid": str(9000 + one.n), "doi": one.doi,
            "title": f"{one.title}.", "abstractText": one.abstract, "pubYear": "2024",
            "firstPublicationDate": "2024-05-02", "pageInfo": "1-9",
            "authorList": {"author": [{"firstName": "Ana", "lastName": f"Müller-{one.drug}"}]},
            "journalInfo": {"volume": "12", "journal": {"title": "Journal of Invented Trials"}},
            "pubTypeList": {"pubType": ["Journal Article"]
                            + ["Retracted Publication"] * one.is_retracted},
            **({"pmcid": f"PMC{one.n}", "isOpenAccess": "Y"} if one.kind == "jats" else {}),
        }
        for one in hits
    ]  # fmt: skip
    return {"hitCount": len(rows), "resultList": {"result": rows}}


def _openalex(hits: list[Paper], base: str) -> Any:
    rows = []
    for one in hits:
        index: dict[str, list[int]] = {}
        for n, word in enumerate(one.abstract.split()):
            index.setdefault(word, []).append(n)
        rows.append({
            "id": f"https://openalex.org/W{one.n}", "doi": f"https://doi.org/{one.doi}",
            "display_name": one.title, "publication_date": "2024-05-02", "type": "article",
            "authorships": [{"author": {"display_name": f"Ana Müller-{one.drug}"}}],
            "abstract_inverted_index": index, "is_retracted": one.is_retracted,
            "best_oa_location": {"pdf_url": f"{base}/pdf/{one.n}"} if one.n == 10 else None,
        })  # fmt: skip
    return {"meta": {"count": len(rows)}, "results": rows}


def _semantic_scholar(hits: list[Paper], base: str) -> Any:
    rows = [
        {
            "paperId": str(one.n), "title": one.title, "abstract": one.abstract, "year": 2024,
            "externalIds": {"DOI": one.doi}, "authors": [{"name": f"Ana Müller-{one.drug}"}],
            "venue": "Journal of Invented Trials", "openAccessPdf": None,
        }
        for one in hits
    ]  # fmt: skip
    return {"total": len(rows), "offset": 0, **({"data": rows} if rows else {})}


_WRITERS = {
    "crossref": _crossref, "europepmc": _europepmc, "openalex": _openalex,
    "semantic_scholar": _semantic_scholar,
}  # fmt: skip


def _make_feed(hits: list[Paper]) -> str:
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/{one.arxiv}v2</id><title>{escape(one.title)}</title>"
        f"<published>2023-11-02T00:00:00Z</published><summary>{escape(one.abstract)}</summary>"
        f"<author><name>Ana Müller-{one.drug}</name></author></entry>"
        for one in hits
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom" '
        f'xmlns:arxiv="http://arxiv.org/schemas/atom"><title>q</title>{entries}</feed>'
    )


def _make_jats(paper: Paper) -> bytes:
    body = "".join(f"<p>{escape(line)}</p>" for line in paper.whole.split("\n"))
    return (
        '<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "a.dtd">'
        f'<article article-type="research-article"><front><article-meta><title-group>'
        f"<article-title>{paper.title}</article-title></title-group><abstract><p>"
        f"{escape(paper.abstract)}</p></abstract></article-meta></front><body><sec>"
        f"<title>Results</title>{body}<table-wrap><table><tr><th>Group</th><th>n</th></tr><tr>"
        "<td>Drug</td><td>300<xref>1</xref></td></tr></table></table-wrap></sec></body><back>"
        "<ref-list><ref>Somebody else said so.</ref></ref-list></back></article>"
    ).encode()


def _make_pdf(paper: Paper) -> bytes:
    lines = [paper.title, *_wrap(paper.whole)]
    return pdf(shown(*((72, 720 - 14 * n, line) for n, line in enumerate(lines))))


def _wrap(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from re.findall(r".{1,90}(?:\s|$)", line)
