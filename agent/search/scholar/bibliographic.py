"""Bibliographic services that reply in JSON: their requests and replies."""

from __future__ import annotations

from collections.abc import Iterator

from agent.search.scholar.records import build_hit, read_authors
from agent.search.table_service import TableService, read_fields
from agent.settings import Settings
from agent.state import Hit, Json
from agent.version import USER_AGENT

MAX_INDEX = 2000  # words of an abstract


def contact_headers(settings: Settings) -> dict[str, str]:
    """The User-Agent with the contact of the user, if there is one."""
    agent, contact = settings.user_agent or USER_AGENT, settings.scholar_contact
    return {"User-Agent": f"{agent} mailto:{contact}" if contact else agent}


class ScholarService(TableService):
    """A bibliographic service, which gets the contact of the user in the User-Agent."""

    authors: str  # where a row has them: see `read_authors`

    @property
    def headers(self) -> dict[str, str]:
        contact = contact_headers(self.settings)
        return contact | ({"x-api-key": self.key} if self.key else {})

    def complete(self, row: Json) -> Json:
        return {"author": read_authors(row, self.authors)}

    def build(self, record: Json) -> Iterator[Hit]:
        return build_hit(self.name, record)


class Crossref(ScholarService):
    """https://api.crossref.org/swagger-ui/index.html; `updated-by` has Retraction Watch too."""

    name = "crossref"

    def complete(self, row: Json) -> Json:
        day = next(iter(read_fields(row, "d=issued.date-parts")["d"] or []), None)
        return super().complete(row) | {"day": day}


class EuropePmc(ScholarService):
    """PubMed's works: https://europepmc.org/RestfulWebService, `resultType=core`."""

    name = "europepmc"

    def complete(self, row: Json) -> Json:
        """Its page, a title without the full stop of PubMed, and the full text of an open work."""
        number = str(row.get("pmcid"))
        is_open = row.get("isOpenAccess") == "Y" and number.isalnum()
        place = f"{self.endpoint.base_url.rstrip('/')}/{number}/fullTextXML" if is_open else None
        page = f"https://europepmc.org/article/{row.get('source')}/{row.get('id')}"
        fields = {"title": str(row.get("title") or "").rstrip("."), "URL": page, "place": place}
        return super().complete(row) | fields


class OpenAlex(ScholarService):
    """https://developers.openalex.org/api-reference/works. Without a key ten searches a day."""

    name = "openalex"

    def complete(self, row: Json) -> Json:
        """The abstract, which comes as its words, each with its places."""
        words: dict[int, str] = {}
        index = row.get("abstract_inverted_index")
        for word, places in index.items() if isinstance(index, dict) else ():
            found = places if isinstance(places, list) else []
            words |= {n: word for n in found if type(n) is int and 0 <= n < MAX_INDEX}
        abstract = " ".join(words[n] for n in sorted(words))
        return super().complete(row) | {"abstract": abstract}


class SemanticScholar(ScholarService):
    """https://api.semanticscholar.org/api-docs/graph. All without a key share one allowance."""

    name = "semantic_scholar"

    def read(self, data: bytes) -> Iterator[Json]:
        body = self.endpoint.parse_object(data)
        return iter(()) if body.get("total") == 0 and "data" not in body else super().read(data)
