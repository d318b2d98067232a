"""The front proxy (behaviour A15-A20): whose headers count, what they mean, and for how long a verdict is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.requestheader import PLANS, USERS, RequestHeader, extra_key
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.http.request import Peer
from tests.certificates import CLIENT, SERVER, authority
from tests.unit.client.building import call, now, run

NAMES = HeaderNames(
    username=("x-remote-user",), group=("x-remote-group",), extra_prefix=("x-remote-extra-",), allowed=("front-proxy",)
)
CA = authority("front-proxy-ca")
PROXY = CA.leaf("front-proxy", eku=CLIENT)


def _settings(names: HeaderNames = NAMES) -> TrustSettings:
    settings = TrustSettings()
    settings.trust_proxies(CA.pem)
    settings.use_names(names)
    return settings


def _ask(headers: dict[str, list[str]], names: HeaderNames = NAMES) -> User | None:
    return run(RequestHeader(_settings(names), now()).authenticate(call(certificates=PROXY.chain, headers=headers)))


def test_the_user_of_the_headers() -> None:
    user = _ask({"x-remote-user": ["alice"], "accept": ["*/*"]})
    assert user == User("alice", groups=("system:authenticated",))


def test_groups_are_many_values_and_commas_are_part_of_them() -> None:
    user = _ask({"x-remote-user": ["alice", "eve"], "x-remote-group": ["a,b", "", "c", "system:authenticated"]})
    assert user == User("alice", groups=("a,b", "c", "system:authenticated"))


def test_several_headers_in_their_order() -> None:
    names = HeaderNames(("x-first", "x-remote-user"), (), ("x-g2", "x-g1"), ())
    user = _ask({"x-remote-user": ["second"], "x-first": [""], "x-g1": ["one"], "x-g2": ["two", "three"]}, names)
    assert user == User("second", groups=("two", "three", "one", "system:authenticated"))


def test_extra_keys_are_decoded() -> None:
    user = _ask(
        {
            "x-remote-user": ["alice"],
            "x-remote-extra-example.com%2ffoo": ["a", "b"],
            "x-remote-extra-scopes": ["x"],
            "x-remote-extra-bad%zz%2f": ["raw"],
        }
    )
    assert user is not None
    assert user.extra == {"example.com/foo": ("a", "b"), "scopes": ("x",), "bad%zz%2f": ("raw",)}


@pytest.mark.parametrize(
    ("encoded", "key"),
    [("Example.com%2FFoo", "example.com/foo"), ("a%2", "a%2"), ("%C3%BC", "ü"), ("plain", "plain"), ("%41", "A")],
)
def test_extra_key(encoded: str, key: str) -> None:
    assert extra_key(encoded) == key


def test_the_same_extra_key_twice_appends() -> None:
    user = _ask({"x-remote-user": ["a"], "x-remote-extra-a%2fb": ["1"], "x-remote-extra-a/b": ["2"]})
    assert user is not None
    assert user.extra == {"a/b": ("1", "2")}


def test_a_uid_only_where_a_header_for_it_is_configured() -> None:
    headers = {"x-remote-user": ["alice"], "x-remote-uid": ["7"]}
    assert _ask(headers) == User("alice", groups=("system:authenticated",))
    with_uid = HeaderNames(("x-remote-user",), ("x-remote-uid",))
    assert _ask(headers, with_uid) == User("alice", uid="7", groups=("system:authenticated",))


@pytest.mark.parametrize(
    "headers", [{}, {"x-remote-user": [""]}, {"x-remote-user": ["", "late"]}, {"x-remote-group": ["g"]}]
)
def test_no_user_name_is_no_opinion(headers: dict[str, list[str]]) -> None:
    assert _ask(headers) is None


def test_forged_headers_without_a_certificate_are_no_opinion() -> None:
    asked = call(headers={"x-remote-user": ["admin"], "x-remote-group": ["system:masters"]})
    assert run(RequestHeader(_settings(), now()).authenticate(asked)) is None


def test_no_ca_is_no_opinion() -> None:
    settings = TrustSettings()
    settings.use_names(NAMES)
    asked = call(certificates=PROXY.chain, headers={"x-remote-user": ["alice"]})
    assert run(RequestHeader(settings, now()).authenticate(asked)) is None


def test_a_common_name_that_is_not_allowed() -> None:
    asked = call(certificates=CA.leaf("somebody", eku=CLIENT).chain, headers={"x-remote-user": ["admin"]})
    with pytest.raises(AuthenticationError, match=r"^x509: subject with cn=somebody is not in the allowed list$"):
        run(RequestHeader(_settings(), now()).authenticate(asked))


def test_a_certificate_without_a_name_is_not_allowed() -> None:
    """``verifySubject``: an empty common name is looked for in the list as any other."""
    asked = call(certificates=CA.leaf("", eku=CLIENT).chain, headers={"x-remote-user": ["admin"]})
    with pytest.raises(AuthenticationError, match=r"^x509: subject with cn= is not in the allowed list$"):
        run(RequestHeader(_settings(), now()).authenticate(asked))


def test_no_allowed_names_allow_any() -> None:
    settings = _settings(HeaderNames(("x-remote-user",)))
    asked = call(certificates=CA.leaf("somebody", eku=CLIENT).chain, headers={"x-remote-user": ["alice"]})
    assert run(RequestHeader(settings, now()).authenticate(asked)) is not None


@pytest.mark.parametrize(
    "leaf",
    [
        CA.leaf("front-proxy", eku=SERVER),
        CA.leaf("front-proxy", eku=CLIENT, expired=True),
        authority("front-proxy-ca").leaf("front-proxy", eku=CLIENT),
    ],
    ids=["for servers only", "expired", "wrong CA"],
)
def test_a_bad_certificate_is_an_error_and_stays_one(leaf: Any) -> None:
    authenticator = RequestHeader(_settings(), now())
    peer = Peer(certificates=leaf.chain)
    for _ in range(2):
        asked = call(peer=peer, headers={"x-remote-user": ["admin"]})
        with pytest.raises(AuthenticationError, match="x509: "):
            run(authenticator.authenticate(asked))


def test_the_verdict_is_kept_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _settings()
    assert settings.proxy_ca is not None
    asked_for: list[float] = []
    real = settings.proxy_ca.verify

    def counted(chain: Any, at: float) -> Any:
        asked_for.append(at)
        return real(chain, at)

    monkeypatch.setattr(settings.proxy_ca, "verify", counted)
    authenticator = RequestHeader(settings, now())
    peer = Peer(certificates=PROXY.chain)
    for name in ("alice", "bob", "alice"):
        user = run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": [name]})))
        assert user is not None
        assert user.name == name
    assert len(asked_for) == 1
    run(authenticator.authenticate(call(certificates=PROXY.chain, headers={"x-remote-user": ["alice"]})))
    assert len(asked_for) == 2


def test_a_kept_verdict_ends_with_the_certificate() -> None:
    clock = now()
    authenticator = RequestHeader(_settings(), clock)
    peer = Peer(certificates=PROXY.chain)
    end = PROXY.certificate.not_valid_after_utc.timestamp()

    def ask() -> User | None:
        return run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": ["alice"]})))

    assert ask() is not None
    untyped: Any = clock
    untyped.advance(end - clock.seconds() - 1)
    assert ask() is not None
    untyped.advance(2)
    with pytest.raises(AuthenticationError, match="expired"):
        ask()


def test_a_refusal_is_judged_again_after_a_while() -> None:
    clock = now()
    leaf = CA.leaf("front-proxy", eku=CLIENT, not_yet_valid=True)
    authenticator = RequestHeader(_settings(), clock)
    peer = Peer(certificates=leaf.chain)

    def ask() -> User | None:
        return run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": ["alice"]})))

    with pytest.raises(AuthenticationError, match="not yet valid"):
        ask()
    untyped: Any = clock
    untyped.advance(2 * 24 * 3600)
    assert ask() is not None


def test_a_change_of_names_voids_what_is_kept() -> None:
    settings = _settings()
    authenticator = RequestHeader(settings, now())
    peer = Peer(certificates=PROXY.chain)

    def ask() -> User | None:
        return run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": ["a"], "x-other": ["b"]})))

    assert ask() == User("a", groups=("system:authenticated",))
    settings.use_names(replace(NAMES, username=("x-other",)))
    assert ask() == User("b", groups=("system:authenticated",))
    settings.use_names(replace(NAMES, username=("x-other",), allowed=("another",)))
    with pytest.raises(AuthenticationError, match="cn=front-proxy is not in the allowed list"):
        ask()


def test_a_change_of_the_ca_voids_what_is_kept() -> None:
    settings = _settings()
    authenticator = RequestHeader(settings, now())
    peer = Peer(certificates=PROXY.chain)
    assert run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": ["a"]}))) is not None
    settings.trust_proxies(authority("new").pem)
    with pytest.raises(AuthenticationError, match="unknown authority"):
        run(authenticator.authenticate(call(peer=peer, headers={"x-remote-user": ["a"]})))


def test_identities_are_kept_apart_and_bounded() -> None:
    authenticator = RequestHeader(_settings(), now())
    peer = Peer(certificates=PROXY.chain)

    def ask(headers: dict[str, list[str]]) -> User | None:
        return run(authenticator.authenticate(call(peer=peer, headers=headers)))

    first = ask({"x-remote-user": ["u"], "x-remote-group": ["a"]})
    assert ask({"x-remote-user": ["u"], "x-remote-group": ["a"]}) is first
    assert ask({"x-remote-group": ["u"], "x-remote-user": ["a"]}) == User("a", groups=("u", "system:authenticated"))
    for number in range(USERS + 10):
        ask({"x-remote-user": [f"u{number}"]})
    assert len(authenticator._users) == USERS
    for number in range(PLANS + 10):
        ask({"x-remote-user": ["u"], f"x-{number}": ["1"]})
    assert len(authenticator._plans) <= PLANS
    plans = len(authenticator._plans)
    assert ask({"x-remote-user": ["u"], "x-" + "y" * 20_000: ["1"]}) is not None
    assert len(authenticator._plans) == plans
    before = len(authenticator._users)
    ask({"x-remote-user": ["u" * 20_000]})
    assert len(authenticator._users) == before
