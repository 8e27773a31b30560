"""Bibliographic services that reply in JSON: where each says what, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from agent import USER_AGENT
from agent.search.scholar.records import build_hit, read_authors
from agent.search.table_service import TableService, read_fields
from agent.settings import Settings
from agent.state import Hit
from agent.state.json_data import Json

MAX_INDEX = 2000  # words of an abstract


def contact_headers(settings: Settings) -> dict[str, str]:
    """The User-Agent with the contact of who asks, if there is one."""
    agent, contact = settings.user_agent or USER_AGENT, settings.scholar_contact
    return {"User-Agent": f"{agent} mailto:{contact}" if contact else agent}


class ScholarService(TableService):
    """A bibliographic service, which is told the contact of who asks in the User-Agent."""

    authors: str  # where a row has them: see `read_authors`

    @property
    def headers(self) -> dict[str, str]:
        told = contact_headers(self.settings)
        return told | ({"x-api-key": self.key} if self.key else {})

    def complete(self, row: Json) -> Json:
        return {"author": read_authors(row, self.authors)}

    def build(self, record: Json) -> Iterator[Hit]:
        return build_hit(self.name, record)


class Crossref(ScholarService):
    """https://api.crossref.org/swagger-ui/index.html; `updated-by` has Retraction Watch too."""

    name, path, rows = "crossref", "/works", "message.items"
    asked = "query={q}&rows={count}&filter={since}&mailto={mail}"
    since = "from-pub-date:{day}"
    fields = (
        "title=title DOI=DOI type=type container-title=container-title publisher=publisher URL=URL "
        "volume=volume issue=issue page=page abstract=abstract retracted=updated-by"
    )
    authors = "author:family:given:name"

    def complete(self, row: Json) -> Json:
        day = next(iter(read_fields(row, "d=issued.date-parts")["d"] or []), None)
        return super().complete(row) | {"day": day}


class EuropePmc(ScholarService):
    """PubMed's works: https://europepmc.org/RestfulWebService, `resultType=core`."""

    name, path, rows = "europepmc", "/search", "resultList.result"
    asked = "query=({or}){since}&email={mail}&pageSize={count}&format=json&resultType=core"
    since = " AND FIRST_PDATE:[{day} TO 3000-12-31]"
    fields = (
        "DOI=doi PMID=pmid PMCID=pmcid type=pubTypeList.pubType retracted=pubTypeList.pubType "
        "day=firstPublicationDate|pubYear container-title=journalInfo.journal.title page=pageInfo "
        "volume=journalInfo.volume issue=journalInfo.issue abstract=abstractText title=title "
        "publisher=bookOrReportDetails.publisher"
    )
    authors = "authorList.author:lastName:firstName:collectiveName"

    def complete(self, row: Json) -> Json:
        """Its page, a title without the full stop of PubMed, and the full text of an open work."""
        number = str(row.get("pmcid"))
        is_open = row.get("isOpenAccess") == "Y" and number.isalnum()
        place = f"{self.endpoint.base_url.rstrip('/')}/{number}/fullTextXML" if is_open else None
        page = f"https://europepmc.org/article/{row.get('source')}/{row.get('id')}"
        told = {"title": str(row.get("title") or "").rstrip("."), "URL": page, "place": place}
        return super().complete(row) | told


class OpenAlex(ScholarService):
    """https://developers.openalex.org/api-reference/works. Without a key ten searches a day."""

    name, path, rows = "openalex", "/works", "results"
    asked = "search={q}&per-page={count}&filter={since}&mailto={mail}&api_key={key}"
    since = "from_publication_date:{day}"
    fields = (
        "title=display_name|title DOI=doi type=type day=publication_date retracted=is_retracted "
        "container-title=primary_location.source.display_name volume=biblio.volume URL=id "
        "issue=biblio.issue page=biblio.first_page+biblio.last_page place=best_oa_location.pdf_url"
    )
    authors = "authorships:author.display_name"

    def complete(self, row: Json) -> Json:
        """The abstract, which is told as its words, each with its places."""
        words: dict[int, str] = {}
        index = row.get("abstract_inverted_index")
        for word, places in index.items() if isinstance(index, dict) else ():
            found = places if isinstance(places, list) else []
            words |= {n: word for n in found if type(n) is int and 0 <= n < MAX_INDEX}
        abstract = " ".join(words[n] for n in sorted(words))
        return super().complete(row) | {"abstract": abstract}


class SemanticScholar(ScholarService):
    """https://api.semanticscholar.org/api-docs/graph. All without a key share one allowance."""

    name, path, rows = "semantic_scholar", "/paper/search", "data"
    asked = (
        "query={q}&limit={count}&publicationDateOrYear={since}&fields=title,abstract,year,venue,"
        "url,publicationDate,authors,journal,externalIds,openAccessPdf,publicationTypes"
    )
    since = "{day}:"
    fields = (
        "title=title type=publicationTypes day=publicationDate|year volume=journal.volume URL=url "
        "container-title=journal.name|venue page=journal.pages abstract=abstract "
        "place=openAccessPdf.url DOI=externalIds.DOI PMID=externalIds.PubMed"
    )
    authors = "authors:name"
    seconds_apart = 1.0

    def read(self, data: bytes) -> Iterator[Json]:
        body = self.endpoint.parse_object(data)
        return iter(()) if body.get("total") == 0 and "data" not in body else super().read(data)
