"""Health: behaviour C22 to C26, M15."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.task import Clock

from extapi.server.health import NamedCheck
from extapi.storage.base import Unavailable
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import WIDGETS, shop, widget


class Sick:
    """A server with a check that a test makes fail."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.note = ""
        self.told = ""
        self.logged: list[tuple[str, str, str]] = []
        self.server: InMemoryServer


@pytest.fixture
def sick() -> Iterator[Sick]:
    sick = Sick()
    checks = [
        NamedCheck("fever", lambda: sick.reason, note=lambda: sick.note, told=lambda: sick.told),
        NamedCheck("informer-sync", lambda: None, frozenset({"readyz"})),
    ]
    with serve(shop(), checks=checks, log_health=lambda *what: sick.logged.append(what)) as server:
        sick.server = server
        yield sick


@pytest.mark.parametrize(
    "path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/storage", "/readyz/shutdown"]
)
def test_all_is_well(sick: Sick, path: str) -> None:
    """Behaviour C22, C25."""
    answer = sick.server.request("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_verbose_names_all_checks(sick: Sick) -> None:
    """Behaviour C22, C26, M15."""
    assert sick.server.request("GET", "/healthz", {"verbose": ""}).body == (
        b"[+]ping ok\n[+]storage ok\n[+]fever ok\nhealthz check passed\n"
    )
    assert sick.server.request("GET", "/readyz", {"verbose": "x"}).body == (
        b"[+]ping ok\n[+]storage ok\n[+]storage-log ok\n[+]storage-writes ok\n[+]shutdown ok\n[+]fever ok\n[+]informer-sync ok\nreadyz check passed\n"
    )


def test_what_fails_is_named_and_the_reason_is_only_logged(sick: Sick) -> None:
    """Behaviour C24, M15."""
    sick.reason = "39 degrees"
    answer = sick.server.request("GET", "/livez")
    assert answer.status == 500
    assert answer.body == b"[+]ping ok\n[+]storage ok\n[-]fever failed: reason withheld\nlivez check failed\n"
    assert sick.logged == [("livez", "fever", "39 degrees")]


def test_what_a_check_tells_of_its_failure_is_shown_to_everybody(sick: Sick) -> None:
    """Only that: the reason stays in the log."""
    sick.reason, sick.told = "41 degrees", "drink something"
    answer = sick.server.request("GET", "/livez")
    assert answer.status == 500
    assert b"[-]fever failed: drink something\n" in answer.body
    assert b"41" not in answer.body


def test_a_note_is_shown_to_who_asks_for_all_and_fails_nothing(sick: Sick) -> None:
    sick.note = "36 degrees, but pale"
    answer = sick.server.request("GET", "/livez", {"verbose": ""})
    assert answer.status == 200
    assert answer.body == b"[+]ping ok\n[+]storage ok\n[+]fever ok: 36 degrees, but pale\nlivez check passed\n"
    assert sick.server.request("GET", "/livez").body == b"ok"
    assert sick.server.request("GET", "/livez/fever").body == b"ok"
    assert sick.logged == []
    sick.reason = "39 degrees"
    assert b"pale" not in sick.server.request("GET", "/livez").body


def test_a_single_check(sick: Sick) -> None:
    """Behaviour C25."""
    sick.reason = "39 degrees"
    answer = sick.server.request("GET", "/livez/fever")
    assert answer.status == 500
    assert answer.body == b"internal server error: 39 degrees\n"
    assert sick.server.request("GET", "/livez/ping").status == 200


def test_checks_are_excluded(sick: Sick) -> None:
    """Behaviour C23."""
    sick.reason = "39 degrees"
    query = [("exclude", "fever"), ("exclude", "ping"), ("verbose", "")]
    answer = sick.server.request("GET", "/livez", query)
    assert answer.status == 200
    assert answer.body == b"[+]ping excluded: ok\n[+]storage ok\n[+]fever excluded: ok\nlivez check passed\n"


def test_what_cannot_be_excluded_is_said(sick: Sick) -> None:
    """Behaviour C23."""
    answer = sick.server.request("GET", "/livez", {"exclude": "x", "verbose": ""})
    assert answer.status == 200
    assert answer.body == (
        b"[+]ping ok\n[+]storage ok\n[+]fever ok\n"
        b'warn: some health checks cannot be excluded: no matches for "x"\nlivez check passed\n'
    )
    assert sick.server.request("GET", "/livez", {"exclude": "x"}).body == b"ok"


@pytest.mark.parametrize("path", ["/livez/shutdown", "/livez/x", "/healthz/ping/x"])
def test_another_check_is_404(sick: Sick, path: str) -> None:
    assert sick.server.request("GET", path).status == 404


def test_readiness_ends_when_the_server_is_told_to_stop(sick: Sick) -> None:
    """Behaviour H12: only readiness."""
    sick.server.server.shutdown.requested = True
    assert sick.server.request("GET", "/readyz/shutdown").status == 500
    assert sick.server.request("GET", "/readyz").status == 500
    assert sick.server.request("GET", "/livez").status == 200


def test_a_store_that_is_not_followed_is_not_healthy() -> None:
    server = InMemoryServer(shop())
    answer = server.request("GET", "/healthz/storage")
    assert answer.status == 500
    assert answer.body == b"internal server error: the cache does not follow the store\n"


class FullDisk(MemoryBackend):
    """A store whose writes fail while ``full`` says why."""

    full = ""
    attempts = 0

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        self.attempts += 1
        if self.full:
            raise Unavailable(self.full)
        return await super().commit(key, value, expected=expected)


def test_a_server_that_cannot_write_is_not_ready_until_it_can() -> None:
    """Nobody writes to a server that is not ready: it finds out by itself. A restart would not help: it is alive."""
    clock = Clock()
    clock.advance(1e9)
    disk = FullDisk(clock)
    with serve(shop(), backend=disk) as server:
        assert server.request("POST", WIDGETS, body=widget("a")).status == 201
        disk.full = "database or disk is full (/secret/path)"
        assert server.request("POST", WIDGETS, body=widget("b")).status == 500
        answer = server.request("GET", "/readyz")
        assert answer.status == 500
        assert b"[-]storage-writes failed: reason withheld" in answer.body
        assert b"/secret/path" not in server.request("GET", "/readyz/storage-writes").body
        assert [server.request("GET", path).status for path in ("/livez", "/healthz", WIDGETS)] == [200, 200, 200]
        before = disk.attempts
        server.advance(10)
        assert 3 <= disk.attempts - before <= 6
        assert server.request("GET", "/readyz").status == 500
        disk.full = ""
        server.advance(5)
        assert server.request("GET", "/readyz").status == 200
        revision, attempts = server.run(disk.revision()), disk.attempts
        server.advance(60)
        assert (server.run(disk.revision()), disk.attempts) == (
            revision,
            attempts,
        )  # no writes of its own while all is well


def test_a_good_write_is_enough_to_be_ready() -> None:
    clock = Clock()
    clock.advance(1e9)
    disk = FullDisk(clock)
    with serve(shop(), backend=disk) as server:
        disk.full = "disk I/O error"
        server.request("POST", WIDGETS, body=widget("b"))
        assert server.request("GET", "/readyz").status == 500
        disk.full = ""
        assert server.request("POST", WIDGETS, body=widget("b")).status == 201
        assert server.request("GET", "/readyz").status == 200
