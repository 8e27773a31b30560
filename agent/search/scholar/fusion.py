"""The bibliographic services as one provider: asked side by side, and one hit for each work."""

from __future__ import annotations

from collections.abc import Sequence

from agent.search.parallel_search import SideBySide
from agent.search.scholar.arxiv import Arxiv
from agent.search.scholar.bibliographic import (
    Crossref,
    EuropePmc,
    OpenAlex,
    ScholarService,
    SemanticScholar,
)
from agent.state import Hit, Json, get_path, work_key

SERVICES: dict[str, type[ScholarService]] = {
    one.name: one for one in (Crossref, EuropePmc, Arxiv, OpenAlex, SemanticScholar)
}
APART = 3  # years between a preprint and its published version, at most. Set by hand


class Scholar(SideBySide):
    """All services at once; one hit for each work."""

    name, services = "scholar", SERVICES

    @staticmethod
    def is_same(hit: Hit, other: Hit) -> bool:
        """Whether two records are of one work, or of its preprint and its published version."""
        one, two = hit.work or {}, other.work or {}
        if one.get("DOI") and one.get("DOI") == two.get("DOI"):
            return True
        years = [int(get_path(work, "issued", "date-parts", 0, 0) or 0) for work in (one, two)]
        is_near = not all(years) or abs(years[0] - years[1]) <= APART
        are_two = "DOI" in one and "DOI" in two and "article" not in (one["type"], two["type"])
        return work_key(one) == work_key(two) != "" and is_near and not are_two

    @staticmethod
    def merge(group: Sequence[Hit]) -> Hit:
        """One hit of the records of a work: as published rather than as a preprint.

        Other records fill what it lacks. It is retracted where a record of its version says so.
        """
        best = sorted(group, key=_lacks)
        works = [hit.work or {} for hit in best]
        merged: Json = {name: value for work in reversed(works) for name, value in work.items()}
        merged.pop("status", None)
        is_preprint = merged.get("type") == "article"
        of_version = (work for work in works if is_preprint or work.get("type") != "article")
        merged |= {"status": "retracted"} if any("status" in work for work in of_version) else {}
        if merged.get("abstract"):  # whose service is named
            merged["source"] = next(work["source"] for work in works if "abstract" in work)
        snippet = next((hit.snippet for hit in best if hit.snippet), "")
        places = tuple(dict.fromkeys(place for hit in best for place in hit.places))
        return best[0].model_copy(update={"work": merged, "snippet": snippet, "places": places})


def _lacks(hit: Hit) -> tuple[bool, bool, int]:
    work = hit.work or {}
    return work.get("type") in ("article", "document"), "DOI" not in work, -len(work)
