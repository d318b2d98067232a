"""The short form of the oracle: some thousand odd requests, of which none is authorized as one thing and served as another."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from extapi.authentication import requestheader
from extapi.authorization import impersonation, stage
from extapi.authorization.authorizer import Attributes
from extapi.http.request import RequestInfo
from tests.attack.oracle.engine import Engine, Tally, in_memory, over_tls


def played(seed: str, count: int) -> Tally:
    """So many requests to a server in memory."""
    tallies: list[Tally] = []
    in_memory(lambda engine: tallies.append(engine.play(seed, count)))
    return tallies[0]


def shown(tally: Tally) -> str:
    return "\n".join(f"{seed} {number}: {text}" for seed, number, text in tally.findings)


@pytest.mark.parametrize("seed", ["short", ""])
def test_nothing_is_authorized_as_one_thing_and_served_as_another(seed: str) -> None:
    seed = seed or secrets.token_hex(4)
    tally = played(seed, 2500)
    print(seed, tally.table())
    assert not tally.findings, shown(tally)
    # It is no attack on a closed door: much of it is served.
    assert tally.marks > 500
    assert tally.changes > 100
    assert tally.plain > 200


def test_nothing_over_tls_either(tmp_path: Path) -> None:
    tallies: list[Tally] = []

    def play(engine: Engine) -> None:
        tallies.append(engine.play("short", 120))

    over_tls(tmp_path, play)
    assert not tallies[0].findings, shown(tallies[0])
    assert tallies[0].marks > 15


Break = Callable[[pytest.MonkeyPatch], None]


def _ignores(field: str) -> Break:
    """Authorization that does not see a part of the request."""

    def broken(info: RequestInfo, _selectors: object) -> Attributes:
        whole = {
            name: getattr(info, name) for name in ("group", "version", "namespace", "resource", "subresource", "name")
        }
        return Attributes(
            info.verb,
            info.path,
            is_resource=info.is_resource,
            **{**whole, field: {"namespace": "a", "name": "one", "subresource": ""}[field]},
        )

    return lambda patch: patch.setattr(stage, "attributes_of", broken)


def _any_certificate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(requestheader.RequestHeader, "_judge", lambda *_: (None, float("inf")))


def _no_questions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(impersonation, "_required", lambda _: [])


def _watch_is_a_get(patch: pytest.MonkeyPatch) -> None:
    def broken(info: RequestInfo, _selectors: object) -> Attributes:
        verb = "get" if info.verb in ("watch", "list") else info.verb
        return Attributes(
            verb,
            info.path,
            is_resource=info.is_resource,
            group=info.group,
            namespace=info.namespace,
            resource=info.resource,
            name=info.name or "one",
        )

    patch.setattr(stage, "attributes_of", broken)


@pytest.mark.parametrize(
    "broken", [_ignores("namespace"), _ignores("name"), _any_certificate, _no_questions, _watch_is_a_get]
)
def test_a_server_with_a_hole_is_found_out(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is worth something: each of these mistakes shows within some hundred requests."""
    broken(monkeypatch)
    assert played("short", 800).findings
