"""One SELECT over tables, in SQLite, in the worker: in memory, read-only, bounded."""

from __future__ import annotations

import json
import sqlite3
import time
from itertools import islice
from typing import Any

from agent.documents.body_text import Body, BodyText, UnreadablePage

SUFFIX = ".table-query"  # of a body that is a query and its tables, as JSON
MAX_SECONDS = 3.0
MAX_MEMORY = 400_000_000  # bytes of SQLite's own
MAX_VALUE = 1_000_000  # bytes of a text
MAX_RESULT_ROWS = 20
MAX_STATEMENT = 2000  # characters
STEPS = 10_000  # of SQLite's machine between two looks at the clock
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
#: Functions of many rows: what they give is in no row.
_OF_ROWS = {"count", "sum", "avg", "total", "group_concat", "string_agg"}


def run_query(body: Body) -> BodyText:
    """The result as JSON: its `rows` and `columns`, and the `tables` that were read.

    `is_made`: rows were put together. A result that does not depend on the rows is refused. Raises
    UnreadablePage, also for a statement that is no SELECT or takes too much.
    """
    query = json.loads(body.data)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        return BodyText("", json.dumps(_Query(connection, query).run()))
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise UnreadablePage(f"the statement cannot be run: {error}"[:300], "invalid") from None
    finally:
        connection.close()


class _Query:
    def __init__(self, connection: sqlite3.Connection, asked: dict[str, Any]) -> None:
        self._connection, self._tables = connection, asked["tables"]
        self._statement: str = asked["statement"]
        self._touched: set[str] = set()
        self._functions: set[str] = set()
        for table in self._tables:
            columns = ", ".join(f'"{name}" {kind}' for name, kind in table["columns"])
            connection.execute(f'CREATE TABLE "{table["name"]}" ({columns})')
            marks = ", ".join("?" * len(table["columns"]))
            connection.executemany(f'INSERT INTO "{table["name"]}" VALUES ({marks})', table["rows"])
        connection.execute(f"PRAGMA hard_heap_limit={MAX_MEMORY}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)

    def run(self) -> dict[str, Any]:
        """What it gives. Raises sqlite3.Error, sqlite3.Warning."""
        columns, rows = self._fetch()
        is_made = bool(self._functions & _OF_ROWS)
        if len(rows) > MAX_RESULT_ROWS:
            raise sqlite3.Warning(f"it gives more than {MAX_RESULT_ROWS} rows")
        if not self._touched or self._is_constant(rows, is_made=is_made):
            raise sqlite3.Warning("its result does not depend on the rows")
        tables = sorted(self._touched)
        return {"columns": columns, "rows": rows, "tables": tables, "is_made": is_made}

    def _fetch(self) -> tuple[list[str], list[list[Any]]]:
        end = time.monotonic() + MAX_SECONDS
        self._connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
        self._connection.set_authorizer(self._authorize)
        try:
            cursor = self._connection.execute(self._statement)
            rows = [list(row) for row in islice(cursor, MAX_RESULT_ROWS + 1)]
            return [name for name, *_ in cursor.description or ()], rows
        finally:
            self._connection.set_authorizer(None)

    def _authorize(self, action: int, one: str | None, two: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and one in {table["name"] for table in self._tables}:
            self._touched.add(str(one))
        elif action == sqlite3.SQLITE_FUNCTION and two != "load_extension":
            self._functions.add(str(two))
        elif action not in _ALLOWED:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def _is_constant(self, rows: list[list[Any]], *, is_made: bool) -> bool:
        """Whether a result is the same over other rows: none where it is made of many, else those
        with other numbers."""
        for table in self._tables:
            numbers = [name for name, kind in table["columns"] if kind == "REAL"]
            changes = ", ".join(f'"{name}" = "{name}" * 1.37 + 11' for name in numbers)
            change = f'UPDATE "{table["name"]}" SET {changes}' if changes else ""
            self._connection.execute(f'DELETE FROM "{table["name"]}"' if is_made else change)
        now = self._fetch()[1]
        if is_made:
            return now == rows and any(any(row) for row in rows)
        first = zip(rows[0], now[0], strict=True) if rows and now else ()
        return any(one == two and isinstance(one, int | float) for one, two in first)
