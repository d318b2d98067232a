"""Clients of a kind that is a table, which others write: client-go's informer, the namespace controller, the collector."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tests.kubernetes import golang, second
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.following import GoInformer
from tests.kubernetes.rows import GROUP, PLURAL, VERSION, opened, rows_path
from tests.kubernetes.second import SecondServer
from tests.kubernetes.test_deletion import config_map, gone, made, maps_path, owned
from tests.waiting import until

TARGET = "tests.kubernetes.rows:api"


class Table:
    """The table, as another process than the server writes it."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self.database: sqlite3.Connection = opened()
        self._random = Random(7)  # noqa: S311 -- the same changes each time
        self._step = 0

    def write(self, number: int) -> None:
        """So many random changes; steps only grow."""
        for _ in range(number):
            self._step += 1
            key = (self._namespace, f"r{self._random.randrange(20)}")
            if self._random.random() < 0.3:
                self.database.execute("DELETE FROM rows WHERE namespace = ? AND name = ?", key)
            else:
                self.database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", (*key, self._step))

    @property
    def there(self) -> dict[str, int]:
        """Names and steps of all rows."""
        found = self.database.execute("SELECT name, step FROM rows WHERE namespace = ?", (self._namespace,))
        return dict(found.fetchall())


@pytest.fixture
def table(namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """An empty table, whose file the server finds in its environment."""
    monkeypatch.setenv("ROWS", str(tmp_path / "rows.sqlite"))
    made_table = Table(namespace)
    yield made_table
    made_table.database.close()


@pytest.fixture
def server(
    table: Table, control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path
) -> Iterator[SecondServer]:
    """What serves the table."""
    with second.running(control_plane, TARGET, tmp_path) as running:
        yield running


@pytest.fixture
def follow(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Callable[[], GoInformer]]:
    """Start client-go's informer, through the control plane."""
    with ExitStack() as ending:

        def start() -> GoInformer:
            output = tmp_path / "informer.jsonl"
            resource = (GROUP, VERSION, PLURAL)
            started = GoInformer(golang.informer(), control_plane.kubeconfig, namespace, output, resource=resource)
            ending.callback(started.end)
            started.wait_synced()
            return started

        yield start


@pytest.mark.kubernetes  # on both control planes it needs the compiler
def test_an_informer_knows_what_others_write(
    server: SecondServer, table: Table, follow: Callable[[], GoInformer]
) -> None:
    table.write(50)
    informer = follow()
    for _ in range(10):
        table.write(20)
        until(lambda: informer.view() == table.there, 30)
    assert listings(informer) == 1

    # While the server is away, rows go that the informer knows; it is told so by a list, since revisions have begun anew.
    server.stop()
    table.database.execute("DELETE FROM rows WHERE name < 'r15'")
    table.write(20)
    server.start()
    server.wait_available()
    until(lambda: informer.view() == table.there, 60)
    assert listings(informer) > 1
    table.write(20)
    until(lambda: informer.view() == table.there, 30)
    steps: dict[str, int] = {}
    for change in informer.told():
        assert change.step >= steps.get(change.name, 0), change
        steps[change.name] = change.step


def listings(informer: GoInformer) -> int:
    """How often it asked for all that is there, and was answered."""
    return sum(
        "watch=true" not in query or "sendInitialEvents" in query for query, code in informer.queries() if code == 200
    )


def test_a_deleted_namespace_takes_its_rows_along(
    server: SecondServer, table: Table, admin: Caller, namespace: str
) -> None:
    table.write(30)
    table.database.execute("INSERT INTO rows VALUES ('elsewhere', 'stays', 1)")
    assert admin("DELETE", f"/api/v1/namespaces/{namespace}").status == 200
    until(lambda: gone(admin, f"/api/v1/namespaces/{namespace}"), 60)
    assert table.there == {}
    assert table.database.execute("SELECT name FROM rows").fetchall() == [("stays",)]


def test_what_a_row_owns_goes_with_it(server: SecondServer, table: Table, admin: Caller, namespace: str) -> None:
    """Not before: neither when the server starts again, nor because another row goes."""
    table.database.executemany("INSERT INTO rows VALUES (?, ?, 1)", [(namespace, "owner"), (namespace, "other")])
    rows, maps = rows_path(namespace), maps_path(namespace)
    for name in ("owner", "other"):
        made(admin, maps, owned(config_map(f"of-{name}"), admin("GET", f"{rows}/{name}").json))
    server.stop()
    server.start()
    server.wait_available()
    assert admin("DELETE", f"{rows}/other").status == 200
    until(lambda: gone(admin, f"{maps}/of-other"), 90)
    assert not gone(admin, f"{maps}/of-owner")
    table.database.execute("DELETE FROM rows WHERE name = 'owner'")
    until(lambda: gone(admin, f"{maps}/of-owner"), 90)
