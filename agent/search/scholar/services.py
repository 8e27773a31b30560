"""Bibliographic services that reply in JSON: where each says what, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from agent import USER_AGENT
from agent.outside.http import Endpoint
from agent.outside.rate_limits import FileCounterStore, RateLimiter, RateLimits
from agent.outside.rate_window import RateLimit
from agent.search.options import SearchOptions
from agent.search.scholar.records import build_hit, join_words, read_authors, read_fields
from agent.settings import Settings, user_folder
from agent.state import Hit
from agent.state.json_data import Json

MAX_INDEX = 2000  # words of an abstract


class Service:
    """A bibliographic service. A subclass has a `name`, a `path`, and where its reply has what.

    The name gives those of its settings: `crossref_base_url`, and with a key `openalex_api_key`.
    Contact and rates are as each asks: the contact in the User-Agent, `seconds_apart` between two
    requests of all runs that use one cache folder. One with a key that is not set `is_scarce`.
    """

    name: str
    path: str
    rows: str  # where the list of works is in a reply: see `read_fields`
    fields: str
    authors: str
    seconds_apart: float = 0.0

    def __init__(self, settings: Settings, options: SearchOptions) -> None:
        key = getattr(settings, f"{self.name}_api_key", None)
        self._settings, self._options = settings, options
        self.key = key.get_secret_value() if key else ""
        self.contact = settings.scholar_contact
        self.is_scarce = key is not None and not self.key
        url, names = getattr(settings, f"{self.name}_base_url"), self.name.upper()
        key_name = f"{names}_API_KEY" if self.key else ""
        self.endpoint = Endpoint(
            url, f"{names}_BASE_URL", key_name, self.key, settings.search_timeout
        )

    @cached_property
    def _turns(self) -> RateLimits:
        folder = (self._settings.cache_dir or user_folder("cache")) / "limits"
        limits = {self.name: RateLimit(1)} if self.seconds_apart else {}
        window = self.seconds_apart or 1.0
        return RateLimits(limits, FileCounterStore(folder, limits, window), window)

    def search(self, query: str) -> tuple[Hit, ...]:
        """Works, best first. Raises SearchFailed."""
        query, options = self._options.for_query(query)
        asked = {k: v for k, v in self.ask(query, str(options.since or "")).items() if v}
        asked[self.count_name] = str(options.max_results)
        agent = self._settings.user_agent or USER_AGENT
        headers = {"User-Agent": f"{agent} mailto:{self.contact}" if self.contact else agent}
        headers |= {"x-api-key": self.key} if self.key else {}
        with suppress(OSError):  # a folder that cannot be written
            RateLimiter(self._turns).acquire(self.name)
        data = self.endpoint.fetch(self.path, headers=headers, params=asked)
        return tuple(hit for one in self.read(data) for hit in build_hit(self.name, one))

    count_name = "rows"  # of the parameter that says how many are wanted

    def ask(self, query: str, since: str) -> Mapping[str, str]:
        """The parameters of a query, without those that are empty."""
        raise NotImplementedError

    def read(self, data: bytes) -> Iterator[Json]:
        """The records of a reply, in the names of `build_hit`. Raises SearchFailed."""
        body = self.endpoint.parse_object(data)
        if body.get("total") == 0 and "data" not in body:  # of Semantic Scholar
            return
        for row in self.endpoint.get_results(body, *self.rows.split(".")):
            told = read_fields(row, self.fields) | {"author": read_authors(row, self.authors)}
            yield told | self.complete(row)

    def complete(self, row: Json) -> Json:
        """What of a row is not at one place."""
        return {}


class Crossref(Service):
    """https://api.crossref.org/swagger-ui/index.html; `updated-by` has Retraction Watch too."""

    name, path, rows = "crossref", "/works", "message.items"
    fields = (
        "title=title DOI=DOI type=type container-title=container-title publisher=publisher URL=URL "
        "volume=volume issue=issue page=page abstract=abstract retracted=updated-by"
    )
    authors = "author:family:given:name"

    def ask(self, query: str, since: str) -> Mapping[str, str]:
        day = f"from-pub-date:{since}" if since else ""
        return {"query": query, "filter": day, "mailto": self.contact}

    def complete(self, row: Json) -> Json:
        return {"day": next(iter(read_fields(row, "d=issued.date-parts")["d"] or []), None)}


class EuropePmc(Service):
    """PubMed's works: https://europepmc.org/RestfulWebService, `resultType=core`."""

    name, path, rows, count_name = "europepmc", "/search", "resultList.result", "pageSize"
    fields = (
        "DOI=doi PMID=pmid PMCID=pmcid type=pubTypeList.pubType retracted=pubTypeList.pubType "
        "day=firstPublicationDate|pubYear container-title=journalInfo.journal.title page=pageInfo "
        "volume=journalInfo.volume issue=journalInfo.issue abstract=abstractText title=title "
        "publisher=bookOrReportDetails.publisher"
    )
    authors = "authorList.author:lastName:firstName:collectiveName"

    def ask(self, query: str, since: str) -> Mapping[str, str]:
        days = f" AND FIRST_PDATE:[{since} TO 3000-12-31]" if since else ""
        told = {"query": f"({join_words(query)}){days}", "email": self.contact}
        return {**told, "format": "json", "resultType": "core"}

    def complete(self, row: Json) -> Json:
        """Its page, a title without the full stop of PubMed, and the full text of an open work."""
        number = str(row.get("pmcid"))
        is_open = row.get("isOpenAccess") == "Y" and number.isalnum()
        place = f"{self.endpoint.base_url.rstrip('/')}/{number}/fullTextXML" if is_open else None
        page = f"https://europepmc.org/article/{row.get('source')}/{row.get('id')}"
        return {"title": str(row.get("title") or "").rstrip("."), "URL": page, "place": place}


class OpenAlex(Service):
    """https://developers.openalex.org/api-reference/works. Without a key ten searches a day."""

    name, path, rows, count_name = "openalex", "/works", "results", "per-page"
    fields = (
        "title=display_name|title DOI=doi type=type day=publication_date retracted=is_retracted "
        "container-title=primary_location.source.display_name volume=biblio.volume URL=id "
        "issue=biblio.issue page=biblio.first_page+biblio.last_page place=best_oa_location.pdf_url"
    )
    authors = "authorships:author.display_name"

    def ask(self, query: str, since: str) -> Mapping[str, str]:
        day = f"from_publication_date:{since}" if since else ""
        return {"search": query, "filter": day, "mailto": self.contact, "api_key": self.key}

    def complete(self, row: Json) -> Json:
        """The abstract, which is told as its words, each with its places."""
        words: dict[int, str] = {}
        index = row.get("abstract_inverted_index")
        for word, places in index.items() if isinstance(index, dict) else ():
            found = places if isinstance(places, list) else []
            words |= {n: word for n in found if type(n) is int and 0 <= n < MAX_INDEX}
        return {"abstract": " ".join(words[n] for n in sorted(words))}


class SemanticScholar(Service):
    """https://api.semanticscholar.org/api-docs/graph. All without a key share one allowance."""

    name, path, rows, count_name = "semantic_scholar", "/paper/search", "data", "limit"
    fields = (
        "title=title type=publicationTypes day=publicationDate|year volume=journal.volume URL=url "
        "container-title=journal.name|venue page=journal.pages abstract=abstract "
        "place=openAccessPdf.url DOI=externalIds.DOI PMID=externalIds.PubMed"
    )
    authors = "authors:name"
    seconds_apart = 1.0

    def ask(self, query: str, since: str) -> Mapping[str, str]:
        names = "title,abstract,year,publicationDate,authors,venue,journal,externalIds,url"
        names += ",openAccessPdf,publicationTypes"
        return {"query": query, "fields": names, "publicationDateOrYear": since and f"{since}:"}
