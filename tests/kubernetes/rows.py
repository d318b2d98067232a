"""A table that others write as a kind, for ``extapi serve tests.kubernetes.rows:api``. ``ROWS`` in the environment: the file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

from extapi import RELIST, Api, Context, Group, Kind, RESTRequest, Version

GROUP = "rows.example.com"
VERSION = "v1"
PLURAL = "rows"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"step": {"type": "integer"}}}},
}


def rows_path(namespace: str) -> str:
    """The collection in a namespace."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


def opened() -> sqlite3.Connection:
    """The table; each process has its own connection."""
    database = sqlite3.connect(os.environ["ROWS"], isolation_level=None, timeout=30)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE IF NOT EXISTS rows (namespace, name, step, PRIMARY KEY (namespace, name))")
    return database


def row(namespace: str, name: str, step: int) -> dict[str, Any]:
    """A row as an object."""
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"step": step}}


class Rows:
    """Opens the table when it is asked for something: the tests load this module, too."""

    def __init__(self) -> None:
        self._opened: sqlite3.Connection | None = None

    @property
    def _database(self) -> sqlite3.Connection:
        self._opened = self._opened or opened()
        return self._opened

    async def list(self, request: RESTRequest) -> list[dict[str, Any]]:
        with closing(self._database.execute("SELECT namespace, name, step FROM rows")) as found:
            return [row(*each) for each in found]

    async def changes(self, context: Context) -> AsyncIterator[Any]:
        seen = None
        while True:
            version = self._database.execute("PRAGMA data_version").fetchone()
            if version != seen:
                yield RELIST
            seen = version
            await context.sleep(0.05)

    async def delete(self, request: RESTRequest) -> None:
        if not request.dry_run:
            key = (request.namespace, request.name)
            self._database.execute("DELETE FROM rows WHERE namespace = ? AND name = ?", key)


api = Api(Group(GROUP, Kind("Row", storage=VERSION, status=False, versions={VERSION: Version(SCHEMA)}, rest=Rows())))
