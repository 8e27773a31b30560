"""Whether a work was retracted, by its DOI: two registries say so."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from agent.calls.http import Endpoint
from agent.errors import ExternalCallError, ReadFailed
from agent.state import get_objects, get_path, sanitize_line
from agent.version import USER_AGENT

MAX_NOTICE = 200  # characters
#: What a registry calls the end of a work. https://www.crossref.org/documentation/crossmark/
ENDS = frozenset(("retraction", "withdrawal", "removal", "partial_retraction"))
_HEADERS = {"User-Agent": USER_AGENT}


class Retractions(NamedTuple):
    """Asks Crossref, which has the notices of publishers and of Retraction Watch, then Europe PMC.

    Formats: https://api.crossref.org/swagger-ui/index.html, https://europepmc.org/RestfulWebService
    """

    crossref_url: str
    europepmc_url: str
    timeout: float = 7.0  # seconds for each of the two

    def find_notice(self, doi: str) -> str:
        """What says that a work was retracted; "" if nothing does. ReadFailed if neither knows."""
        notices: list[str] = []
        errors: list[ExternalCallError] = []
        for ask in (self._ask_crossref, self._ask_europepmc):
            if any(notices):
                break
            try:
                notices.append(ask(doi))
            except ExternalCallError as error:
                errors.append(error)
        if not notices:
            raise errors[0]
        return sanitize_line(max(notices), MAX_NOTICE)

    def _ask_crossref(self, doi: str) -> str:
        endpoint = self._endpoint(self.crossref_url, "CROSSREF_BASE_URL")
        work = endpoint.call(f"/works/{quote(doi, safe='/')}", headers=_HEADERS)
        for update in get_objects(work, "message", "updated-by"):
            if str(update.get("type")).lower().replace("-", "_") in ENDS:
                day = str(get_path(update, "updated", "date-time") or "")[:10]
                return f"{update.get('label') or update['type']} {day}, {update.get('DOI', '')}"
        title = str(get_path(work, "message", "title", 0) or "")
        return title if title.upper().startswith(("RETRACTED", "WITHDRAWN")) else ""

    def _ask_europepmc(self, doi: str) -> str:
        endpoint = self._endpoint(self.europepmc_url, "EUROPEPMC_BASE_URL")
        params = {"query": f'DOI:"{doi}"', "format": "json", "resultType": "core"}
        body = endpoint.call("/search", headers=_HEADERS, params=params)
        for work in get_objects(body, "resultList", "result"):
            if str(work.get("doi")).lower() == doi:
                notices = get_objects(work, "commentCorrectionList", "commentCorrection")
                ends = (n for n in notices if str(n.get("type")).lower() == "retraction in")
                notice = next((f"Retraction in {n.get('reference', '')}" for n in ends), "")
                types = get_path(work, "pubTypeList", "pubType") or ()
                is_marked = "retracted publication" in str(types).lower()
                return notice or ("Retracted publication, Europe PMC" if is_marked else "")
        raise endpoint.build_error("not_found", f"there is no record of {doi}")

    def _endpoint(self, url: str, name: str) -> Endpoint:
        return Endpoint(url, name, timeout=self.timeout, error_class=ReadFailed)
