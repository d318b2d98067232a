"""Judged by cryptography's own path validation, which follows RFC 5280 and the CA/Browser rules."""

from __future__ import annotations

import datetime as dt
import ipaddress
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import ExtensionPolicy, PolicyBuilder, Store, VerificationError

from extapi.dev.certificates import Certificates, Identities, ensure

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
WHO = Identities("system:serviceaccount:ns:name", ("group-a", "group-b"), ("service.ns.svc", "localhost", "127.0.0.1"))
EVERYTHING = {
    *(f"{name}.{ending}" for name in ("cluster-ca", "front-proxy-ca", "serving-ca") for ending in ("crt", "key")),
    *(f"{name}.{ending}" for name in ("kube-apiserver", "extension-server") for ending in ("crt", "key")),
    *(f"{name}.{ending}" for name in ("admin", "controller-manager", "extension-client") for ending in ("crt", "key")),
    *("front-proxy-client.crt", "front-proxy-client.key", "service-account.key", "service-account.pub", "made-for"),
}


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    return ensure(tmp_path / "certificates", WHO, now=NOW)


def load(certificates: Certificates, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificates.certificate(name).read_bytes())


def policy(certificates: Certificates, ca: str, at: dt.datetime = NOW) -> PolicyBuilder:
    return PolicyBuilder().store(Store([load(certificates, ca)])).time(at)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_all_is_for_the_owners_eyes_alone(made: Certificates) -> None:
    assert stat.S_IMODE(made.directory.stat().st_mode) == 0o700
    assert {path.name for path in made.directory.iterdir()} == EVERYTHING
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.directory.iterdir()} == {0o600}


@pytest.mark.parametrize("host", ["localhost", "kubernetes.default.svc"])
def test_clients_trust_kube_apiserver_by_name(made: Certificates, host: str) -> None:
    verifier = policy(made, "cluster-ca").build_server_verifier(x509.DNSName(host))
    assert len(verifier.verify(load(made, "kube-apiserver"), [])) == 2


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "fd00:10::1"])
def test_clients_trust_kube_apiserver_by_address(made: Certificates, address: str) -> None:
    name = x509.IPAddress(ipaddress.ip_address(address))
    policy(made, "cluster-ca").build_server_verifier(name).verify(load(made, "kube-apiserver"), [])


def test_the_extension_server_serves_under_its_names_and_no_other(made: Certificates) -> None:
    leaf = load(made, "extension-server")
    builder = policy(made, "serving-ca")
    builder.build_server_verifier(x509.DNSName("service.ns.svc")).verify(leaf, [])
    builder.build_server_verifier(x509.DNSName("localhost")).verify(leaf, [])
    with pytest.raises(VerificationError):
        builder.build_server_verifier(x509.DNSName("kubernetes")).verify(leaf, [])


@pytest.mark.parametrize(
    ("leaf", "ca"),
    [
        ("admin", "cluster-ca"),
        ("controller-manager", "cluster-ca"),
        ("extension-client", "cluster-ca"),
        ("front-proxy-client", "front-proxy-ca"),
    ],
)
def test_clients_are_trusted_as_clients_by_their_authority_alone(made: Certificates, leaf: str, ca: str) -> None:
    certificate = load(made, leaf)
    # No client has a subjectAltName, which Kubernetes does not read; the default policy wants one.
    authorities = ExtensionPolicy.webpki_defaults_ca()
    leaves = ExtensionPolicy.permit_all()
    for name in ("cluster-ca", "front-proxy-ca", "serving-ca"):
        builder = policy(made, name).extension_policies(ca_policy=authorities, ee_policy=leaves)
        if name == ca:
            builder.build_client_verifier().verify(certificate, [])
        else:
            with pytest.raises(VerificationError):
                builder.build_client_verifier().verify(certificate, [])
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]


def test_kubernetes_reads_user_and_groups_from_the_subject(made: Certificates) -> None:
    def subject(name: str) -> tuple[list[str | bytes], list[str | bytes]]:
        found = load(made, name).subject
        users = found.get_attributes_for_oid(NameOID.COMMON_NAME)
        groups = found.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return [user.value for user in users], [group.value for group in groups]

    assert subject("extension-client") == (["system:serviceaccount:ns:name"], ["group-a", "group-b"])
    assert subject("admin") == (["kubernetes-admin"], ["system:masters"])
    assert subject("controller-manager") == (["system:kube-controller-manager"], [])
    assert subject("front-proxy-client") == (["front-proxy-client"], [])


def test_each_key_belongs_to_its_certificate_and_they_are_all_different(made: Certificates) -> None:
    publics = set()
    for path in made.directory.glob("*.crt"):
        key = serialization.load_pem_private_key(path.with_suffix(".key").read_bytes(), None)
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        assert certificate.public_key() == key.public_key()
        publics.add(certificate.public_bytes(serialization.Encoding.DER))
    assert len(publics) == 9


def test_tokens_are_checked_with_the_public_half_of_their_key(made: Certificates) -> None:
    private = serialization.load_pem_private_key(made.key("service-account").read_bytes(), None)
    public = serialization.load_pem_public_key(made.service_account_public.read_bytes())
    assert private.public_key() == public


def test_a_set_is_made_once(made: Certificates) -> None:
    before = contents(made.directory)
    ensure(made.directory, WHO, now=NOW + dt.timedelta(days=300))
    assert contents(made.directory) == before


def test_a_set_that_expires_soon_is_made_anew(made: Certificates) -> None:
    later = NOW + dt.timedelta(days=340)
    ensure(made.directory, WHO, now=later)
    verifier = policy(made, "serving-ca", later + dt.timedelta(days=300))
    verifier.build_server_verifier(x509.DNSName("localhost")).verify(load(made, "extension-server"), [])


def test_a_set_of_a_clock_that_was_ahead_is_made_anew(made: Certificates) -> None:
    earlier = NOW - dt.timedelta(days=2)
    ensure(made.directory, WHO, now=earlier)
    verifier = policy(made, "serving-ca", earlier)
    verifier.build_server_verifier(x509.DNSName("localhost")).verify(load(made, "extension-server"), [])


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_an_incomplete_set_is_made_anew(made: Certificates, name: str) -> None:
    (made.directory / name).unlink()
    ensure(made.directory, WHO, now=NOW)
    assert {path.name for path in made.directory.iterdir()} == EVERYTHING


@pytest.mark.parametrize("name", ["cluster-ca.crt", "extension-server.key", "service-account.key"])
def test_a_damaged_set_is_made_anew(made: Certificates, name: str) -> None:
    (made.directory / name).write_text("damaged")
    ensure(made.directory, WHO, now=NOW)
    assert b"-----BEGIN" in (made.directory / name).read_bytes()


def test_a_key_of_another_certificate_is_found(made: Certificates) -> None:
    made.key("admin").write_bytes(made.key("front-proxy-client").read_bytes())
    ensure(made.directory, WHO, now=NOW)
    assert made.key("admin").read_bytes() != made.key("front-proxy-client").read_bytes()


def test_a_set_for_other_names_is_made_anew(made: Certificates) -> None:
    other = Identities(WHO.extension_user, WHO.extension_groups, ("other.ns.svc",))
    ensure(made.directory, other, now=NOW)
    policy(made, "serving-ca").build_server_verifier(x509.DNSName("other.ns.svc")).verify(
        load(made, "extension-server"), []
    )


def test_what_an_interrupted_run_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "certificates.unfinished").mkdir()
    (tmp_path / "certificates.unfinished" / "admin.key").touch()
    made = ensure(tmp_path / "certificates", WHO, now=NOW)
    assert {path.name for path in made.directory.iterdir()} == EVERYTHING
    assert [path.name for path in tmp_path.iterdir()] == ["certificates"]
