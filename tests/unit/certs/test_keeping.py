from __future__ import annotations

import datetime as dt
import errno
import ipaddress
import os
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.verification import PolicyBuilder, Store

from extapi.certs import keeping
from extapi.certs.directory import load
from extapi.certs.failure import CertsFailure
from extapi.certs.files import beside
from extapi.certs.reading import hosts
from extapi.issuing import Authority, Signed, make_authority, self_sign
from extapi.listener.tls import ServingCertificate
from tests import certificates
from tests.unit.certs.place import DAY, NAME, Place, PowerFailure, bundle, pem, shakes_hands, stopping_after

NAMES = [NAME, f"{NAME}.cluster.local", "pizza.restaurant", "pizza"]
"""As pods and kube-apiserver spell them (kubernetes.io/docs/concepts/services-networking/dns-pod-service)."""


def put(place: Place, authority: Authority | Signed | certificates.Issued) -> None:
    """An authority of the operator's own."""
    place.paths.directory.mkdir(parents=True)
    place.paths.authorities.write_bytes(pem(authority.certificate))
    write_key(place, authority.key)


def write_key(place: Place, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    place.paths.authority_key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    place.paths.authority_key.chmod(0o600)


# The first run


def test_the_first_run_makes_what_a_tls_secret_and_a_ca_bundle_hold(place: Place) -> None:
    place.ensure()
    assert set(place.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    (leaf,) = place.chain()
    assert hosts(leaf) == NAMES
    assert all(place.trusted(name) for name in NAMES)
    assert not place.trusted("kubernetes.default.svc")


def test_nobody_else_reads_the_keys(place: Place) -> None:
    place.ensure()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.paths.directory.iterdir()}
    assert stat.S_IMODE(place.paths.directory.stat().st_mode) == 0o700
    assert {modes["ca.key"], modes["tls.key"]} == {0o600}
    assert modes["ca.crt"] & 0o022 == modes["tls.crt"] & 0o022 == 0
    assert place.paths.warnings() == []


def test_our_server_serves_it_and_a_client_of_the_ca_bundle_connects(place: Place) -> None:
    place.now = dt.datetime.now(dt.UTC)
    place.ensure("10.1.2.3")
    serving = ServingCertificate(place.paths.certificate, place.paths.key)
    for name in (*NAMES, "10.1.2.3"):
        assert shakes_hands(serving, bundle(place.paths.authorities), name), name
    assert not shakes_hands(serving, bundle(place.paths.authorities), "other.restaurant.svc")


def test_a_host_that_is_named_twice_stands_there_once(place: Place) -> None:
    place.ensure(NAME, "localhost", "localhost")
    assert hosts(place.chain()[0]) == [*NAMES, "localhost"]


def test_names_that_do_not_fit_into_a_common_name_are_still_served(place: Place) -> None:
    long = "p" * 63
    place.ensure(service=long)
    assert place.trusted(f"{long}.restaurant.svc")


def test_further_hosts_may_be_addresses(place: Place) -> None:
    place.ensure("localhost", "::1")
    address = x509.IPAddress(ipaddress.ip_address("::1"))
    policy = PolicyBuilder().store(Store(place.authorities())).time(place.now)
    policy.build_server_verifier(address).verify(place.chain()[0], [])


def test_it_says_what_to_do_with_the_files(place: Place) -> None:
    told = place.ensure()
    assert f"next: put {place.paths.authorities} into the caBundle" in told
    assert f"next: give {place.paths.certificate} and {place.paths.key} to the server" in told


def test_without_names_there_is_nothing_to_make(place: Place) -> None:
    with pytest.raises(CertsFailure, match=r"no .*tls\.crt yet: name its Service with --service and --namespace"):
        place.ensure(service="")
    assert not place.paths.directory.exists()
    place.paths.directory.mkdir(parents=True)
    with pytest.raises(CertsFailure, match=r"no .*tls\.crt yet: make it with extapi certs --service"):
        place.ensure(service="")
    assert place.contents() == {}


# Later runs


@pytest.mark.parametrize("service", ["pizza", ""], ids=["same names", "no names"])
def test_another_run_has_nothing_to_do_and_says_when_it_will(place: Place, service: str) -> None:
    place.ensure()
    before = place.contents()
    place.now += 300 * DAY
    told = place.ensure(service=service)
    assert place.contents() == before
    assert told.startswith("nothing to do\n")
    assert '"CN=pizza.restaurant.svc" expires 2031-01-01T00:00:00Z; a run after 2030-12-02' in told
    assert '"CN=extapi serving CA 2030-01-01T00:00:00Z" expires 2039-12-30T00:00:00Z' in told


def test_the_moment_that_was_told_is_early_enough(place: Place) -> None:
    """A timer that follows what a run says must not come a day too early, and then never again."""
    place.ensure()
    place.now += 335 * DAY
    assert place.ensure().startswith(f"made {place.paths.certificate}")


@pytest.mark.parametrize("service", ["pizza", ""], ids=["same names", "no names"])
def test_a_certificate_that_soon_expires_is_made_anew_by_the_same_authority(place: Place, service: str) -> None:
    place.ensure("further.example.com")
    before, trusting = place.contents(), place.authorities()
    place.now += 336 * DAY
    told = place.ensure(service=service)
    after = place.contents()
    assert {name for name in after if after[name] != before[name]} == {"tls.crt", "tls.key"}
    assert "expires 2031-01-01T00:00:00Z\n" in told
    assert "caBundle stays as it is" in told
    place.now += 300 * DAY
    assert place.trusted(by=trusting)
    assert place.trusted("further.example.com", by=trusting)


def test_nothing_to_do_needs_no_file_system_that_can_be_written_to(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux refuses on a read-only one even to remove what is not there."""
    place.ensure()

    def refuse(path: Path, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert place.ensure().startswith("nothing to do")


def test_how_soon_is_said_by_the_operator(place: Place) -> None:
    place.ensure()
    place.now += 355 * DAY
    assert "nothing to do" in place.ensure(renew_before=9 * DAY)
    assert "nothing to do" not in place.ensure(renew_before=11 * DAY)


def test_a_name_is_added_and_the_others_are_kept(place: Place) -> None:
    place.ensure("first.example.com")
    told = place.ensure("second.example.com")
    assert "the one before was not for second.example.com" in told
    assert all(place.trusted(name) for name in (*NAMES, "first.example.com", "second.example.com"))
    assert "nothing to do" in place.ensure()


def test_a_lost_key_is_replaced_together_with_its_certificate(place: Place) -> None:
    place.ensure()
    place.paths.key.unlink()
    assert "the key of the one before is missing" in place.ensure()
    ServingCertificate(place.paths.certificate, place.paths.key)
    assert place.trusted()


def test_a_key_of_another_certificate_is_replaced(place: Place) -> None:
    place.ensure()
    place.paths.key.write_bytes(certificates.authority("other").key_pem)
    assert "the one before has another key" in place.ensure()
    ServingCertificate(place.paths.certificate, place.paths.key)


def test_a_certificate_made_by_a_clock_that_ran_ahead_is_made_anew(place: Place) -> None:
    place.ensure()
    authority = make_authority("mine", now=place.now - 10 * DAY)
    place.paths.authorities.write_bytes(pem(authority.certificate))
    write_key(place, authority.key)
    place.paths.certificate.unlink()
    place.paths.key.unlink()
    place.ensure()
    place.now -= 5 * DAY
    assert "the one before is valid from 2029-12-31T23:55:00Z" in place.ensure()
    assert place.trusted()


# The authority's end


def test_an_authority_made_by_a_clock_that_ran_ahead_is_an_error(place: Place) -> None:
    place.ensure()
    place.now -= 5 * DAY
    with pytest.raises(CertsFailure, match=r"is valid from 2029-12-31T23:55:00Z .*, and this clock says 2029-12-27T"):
        place.ensure()


def warnings(place: Place, renew_before: dt.timedelta = 30 * DAY) -> str:
    found = keeping.warnings(place.paths, load(place.paths), now=place.now, renew_before=renew_before)
    return "\n".join(found)


def test_no_certificate_outlives_its_authority_and_rotation_is_asked_for_in_time(place: Place) -> None:
    place.ensure()
    place.now += 3650 * DAY - 200 * DAY
    place.ensure()
    end = place.authorities()[0].not_valid_after_utc
    assert place.chain()[0].not_valid_after_utc == end
    assert warnings(place) == ""
    assert "it is time for extapi certs rotate" in warnings(place, 201 * DAY)
    place.now = end - 20 * DAY
    assert "nothing to do" in place.ensure()  # a new one would last no longer
    assert 'the authority "CN=extapi serving CA 2030-01-01T00:00:00Z"' in warnings(place)
    assert "expires 2039-12-30T00:00:00Z" in warnings(place)
    assert f"it is time for extapi certs rotate --dir {place.paths.directory}" in warnings(place)


@pytest.mark.parametrize("age", [0, 3450], ids=["together", "with what it signed last"])
def test_an_expired_authority_is_an_error(place: Place, age: int) -> None:
    place.ensure()
    place.now += age * DAY
    place.ensure()
    place.now += (3650 - age) * DAY
    with pytest.raises(CertsFailure, match=r'"CN=extapi serving CA .* to 2039-12-30T00:00:00Z, .* extapi certs rotate'):
        place.ensure()
    place.paths.certificate.unlink()
    place.paths.key.unlink()
    with pytest.raises(CertsFailure, match=r"to 2039-12-30T00:00:00Z, .* extapi certs rotate"):
        place.ensure()


# An authority of the operator's own


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())],
    ids=["RSA", "EC"],
)
def test_an_authority_that_was_brought_signs(place: Place, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    place.now = dt.datetime.now(dt.UTC)
    put(place, Authority(self_sign("mine", key, now=place.now), key))
    told = place.ensure()
    assert [each.subject.rfc4514_string() for each in place.authorities()] == ["CN=mine"]
    assert f"next: put {place.paths.authorities} into the caBundle" in told
    assert place.trusted()
    serving = ServingCertificate(place.paths.certificate, place.paths.key)
    assert shakes_hands(serving, bundle(place.paths.authorities))


def test_an_intermediate_that_was_brought_is_served_for_those_who_know_only_its_root(place: Place) -> None:
    place.now = dt.datetime.now(dt.UTC)
    root = certificates.authority("root")
    middle = root.intermediate("middle")
    put(place, middle)
    place.paths.authorities.write_bytes(middle.pem + root.pem)
    place.ensure()
    assert [each.subject.rfc4514_string() for each in place.chain()] == ["CN=pizza.restaurant.svc", "CN=middle"]
    serving = ServingCertificate(place.paths.certificate, place.paths.key)
    assert shakes_hands(serving, root.pem.decode())
    assert "rotation is under way" not in warnings(place)


def test_without_the_authoritys_key_all_is_well_until_it_is_needed(place: Place) -> None:
    place.ensure()
    place.paths.authority_key.unlink()
    assert "nothing to do" in place.ensure()
    before = place.contents()
    with pytest.raises(CertsFailure, match=r"a new .*tls\.crt is needed \(.* not for a\.b\), and .*ca\.key is missing"):
        place.ensure("a.b")
    assert place.contents() == before


# Interruptions


def test_an_interrupted_first_run_is_completed_by_the_next(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.now = dt.datetime.now(dt.UTC)
    steps = 0
    while True:
        with stopping_after(steps, monkeypatch):
            try:
                place.ensure()
            except PowerFailure:
                key = place.paths.authority_key
                begun = key.read_bytes() if key.exists() else b""
            else:
                break
        place.ensure()
        assert set(place.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
        assert not begun or key.read_bytes() == begun
        assert shakes_hands(
            ServingCertificate(place.paths.certificate, place.paths.key), bundle(place.paths.authorities)
        )
        for path in place.paths.directory.iterdir():
            path.unlink()
        steps += 1
    assert steps > 10  # four files, each made durable and renamed


def test_a_certificate_whose_key_was_not_written_is_dropped(place: Place) -> None:
    """The machine stopped before the key took its place: what is there belongs together and stays."""
    place.ensure()
    before = place.contents()
    theirs = certificates.authority("ca").leaf(NAME)
    beside(place.paths.certificate).write_bytes(theirs.pem)
    assert place.ensure().startswith("nothing to do\n")
    assert place.contents() == before


def test_what_was_written_only_in_part_is_not_taken(place: Place) -> None:
    place.ensure()
    for name in ("tls.unfinished.crt", "tls.unfinished.key", "ca.unfinished.crt"):
        (place.paths.directory / name).write_bytes(b"-----BEGIN")
    assert "nothing to do" in place.ensure()
    assert set(place.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}


def test_an_interrupted_renewal_harms_no_server_that_runs_and_is_completed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.now = dt.datetime.now(dt.UTC)
    place.ensure()
    serving = ServingCertificate(place.paths.certificate, place.paths.key)
    steps = 0
    while True:
        more = f"host-{steps}.example.com"
        with stopping_after(steps, monkeypatch):
            try:
                place.ensure(more)
            except PowerFailure:
                pass
            else:
                break
        serving.check()
        assert shakes_hands(serving, bundle(place.paths.authorities))
        place.ensure(more)
        serving.check()
        assert shakes_hands(serving, bundle(place.paths.authorities), more)
        assert set(place.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
        steps += 1
    assert steps > 5
