"""Where programs are: GitHub, packages and their documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from agent.calls import spawn
from agent.errors import SearchFailed
from agent.search.hits import parse_hit
from agent.search.parallel_search import SideBySide
from agent.search.table_service import TableService, as_text, read_fields, telling_words
from agent.state import Hit, Json, get_objects

MAX_NAMES = 4  # words of a query that are asked for as names of packages
_NAME = re.compile(r"[a-z0-9](?:[\w.-]*[a-z0-9])?", re.ASCII)  # of a package of PyPI


class CodeService(TableService):
    """A service for code. Where a record has `docs`, these are a hit after it."""

    signs = "-_.@/"

    def build(self, record: Json) -> Iterator[Hit]:
        title, *more = (as_text(record.get(name)) for name in ("title", "snippet", "day"))
        yield from parse_hit(as_text(record.get("URL")), title, *more)
        yield from parse_hit(as_text(record.get("docs")), f"{title}: documentation", *more)


class GitHub(CodeService):
    """Files: https://docs.github.com/rest/search/search; all words of a query must be in one.

    Each kind of search has an allowance: that of files 10 requests a minute, the others 30.
    """

    name, account, needs_key = "github", "github", True

    @property
    def headers(self) -> dict[str, str]:
        authorization = {
            "Authorization": f"Bearer {self.key}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return (
            super().headers | authorization | {"Accept": "application/vnd.github.text-match+json"}
        )

    def complete(self, row: Json) -> Json:
        place = read_fields(row, "where=repository.full_name file=path")
        fragments = (as_text(match.get("fragment")) for match in get_objects(row, "text_matches"))
        return {"title": " ".join(map(as_text, place.values())), "snippet": " … ".join(fragments)}


class GitHubIssues(GitHub):
    """Threads about faults and wishes."""

    name = "github_issues"

    def complete(self, row: Json) -> Json:
        return {}


class GitHubRepositories(GitHubIssues):
    """Repositories, by their names and descriptions."""

    name = "github_repositories"


class Packages(CodeService):
    """A registry of packages, each with a page by its name."""

    page: str

    def build(self, record: Json) -> Iterator[Hit]:
        name, version = (as_text(record.get(one)) for one in ("name", "version"))
        fields = {"title": f"{name} {version} ({self.name})", "URL": self.page.format(name)}
        return super().build(record | fields) if name else iter(())


class Npm(Packages):
    """https://api-docs.npmjs.com/#tag/Search, whose text has 2 to 64 characters."""

    name = "npm"


class Crates(Packages):
    """https://crates.io/data-access: it wants to know who asks, at most once a second."""

    name = "crates"


class PyPi(Packages):
    """https://docs.pypi.org/api/json. It has no search: words of a query are names of packages."""

    name = "pypi"

    def search(self, query: str) -> tuple[Hit, ...]:
        """The packages that a query names, in its order. Raises SearchFailed."""
        words = telling_words(self.options.for_query(query)[0], self.signs)
        names = [word for word in dict.fromkeys(words) if _NAME.fullmatch(word)][:MAX_NAMES]
        searches = [spawn(partial(self._find, name)) for name in names]
        return tuple(hit for one in searches for hit in one.result())

    def _find(self, name: str) -> tuple[Hit, ...]:
        try:
            body = self.endpoint.call(f"/pypi/{name}/json", headers=self.headers)
        except SearchFailed as failure:
            if failure.message.startswith("HTTP 404"):
                return ()
            raise
        hits = tuple(self.build(read_fields(body, self.fields)))
        if not hits:
            raise self.endpoint.build_error("invalid", "a JSON object without a package")
        return hits


CODE: dict[str, type[CodeService]] = {
    one.name: one for one in (PyPi, Npm, Crates, GitHub, GitHubIssues, GitHubRepositories)
}


class Code(SideBySide):
    """All services at once."""

    name, services = "code", CODE
