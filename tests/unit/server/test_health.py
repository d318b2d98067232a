"""Health: spec C22 to C26, M15."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extapi.server.health import NamedCheck
from extapi.testing import InMemoryServer, serve
from tests.unit.verbs.sample import shop


class Sick:
    """A server with a check that a test makes fail."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.note = ""
        self.logged: list[tuple[str, str, str]] = []
        self.server: InMemoryServer


@pytest.fixture
def sick() -> Iterator[Sick]:
    sick = Sick()
    checks = [
        NamedCheck("fever", lambda: sick.reason, note=lambda: sick.note),
        NamedCheck("informer-sync", lambda: None, frozenset({"readyz"})),
    ]
    with serve(shop(), checks=checks, log_health=lambda *what: sick.logged.append(what)) as server:
        sick.server = server
        yield sick


@pytest.mark.parametrize(
    "path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/storage", "/readyz/shutdown"]
)
def test_all_is_well(sick: Sick, path: str) -> None:
    """C22, C25."""
    answer = sick.server.request("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_verbose_names_all_checks(sick: Sick) -> None:
    """C22, C26, M15."""
    assert sick.server.request("GET", "/healthz", {"verbose": ""}).body == (
        b"[+]ping ok\n[+]storage ok\n[+]fever ok\nhealthz check passed\n"
    )
    assert sick.server.request("GET", "/readyz", {"verbose": "x"}).body == (
        b"[+]ping ok\n[+]storage ok\n[+]shutdown ok\n[+]fever ok\n[+]informer-sync ok\nreadyz check passed\n"
    )


def test_what_fails_is_named_and_the_reason_is_only_logged(sick: Sick) -> None:
    """C24, M15."""
    sick.reason = "39 degrees"
    answer = sick.server.request("GET", "/livez")
    assert answer.status == 500
    assert answer.body == b"[+]ping ok\n[+]storage ok\n[-]fever failed: reason withheld\nlivez check failed\n"
    assert sick.logged == [("livez", "fever", "39 degrees")]


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
    """C25."""
    sick.reason = "39 degrees"
    answer = sick.server.request("GET", "/livez/fever")
    assert answer.status == 500
    assert answer.body == b"internal server error: 39 degrees\n"
    assert sick.server.request("GET", "/livez/ping").status == 200


def test_checks_are_excluded(sick: Sick) -> None:
    """C23."""
    sick.reason = "39 degrees"
    query = [("exclude", "fever"), ("exclude", "ping"), ("verbose", "")]
    answer = sick.server.request("GET", "/livez", query)
    assert answer.status == 200
    assert answer.body == b"[+]ping excluded: ok\n[+]storage ok\n[+]fever excluded: ok\nlivez check passed\n"


def test_what_cannot_be_excluded_is_said(sick: Sick) -> None:
    """C23."""
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
    """H12: only readiness."""
    sick.server.server.shutdown.requested = True
    assert sick.server.request("GET", "/readyz/shutdown").status == 500
    assert sick.server.request("GET", "/readyz").status == 500
    assert sick.server.request("GET", "/livez").status == 200


def test_a_store_that_is_not_followed_is_not_healthy() -> None:
    server = InMemoryServer(shop())
    answer = server.request("GET", "/healthz/storage")
    assert answer.status == 500
    assert answer.body == b"internal server error: the cache does not follow the store\n"
