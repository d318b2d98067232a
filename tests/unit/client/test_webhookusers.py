"""Who calls a webhook: which user of a kubeconfig, and what it shows.

Addresses and users are those of upstream's ``util/webhook/authentication_test.go``; headers and texts were observed on 1.36.3.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from twisted.internet.task import Clock

from extapi.client.credentials import CredentialsError
from extapi.client.webhookcall import WebhookCaller
from extapi.client.webhookusers import Header, WebhookUser, WebhookUsers, read_users
from tests.certificates import CLIENT, SERVER, Issued, authority
from tests.unit.client.building import run
from tests.unit.client.conftest import Server, Turning

CA = authority("callers")
Serve = Callable[..., Server]


def headers_of(user: WebhookUser) -> Sequence[Header]:
    return list(run(user.headers()))


def kubeconfig(directory: Path, *users: tuple[str, Any], **more: Any) -> Path:
    named = [{"name": name, "user": user} for name, user in users]
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": named, **more}))
    return file


def only(directory: Path, user: Any, clock: Clock | None = None) -> WebhookUser:
    """The user for all addresses, read back."""
    return read_users(kubeconfig(directory, ("*", user)), clock or Clock()).of("a.b.svc:443")


def chosen(address: str, *names: str, current: str = "") -> str:
    """The name of the user for an address; empty: nobody."""
    users = {name: WebhookUser(lambda name=name: [("name", name)]) for name in names}  # type: ignore[misc]  # as all lambdas
    nobody = WebhookUser()
    made = WebhookUsers(users, users.get(current, nobody), environ={}, clock=Clock())
    return "".join(value for _, value in headers_of(made.of(address)))


@pytest.mark.parametrize(
    ("address", "names", "found"),
    [
        ("foo.com:443", (), ""),
        ("foo.com:443", ("foo.com", "*.com", "bar.com"), "foo.com"),
        ("foo.com:443", ("*.com", "bar.com"), "*.com"),
        ("foo.com:443", ("*", "bar.com"), "*"),
        ("foo.com:443", ("bar.com",), ""),
        ("kubernetes.default.svc:443", ("*", "bar.com"), "*"),
        ("one.two.three.com:443", ("*.two.three.com", "*.three.com", "*.com"), "*.two.three.com"),
        ("one.two.three.com:443", ("one.two.three.com", "*.two.three.com"), "one.two.three.com"),
        ("one.two.three.com:443", ("one.two.three.com:443", "one.two.three.com", "*"), "one.two.three.com:443"),
        ("one.two.three.com:443", ("*.two.three.com:443", "one.two.three.com", "*"), "*.two.three.com:443"),
        ("one.two.three.com:443", ("*.com:443", "one.two.three.com", "*"), "*.com:443"),
        ("one.two.three.com:8443", ("one.two.three.com", "*.two.three.com"), ""),
        ("one.two.three.com:8443", ("one.two.three.com", "*.com:8443"), "*.com:8443"),
        ("check.ns.svc:443", ("*.ns.svc", "*.svc", "*"), "*.ns.svc"),
        ("check.ns.svc:8443", ("*.ns.svc", "check.ns.svc:8443"), "check.ns.svc:8443"),
        # net.SplitHostPort takes the brackets away, and refuses two pairs of them.
        ("[::1]:443", ("::1",), "::1"),
        ("[::1]:443", ("[::1]", "*"), "*"),
        ("[::1]:443", ("[::1]:443", "::1"), "[::1]:443"),
        ("[::1]:8443", ("::1",), ""),
        ("[[::1]]:443", ("[::1]", "::1", "*"), "*"),
        ("[[::1]]:443", ("[[::1]]:443",), "[[::1]]:443"),
    ],
)
def test_which_user_an_address_has(address: str, names: Sequence[str], found: str) -> None:
    assert chosen(address, *names) == found


def test_the_current_context_comes_last(tmp_path: Path) -> None:
    assert chosen("foo.com:443", "bar.com", current="bar.com") == "bar.com"
    assert chosen("foo.com:443", "bar.com", "*", current="bar.com") == "*"
    contexts = [{"name": "ctx", "context": {"user": "bar"}}]
    file = kubeconfig(tmp_path, ("bar", {"token": "x"}), contexts=contexts, **{"current-context": "ctx"})
    assert headers_of(read_users(file, Clock()).of("foo.com:443")) == [("Authorization", "Bearer x")]
    assert headers_of(read_users(kubeconfig(tmp_path), Clock()).of("foo.com:443")) == []


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        ({"token": "t0ken"}, [("Authorization", "Bearer t0ken")]),
        ({"tokenFile": "token"}, [("Authorization", "Bearer from-file")]),
        ({"tokenFile": "token", "token": "x"}, [("Authorization", "Bearer from-file")]),
        ({"username": "u", "password": "p:w"}, [("Authorization", "Basic dTpwOnc=")]),
        ({"username": "u"}, [("Authorization", "Basic dTo=")]),
        (
            {"token": "t", "as": "user-a", "as-uid": "uid-1", "as-groups": ["g1", "g2"]},
            [
                ("Authorization", "Bearer t"),
                ("Impersonate-User", "user-a"),
                ("Impersonate-Uid", "uid-1"),
                ("Impersonate-Group", "g1"),
                ("Impersonate-Group", "g2"),
            ],
        ),
        (
            {"as": "a", "as-user-extra": {"ex.io/a b%": ["é"]}},
            [("Impersonate-User", "a"), ("Impersonate-Extra-ex.io%2Fa%20b%25", "é")],
        ),
        ({"as-groups": ["g1"]}, []),
        ({}, []),
        (None, []),
    ],
)
def test_headers(tmp_path: Path, user: Any, headers: list[Header]) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert headers_of(only(tmp_path, user)) == headers


@pytest.fixture
def leaf() -> Issued:
    return CA.leaf("client-one", eku=CLIENT)


def test_certificates_of_every_sort(tmp_path: Path, leaf: Issued) -> None:
    paths = leaf.save(tmp_path, "caller")
    pem, key = paths.certificate.read_bytes(), paths.key.read_bytes()
    data = {
        "client-certificate-data": base64.b64encode(pem).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    files = {"client-certificate": paths.certificate.name, "client-key": str(paths.key)}
    mixed = {"client-certificate-data": data["client-certificate-data"], "client-key": files["client-key"]}
    for user in (data, files, mixed, {**data, "client-certificate": "/nowhere", "client-key": "/nowhere"}):
        assert tuple(only(tmp_path, user).pair()) == (pem, key)
    without = {"client-certificate": str(paths.certificate)}
    assert tuple(only(tmp_path, without).pair()) == (b"", b"")


def test_files_are_read_again(tmp_path: Path, leaf: Issued) -> None:
    paths, clock = leaf.save(tmp_path, "caller"), Clock()
    (tmp_path / "token").write_text("first")
    user = only(
        tmp_path,
        {"tokenFile": "token", "client-certificate": str(paths.certificate), "client-key": str(paths.key)},
        clock,
    )
    before = user.pair()
    assert headers_of(user) == [("Authorization", "Bearer first")]
    (tmp_path / "token").write_text("second")
    CA.leaf("client-two", eku=CLIENT).save(tmp_path, "caller")
    assert user.pair() != before
    assert headers_of(user) == [("Authorization", "Bearer first")]
    clock.advance(60)
    assert headers_of(user) == [("Authorization", "Bearer second")]
    (tmp_path / "token").unlink()
    clock.advance(60)
    assert headers_of(user) == [("Authorization", "Bearer second")]


def test_a_token_that_a_webhook_refuses_is_read_again(tmp_path: Path, turning: Turning, serve: Serve) -> None:
    """As every client of client-go with a token file."""

    def answer(request: Any) -> bytes:
        if request.getHeader("Authorization") != "Bearer second":
            request.setResponseCode(401)
        return b"{}"

    server = serve(answer, tls=CA.leaf("s", san=["127.0.0.1"], eku=SERVER))
    (tmp_path / "token").write_text("first")
    users = read_users(kubeconfig(tmp_path, ("*", {"tokenFile": "token"})), Clock())
    config = {"url": server.url, "caBundle": base64.b64encode(CA.pem).decode()}
    caller = WebhookCaller(config, lambda *_: ("127.0.0.1", 1), turning.reactor, users=users)
    assert turning.run(caller.call(b"{}", 10)).status == 401
    (tmp_path / "token").write_text("second")
    assert turning.run(caller.call(b"{}", 10)).status == 200
    caller.close()


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ({"tokenFile": "/nowhere/token"}, "open /nowhere/token: no such file or directory"),
        (
            {"client-certificate": "/nowhere/a.crt", "client-key": "/nowhere/a.key"},
            "open /nowhere/a.crt: no such file or directory",
        ),
        ({"username": "u", "token": "t"}, "username/password or bearer token may be set, but not both"),
        ({"auth-provider": {"name": "gcp"}}, "auth provider not supported"),
    ],
)
def test_who_cannot_be_used_is_found_when_needed(tmp_path: Path, user: Any, text: str) -> None:
    with pytest.raises(CredentialsError) as raised:
        only(tmp_path, user).check()
    assert str(raised.value) == text


@pytest.mark.parametrize("token", ["a\nb", "a\r\nX: y", "a\x00", "a\x7f"])
def test_no_value_begins_another_header(tmp_path: Path, token: str) -> None:
    user = only(tmp_path, {"token": token})
    user.check()
    with pytest.raises(CredentialsError) as raised:
        headers_of(user)
    assert str(raised.value) == 'net/http: invalid header field value for "Authorization"'


def test_a_pod_is_to_the_cluster_what_it_always_is(tmp_path: Path) -> None:
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    star = {"*": WebhookUser(lambda: [("Authorization", "star")])}

    def users(environ: dict[str, str], named: dict[str, WebhookUser] = star) -> WebhookUser:
        made = WebhookUsers(named, account=tmp_path, environ=environ, clock=Clock())
        return made.of("kubernetes.default.svc:443")

    assert headers_of(users(pod)) == [("Authorization", "star")]  # it has no account
    (tmp_path / "token").write_text("account")
    (tmp_path / "ca.crt").write_bytes(CA.pem)
    assert (headers_of(users(pod)), users(pod).ca) == ([("Authorization", "Bearer account")], CA.pem)
    assert headers_of(users({})) == [("Authorization", "star")]
    named = {"kubernetes.default.svc": WebhookUser(lambda: [("Authorization", "named")])}
    assert headers_of(users(pod, named)) == [("Authorization", "named")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("users: [\n", "yaml: line 1: did not find expected node content"),
        (
            "users: 5",
            "json: cannot unmarshal number into Go struct field Config.users of type []v1.NamedAuthInfo",
        ),
        (
            "kind: Conf\napiVersion: v1",
            'no kind "Conf" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        ("users: [{name: a}, {name: a}]", 'duplicate name "a" in users'),
        ("[]", "it is no object"),
        ("users: [5]", "users has an entry that is no object with name and user"),
        ("users: [{name: a, user: {token: 5}}]", "token is no text"),
        ("users: [{name: a, user: {exec: {command: x}}}]", "users with exec are not supported"),
        ("a: " + "b" * 1024 * 1024, "it has more than 1048576 bytes"),
    ],
)
def test_what_is_no_kubeconfig(tmp_path: Path, content: str, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    with pytest.raises(CredentialsError) as raised:
        read_users(file, Clock())
    assert str(raised.value).startswith(f'error loading config file "{file}": {text}')


def test_an_empty_kubeconfig_has_nobody(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("")
    assert headers_of(read_users(file, Clock()).of("a:443")) == []
    with pytest.raises(CredentialsError, match="stat /nowhere/kubeconfig: no such file or directory"):
        read_users(Path("/nowhere/kubeconfig"), Clock())
