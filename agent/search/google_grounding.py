"""Google Search with the key of Gemini: one of its models searches, and names the pages it used.

Formats: https://ai.google.dev/gemini-api/docs/google-search,
https://ai.google.dev/api/generate-content#GroundingMetadata. The model's sentences about a page
help to choose among pages, and are no source. Google's redirects are resolved here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.calls import run_with_timeout, spawn
from agent.calls.budget import Cost
from agent.calls.gemini_api import USABLE_REASONS, GeminiConnection, count_tokens
from agent.calls.prices import Price, find_price, load_prices
from agent.errors import NOTHING_SPENT, SearchFailed, Spent
from agent.pages.address_guard import AddressGuard
from agent.pages.download import Downloader
from agent.search.hits import parse_hit
from agent.search.paid_terms import PaidHits, Terms
from agent.search.search_options import SearchOptions
from agent.settings import Settings
from agent.state import Hit, utc_today
from agent.version import USER_AGENT

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.types import GenerateContentResponse, GroundingMetadata

#: US dollars for a search of Gemini 3 and later; free ones are not known here.
#: https://ai.google.dev/gemini-api/docs/pricing
USD_PER_SEARCH = 0.014
MAX_QUERIES = 4  # of a run: each costs
MAX_SEARCHES = 4  # that one query is taken to lead to; most lead to one to three
MAX_REPLY_TOKENS = 4000  # thoughts included; too few of them would cost the pages too
PROMPT_TOKENS = 300  # of the instruction and a query, about
#: The version that documents the tool. The SDK's default, v1, is not documented to take it.
API_VERSION = "v1beta"
REDIRECT_HOST = "vertexaisearch.cloud.google.com"
REDIRECT_PATH = "/grounding-api-redirect/"
RESOLVE_TIMEOUT = 5.0  # seconds for all redirects of a query
INSTRUCTION = (
    "Search Google for the user's query as it stands, always, even if you know the answer. "
    "Then say in one short sentence for each page that you found what it says about the query."
)


class GoogleGrounding:
    """Asks the model of the settings, with one tool: Google Search."""

    name = "google"

    def __init__(
        self, settings: Settings, options: SearchOptions, guard: AddressGuard | None = None
    ) -> None:
        """`guard`: of the addresses of pages; None: that of the page reader."""
        account = settings.gemini_account
        if not account.project and not account.api_version:
            account = replace(account, api_version=API_VERSION)
        self._account = account
        self._model = settings.gemini_model
        self._options = options
        self._timeout = settings.search_timeout
        self._price = find_price(load_prices(settings.prices_file), self._model, utc_today())
        self._connection = GeminiConnection(account, self._timeout, SearchFailed)
        self._downloader = Downloader(
            guard or AddressGuard(allow_private=settings.allow_private_network),
            settings.user_agent or USER_AGENT,
            lambda: datetime.now(UTC),
            through_proxy=settings.fetch_through_proxy,
        )

    @property
    def terms(self) -> Terms | None:
        """What a query costs, at most; None without a key, since none is made then."""
        if not self._account.is_usable:
            return None
        notice = (
            f"Google is searched through {self._model} with the Gemini key: "
            f"${USD_PER_SEARCH:g} per search, besides tokens; "
            f"at most {MAX_QUERIES} queries in this run."
        )
        return Terms(notice, MAX_QUERIES, self._estimate_cost())

    def _estimate_cost(self) -> Cost | None:
        if self._price is None:
            return None
        usd = self._price.cost_usd(PROMPT_TOKENS, MAX_REPLY_TOKENS) + MAX_SEARCHES * USD_PER_SEARCH
        return Cost(tokens=PROMPT_TOKENS + MAX_REPLY_TOKENS, usd=usd)

    def search(self, query: str) -> PaidHits:
        """The pages that the model used. Raises SearchFailed."""
        if not self._account.is_usable:
            remedy = "Set GEMINI_API_KEY in .env."
            raise SearchFailed("GEMINI_API_KEY is not set", remedy, outcome="no_key")
        ask = partial(self._connection.call, lambda client: self._read(self._send(client, query)))
        try:
            found = run_with_timeout(self._timeout, ask)
        except TimeoutError:
            message = f"no answer within {self._timeout:g} s"
            raise SearchFailed(message, "Try again later.", outcome="timeout") from None
        return found._replace(hits=tuple(self._resolve(found.hits)))

    def probe(self) -> str:
        """Say whether the model can be asked; costs nothing. Raises SearchFailed."""
        if not self._account.is_usable:
            self.search("")
        self._connection.probe(self._model)
        price = f"a search costs ${USD_PER_SEARCH:g}, so none is made here"
        return f"the key works, the model exists; {price}"

    def close(self) -> None:
        """End what is under way. Can be called twice."""
        self._connection.close()
        self._downloader.close()

    def _send(self, client: Client, query: str) -> GenerateContentResponse:
        from google.genai import types

        config = types.GenerateContentConfig(
            system_instruction=INSTRUCTION,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            tools=[types.Tool(google_search=types.GoogleSearch())],
            max_output_tokens=MAX_REPLY_TOKENS,
        )
        text = self._options.add_site_operators(query)
        return client.models.generate_content(model=self._model, contents=text, config=config)

    def _read(self, response: GenerateContentResponse) -> PaidHits:
        candidate = response.candidates[0] if response.candidates else None
        metadata = candidate.grounding_metadata if candidate else None
        spent = _count_cost(response, metadata, self._price)
        reason = candidate.finish_reason if candidate else None
        feedback = response.prompt_feedback
        if (feedback and feedback.block_reason) or (reason and reason.name not in USABLE_REASONS):
            raise SearchFailed("Gemini blocked the search", outcome="blocked", spent=spent)
        if candidate is None or metadata is None:
            return PaidHits((), spent)
        hits = tuple(_parse_chunks(metadata))[: self._options.max_results]
        return PaidHits(hits, spent)

    def _resolve(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        find, how = self._downloader.find_target, (RESOLVE_TIMEOUT, is_redirector)
        pairs = [(hit, spawn(partial(find, hit.url, *how))) for hit in hits]
        wait([address for _, address in pairs], timeout=RESOLVE_TIMEOUT)
        for hit, address in pairs:
            if address.done() and not address.exception():
                yield hit.model_copy(update={"url": address.result()})


def is_redirector(url: str) -> bool:
    """Whether an address is one of Google's redirects to the pages of a search."""
    parts = urlsplit(url)
    return parts.hostname == REDIRECT_HOST or parts.path.startswith(REDIRECT_PATH)


def _count_cost(
    response: GenerateContentResponse, metadata: GroundingMetadata | None, price: Price | None
) -> Spent:
    """What a response costs: its tokens, and its searches, of which equal ones count once."""
    tokens = count_tokens(response)
    searches = set(filter(None, (metadata and metadata.web_search_queries) or ()))
    if not tokens["input_tokens"] and not searches:
        return NOTHING_SPENT
    usd = None if price is None else price.cost_usd(**tokens) + len(searches) * USD_PER_SEARCH
    return Spent(tokens["input_tokens"], tokens["output_tokens"], usd)


def _parse_chunks(metadata: GroundingMetadata) -> Iterator[Hit]:
    snippets: dict[int, list[str]] = {}
    for support in metadata.grounding_supports or ():
        text = ((support.segment and support.segment.text) or "").strip()
        for index in support.grounding_chunk_indices or ():
            if text and text not in (rows := snippets.setdefault(index, [])):
                rows.append(text)
    for index, chunk in enumerate(metadata.grounding_chunks or ()):
        if chunk.web:
            snippet = " ".join(snippets.get(index, ()))
            for hit in parse_hit(chunk.web.uri, chunk.web.title, snippet):
                yield hit.model_copy(update={"generated": True})
