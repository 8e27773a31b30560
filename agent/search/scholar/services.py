"""Bibliographic services that reply in JSON: where each says what, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator
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
    asked: str  # parameters, of which those that are empty are not sent
    since: str  # how a day of publication is asked for
    prefix = ""  # of a word in a query whose words are told singly
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
        words = {"q": query, "or": join_words(query, self.prefix), "mail": self.contact}
        words |= {"key": self.key, "count": str(options.max_results)}
        words["since"] = self.since.format(day=options.since) if options.since else ""
        pairs = (pair.partition("=") for pair in self.asked.split())
        asked = {name: text for name, _, form in pairs if (text := form.format_map(words))}
        agent = self._settings.user_agent or USER_AGENT
        headers = {"User-Agent": f"{agent} mailto:{self.contact}" if self.contact else agent}
        headers |= {"x-api-key": self.key} if self.key else {}
        with suppress(OSError):  # a folder that cannot be written
            RateLimiter(self._turns).acquire(self.name)
        data = self.endpoint.fetch(self.path, headers=headers, params=asked)
        return tuple(hit for one in self.read(data) for hit in build_hit(self.name, one))

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
    asked = "query={q} rows={count} filter={since} mailto={mail}"
    since = "from-pub-date:{day}"
    fields = (
        "title=title DOI=DOI type=type container-title=container-title publisher=publisher URL=URL "
        "volume=volume issue=issue page=page abstract=abstract retracted=updated-by"
    )
    authors = "author:family:given:name"

    def complete(self, row: Json) -> Json:
        return {"day": next(iter(read_fields(row, "d=issued.date-parts")["d"] or []), None)}


class EuropePmc(Service):
    """PubMed's works: https://europepmc.org/RestfulWebService, `resultType=core`."""

    name, path, rows = "europepmc", "/search", "resultList.result"
    asked = "query=({or}){since} email={mail} pageSize={count} format=json resultType=core"
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
        return {"title": str(row.get("title") or "").rstrip("."), "URL": page, "place": place}


class OpenAlex(Service):
    """https://developers.openalex.org/api-reference/works. Without a key ten searches a day."""

    name, path, rows = "openalex", "/works", "results"
    asked = "search={q} per-page={count} filter={since} mailto={mail} api_key={key}"
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
        return {"abstract": " ".join(words[n] for n in sorted(words))}


class SemanticScholar(Service):
    """https://api.semanticscholar.org/api-docs/graph. All without a key share one allowance."""

    name, path, rows = "semantic_scholar", "/paper/search", "data"
    asked = (
        "query={q} limit={count} publicationDateOrYear={since} fields=title,abstract,year,venue,"
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
