"""Which trust is in force, and which changes are not followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cryptography import x509

from extapi.authentication.bundle import BundleError, shared_authorities
from extapi.authentication.trust import EMPTY, SHARED, UNREADABLE, HeaderNames, TrustRefused, TrustSettings
from tests.certificates import Issued, authority, bundle


def test_each_change_is_a_generation_and_is_told_once() -> None:
    settings = TrustSettings()
    seen: list[int] = []
    settings.observers.append(lambda: seen.append(settings.generation))
    clients, proxies = authority("clients").pem, authority("proxies").pem
    assert settings.trust_clients(clients)
    assert settings.trust_proxies(proxies)
    assert settings.use_names(HeaderNames(username=("x-remote-user",)))
    assert seen == [1, 2, 3]
    assert not settings.trust_clients(clients)
    assert not settings.trust_proxies(proxies)
    assert not settings.use_names(HeaderNames(username=("x-remote-user",)))
    assert seen == [1, 2, 3]
    settings.distrust_proxies()
    assert seen == [1, 2, 3, 4]
    assert settings.proxy_ca is None


def test_a_bundle_that_is_none_changes_nothing() -> None:
    settings = TrustSettings()
    good = authority("clients").pem
    settings.trust_clients(good)
    with pytest.raises(BundleError):
        settings.trust_clients(b"-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    assert settings.client_ca is not None
    assert (settings.client_ca.pem, settings.generation) == (good, 1)


NAMES = HeaderNames(("x-remote-user",), ("x-remote-uid",), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy",))
NOBODY = replace(NAMES, allowed=())
USERS, PROXIES = authority("cluster-ca"), authority("front-proxy-ca")
KEYS = {
    "username": "requestheader-username-headers",
    "group": "requestheader-group-headers",
    "extra_prefix": "requestheader-extra-headers-prefix",
    "allowed": "requestheader-allowed-names",
}


def _in_force(settings: TrustSettings) -> tuple[bytes, ...]:
    """Both bundles."""
    return tuple(b"" if each is None else each.pem for each in (settings.client_ca, settings.proxy_ca))


@pytest.mark.parametrize("member", KEYS)
def test_a_list_that_becomes_empty_keeps_its_last_values(member: str) -> None:
    """An empty list of allowed names means any name (Go: ``headerrequest``, ``x509.NewDynamicCAVerifier``)."""
    settings = TrustSettings()
    settings.use_names(NAMES)
    empty: Any = {member: ()}
    with pytest.raises(
        TrustRefused, match=f"^{KEYS[member]} is empty now: .*{getattr(NAMES, member)[0]}.*restart the server"
    ):
        settings.use_names(replace(NAMES, **empty))
    assert settings.names == NAMES
    assert settings.generation == 1
    assert settings.note() == f"not followed: {KEYS[member]} (empty now); what was in force stays, see the log"
    assert not settings.use_names(replace(NAMES, **empty))  # told once
    new: Any = {member: ("new",)}
    assert settings.use_names(replace(NAMES, **new))
    assert getattr(settings.names, member) == ("new",)
    assert settings.note() == ""


def test_all_lists_at_once_and_what_else_changed() -> None:
    settings = TrustSettings()
    settings.use_names(NAMES)
    with pytest.raises(TrustRefused) as caught:
        settings.use_names(HeaderNames(username=("x-other",)))
    assert [key for key in KEYS.values() if f"{key} is empty now" in str(caught.value)] == [
        KEYS["group"], KEYS["extra_prefix"], KEYS["allowed"]
    ]  # fmt: skip
    assert settings.names == replace(NAMES, username=("x-other",), uid=())


def test_a_uid_header_may_go() -> None:
    """A kube-apiserver without RemoteRequestHeaderUID sends a client's own X-Remote-Uid on."""
    settings = TrustSettings()
    settings.use_names(NAMES)
    assert settings.use_names(replace(NAMES, uid=()))
    assert settings.names.uid == ()
    assert settings.note() == ""


def test_a_name_may_be_replaced_in_two_changes() -> None:
    settings = TrustSettings()
    settings.use_names(NAMES)
    with pytest.raises(TrustRefused):
        settings.use_names(NOBODY)
    assert settings.use_names(replace(NAMES, allowed=("other",)))
    assert settings.names.allowed == ("other",)


def test_at_first_no_names_are_any_name() -> None:
    """What k8s.io/apiserver does; there is nothing to keep."""
    settings = TrustSettings()
    assert settings.use_names(NOBODY)
    assert settings.update(clients=USERS.pem, proxies=PROXIES.pem)
    assert settings.note() == ""


def _renewed(of: Issued) -> Issued:
    return authority("renamed", key=of.key)


def _between() -> tuple[bytes, bytes]:
    root = authority("root")
    return root.intermediate("users").pem, root.pem


def _far_between() -> tuple[bytes, bytes]:
    """The front proxy's root, another's intermediate, and that one's own for users; clients present what is between."""
    root = authority("root")
    middle = root.intermediate("middle")
    return middle.intermediate("users").pem + middle.pem, root.pem


OVERLAPS: dict[str, tuple[bytes, bytes]] = {
    "the same PEM": (USERS.pem, USERS.pem),
    "the same with a comment": (b"# users\n" + USERS.pem, USERS.pem),
    "one of several": (bundle(authority("a"), USERS), bundle(PROXIES, USERS, authority("b"))),
    "renewed: another certificate of the same key": (USERS.pem, _renewed(USERS).pem),
    "users' authority is issued by the front proxy's": _between(),
    "and so by another": _far_between(),
}


@pytest.mark.parametrize("case", OVERLAPS)
@pytest.mark.parametrize("allowed", [(), ("",)])
def test_an_authority_of_both_is_refused_without_allowed_names(case: str, allowed: tuple[str, ...]) -> None:
    clients, proxies = OVERLAPS[case]
    settings = TrustSettings()
    settings.use_names(replace(NAMES, allowed=allowed))
    with pytest.raises(
        TrustRefused, match=r"client-ca-file .*\(CN=.*\).* requestheader-allowed-names is empty: .*Name the"
    ):
        settings.update(clients=clients, proxies=proxies)
    assert _in_force(settings) == (clients, b"")
    assert settings.note() == (
        "not followed: requestheader-client-ca-file (shares an authority, without allowed names); what was in force stays, "
        "see the log"
    )
    named = TrustSettings()
    named.use_names(NAMES)
    assert named.update(clients=clients, proxies=proxies)
    assert _in_force(named) == (clients, proxies)


def test_other_authorities_are_no_overlap() -> None:
    root = authority("root")
    for clients, proxies in [
        (USERS.pem, PROXIES.pem),
        (USERS.pem, authority("cluster-ca").pem),  # the same name, another key
        (root.intermediate("users").pem, root.intermediate("proxies").pem),  # none verifies by the other
        (root.pem, root.intermediate("proxies").pem),  # users have leaves of the root, which is no anchor of proxies
    ]:
        settings = TrustSettings()
        assert settings.update(clients=clients, proxies=proxies, names=NOBODY)


@pytest.fixture
def apart() -> TrustSettings:
    """Two authorities in force, and no allowed names."""
    settings = TrustSettings()
    settings.update(clients=USERS.pem, proxies=PROXIES.pem, names=NOBODY)
    return settings


def test_on_a_change_the_last_good_state_stays(apart: TrustSettings) -> None:
    generation = apart.generation
    for clients, proxies in [(None, USERS.pem), (PROXIES.pem, PROXIES.pem)]:
        with pytest.raises(TrustRefused):
            apart.update(clients=clients, proxies=proxies)
        assert _in_force(apart) == (USERS.pem, PROXIES.pem)
        assert apart.generation == generation
        assert not apart.update(clients=clients, proxies=proxies)  # told once


def test_one_is_followed_where_that_does_no_harm(apart: TrustSettings) -> None:
    """Users' authorities first: what is taken out of them is revoked."""
    new = authority("new")
    with pytest.raises(TrustRefused):
        apart.update(clients=new.pem, proxies=new.pem)
    assert _in_force(apart) == (new.pem, PROXIES.pem)
    assert apart.not_followed == {"requestheader-client-ca-file": SHARED}


def test_the_front_proxys_is_followed_where_users_is_what_does_harm(apart: TrustSettings) -> None:
    both, new = bundle(USERS, PROXIES), bundle(PROXIES, authority("new"))
    with pytest.raises(TrustRefused):
        apart.update(clients=both, proxies=new)
    assert _in_force(apart) == (USERS.pem, new)
    assert apart.not_followed == {"client-ca-file": SHARED}


@pytest.mark.parametrize("names_first", [True, False])
def test_the_order_of_changes_does_not_matter_in_the_end(apart: TrustSettings, names_first: bool) -> None:
    if names_first:
        apart.use_names(NAMES)
        apart.trust_proxies(USERS.pem)
    else:
        with pytest.raises(TrustRefused):
            apart.trust_proxies(USERS.pem)
        assert apart.use_names(NAMES)  # nobody has to offer the bundle again
    assert _in_force(apart) == (USERS.pem, USERS.pem)
    assert apart.note() == ""


def test_what_is_refused_is_taken_when_the_other_side_has_gone_on(apart: TrustSettings) -> None:
    with pytest.raises(TrustRefused):
        apart.trust_proxies(USERS.pem)
    new = authority("new-cluster-ca")
    assert apart.trust_clients(new.pem)
    assert _in_force(apart) == (new.pem, USERS.pem)
    assert apart.not_followed == {}


def test_authorities_change_places_in_one_change(apart: TrustSettings) -> None:
    assert apart.update(clients=PROXIES.pem, proxies=USERS.pem)
    assert _in_force(apart) == (PROXIES.pem, USERS.pem)


def test_a_rotation_by_old_and_new_together_is_followed(apart: TrustSettings) -> None:
    new = authority("new-front-proxy-ca")
    for step in (bundle(PROXIES, new), new.pem):
        assert apart.trust_proxies(step)
        assert _in_force(apart) == (USERS.pem, step)


def test_names_stand_between_shared_authorities_also_when_their_list_becomes_empty() -> None:
    settings = TrustSettings()
    settings.update(clients=USERS.pem, proxies=USERS.pem, names=NAMES)
    with pytest.raises(TrustRefused):
        settings.use_names(NOBODY)
    assert _in_force(settings) == (USERS.pem, USERS.pem)
    assert settings.names == NAMES


def test_several_changes_are_one() -> None:
    settings = TrustSettings()
    told: list[int] = []
    settings.observers.append(lambda: told.append(settings.generation))
    settings.update(clients=USERS.pem, proxies=PROXIES.pem, names=NAMES)
    assert told == [1]


def test_an_emptied_bundle_and_one_that_cannot_be_read() -> None:
    settings = TrustSettings()
    with pytest.raises(BundleError):
        settings.trust_clients(b"")  # a file of a flag
    settings.trust_clients(USERS.pem)
    with pytest.raises(TrustRefused, match="client-ca-file is empty now: its last authorities stay in force"):
        settings.trust_clients(b"\n")
    assert settings.not_followed == {"client-ca-file": EMPTY}
    with pytest.raises(BundleError):
        settings.trust_clients(b"nonsense")
    assert settings.not_followed == {"client-ca-file": UNREADABLE}
    assert _in_force(settings)[0] == USERS.pem
    assert not settings.trust_clients(USERS.pem)
    assert settings.not_followed == {}


def test_a_switched_off_front_proxy_stands_in_nobodys_way() -> None:
    settings = TrustSettings()
    with pytest.raises(TrustRefused):
        settings.update(clients=USERS.pem, proxies=USERS.pem)
    settings.distrust_proxies()
    assert _in_force(settings) == (USERS.pem, b"")
    assert settings.note() == ""


def test_an_overlap_of_large_bundles_is_found_without_trying_every_pair() -> None:
    """Signatures are tried by names only: 300 times 300 of them would take seconds, and hold up every request."""
    crowd = [authority(f"ca-{number}") for number in range(300)]
    tried: list[object] = []

    class Counting:
        """A certificate that counts what is tried with it."""

        def __init__(self, real: x509.Certificate) -> None:
            self._real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

        def verify_directly_issued_by(self, issuer: x509.Certificate) -> None:
            tried.append(issuer)
            self._real.verify_directly_issued_by(issuer)

    root = authority("root")
    counting: Any = [Counting(each.certificate) for each in (*crowd[:150], root.intermediate("users"))]
    proxies = [each.certificate for each in (*crowd[150:], root)]
    assert shared_authorities(counting, proxies) == counting[-1:]
    assert len(tried) == 1
