"""The routes of watches: what is asked again, and how its answer has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI
from fastapi import Path as PathParameter

from agent.run.library import NewTitleAndTags, read_labels, write_labels
from agent.run.watches import WatchFiles, WatchState
from agent.server.body import WatchDetail, WatchSummary
from agent.server.openapi import WATCH_REFUSALS
from agent.server.responses import delete_named, require

if TYPE_CHECKING:
    from agent.server.app import Backend

NO_SUCH_WATCH = "There is no such watch."
MAX_LISTED = 200
WatchName = Annotated[str, PathParameter(pattern="^[0-9a-f]{16}$", description="a watch's id")]


def add_watch_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes under `/api/watches`."""
    files = WatchFiles(backend.settings)

    def add_title(state: WatchState) -> dict[str, object]:
        return dict(state) | dict(read_labels(files.path(state.id)))

    @app.get("/api/watches", responses={401: WATCH_REFUSALS[401]})
    def watches() -> list[WatchSummary]:
        """The watches, the one that changed last first."""
        names = WatchSummary.model_fields
        told = map(add_title, files.list_all()[:MAX_LISTED])
        return [WatchSummary(**{name: one[name] for name in names}) for one in told]

    @app.get("/api/watches/{name}", responses=WATCH_REFUSALS)
    def watch(name: WatchName) -> WatchDetail:
        """A watch, with the history of each slot and its sources."""
        state = require(files.read(name), NO_SUCH_WATCH)
        told = add_title(state)
        runs = [one.model_copy(update={"run": Path(one.run).stem}) for one in state.told]
        return WatchDetail(**{n: told[n] for n in WatchDetail.model_fields} | {"told": runs})

    @app.patch("/api/watches/{name}", responses=WATCH_REFUSALS)
    def label_watch(name: WatchName, labels: NewTitleAndTags) -> WatchDetail:
        """Give a watch a title and tags."""
        detail = watch(name)
        return detail.model_copy(update=dict(write_labels(files.path(name), labels)))

    @app.delete("/api/watches/{name}", status_code=204, responses=WATCH_REFUSALS)
    def delete_watch(name: WatchName) -> None:
        """Forget a watch. Where it goes on, its next run tells the state anew."""
        delete_named(files.delete, name, NO_SUCH_WATCH)
