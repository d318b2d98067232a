from __future__ import annotations

from pathlib import Path

import pytest

from extapi.storage.base import UnusableStore
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdEndpoint, EtcdOptions, check_etcd, parse_endpoint
from tests.certificates import CLIENT, authority


@pytest.mark.parametrize(
    ("url", "endpoint", "shown"),
    [
        ("http://127.0.0.1:2379", EtcdEndpoint("127.0.0.1", 2379, tls=False), "http://127.0.0.1:2379"),
        ("https://etcd.example/", EtcdEndpoint("etcd.example", 2379, tls=True), "https://etcd.example:2379"),
        ("https://[::1]:1", EtcdEndpoint("::1", 1, tls=True), "https://[::1]:1"),
    ],
)
def test_endpoints(url: str, endpoint: EtcdEndpoint, shown: str) -> None:
    assert parse_endpoint(url) == endpoint
    assert endpoint.url == shown


@pytest.mark.parametrize(
    "url",
    [
        "",
        "etcd:2379",
        "unix://client.sock",
        "http://",
        "http://a:b",
        "http://a:70000",
        "http://a/path",
        "http://u:p@a:1",
    ],
)
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(ValueError, match="expected http://HOST:PORT or https://HOST:PORT"):
        parse_endpoint(url)


GOOD = EtcdOptions(servers=("http://a:1", "http://b:1"), prefix="/extapi/pizza")


def test_options() -> None:
    assert list(check_etcd(GOOD)) == []
    assert list(check_etcd(EtcdOptions(prefix="/x"))) == ["--etcd-servers must be specified"]
    bad = EtcdOptions(servers=("http://a:1", "a:1"), prefix="/registry", certfile=Path("c"), username="root")
    assert [text.partition(": ")[0] for text in check_etcd(bad)] == [
        "--etcd-servers",
        "--etcd-prefix",
        "--etcd-certfile and --etcd-keyfile must be given together",
        "--etcd-username and --etcd-password-file must be given together",
    ]


@pytest.mark.parametrize("prefix", ["", "/", "extapi", "/extapi/", "/a//b", "/registry/x", "/" + "a" * 200])
def test_prefixes_that_are_refused(prefix: str) -> None:
    (problem,) = check_etcd(EtcdOptions(servers=("http://a:1",), prefix=prefix))
    assert problem.startswith("--etcd-prefix: ")


def files(directory: Path) -> EtcdOptions:
    ca = authority("etcd-ca")
    (directory / "ca.crt").write_bytes(ca.pem)
    pair = ca.leaf("extapi", eku=CLIENT).save(directory, "client")
    (directory / "password").write_text("secret\n")
    return EtcdOptions(
        servers=("https://a:1",),
        prefix="/x",
        cafile=directory / "ca.crt",
        certfile=pair.certificate,
        keyfile=pair.key,
        username="root",
        password_file=directory / "password",
    )


def test_files_are_read_again(tmp_path: Path) -> None:
    access = EtcdAccess(files(tmp_path))
    assert access.credentials == (b"root", b"secret")
    first = access._pair["certificate"]
    (tmp_path / "password").write_text("other")
    authority("new").leaf("extapi", eku=CLIENT).save(tmp_path, "client")
    access.refresh()
    assert access.credentials == (b"root", b"other")
    assert access._pair["certificate"] != first


@pytest.mark.parametrize("name", ["ca.crt", "client.crt", "client.key", "password"])
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\n", b"x" * 5000])
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes | None) -> None:
    """At the start they are a mistake; later they may be half written, and the last good ones stay."""
    options = files(tmp_path)
    access = EtcdAccess(options)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    if name == "password" and content and len(content) < 5000:
        return  # any short text is a password
    with pytest.raises(UnusableStore, match=name.replace(".", r"\.")):
        EtcdAccess(options)
    before = (access._trust, access._pair, access.credentials)
    access.refresh()
    assert (access._trust, access._pair, access.credentials) == before


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    options = files(tmp_path)
    other = authority("other").leaf("x", eku=CLIENT)
    (tmp_path / "client.key").write_bytes(other.key_pem)
    with pytest.raises(UnusableStore, match="is not the key of the certificate"):
        EtcdAccess(options)
