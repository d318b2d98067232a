"""Kubeconfigs as kubectl writes them, read at once or by the kubernetes package."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from extapi.client import kubeconfig
from extapi.client.credentials import CredentialsError, TokenSource
from extapi.client.kubeconfig import load_kubeconfig
from extapi.client.proxy import ProxyURL
from tests.certificates import authority
from tests.unit.client.building import now, run
from tests.unit.client.conftest import Turning

CA = authority("ca")
ME = CA.leaf("me")


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _write(directory: Path, cluster: dict[str, Any], user: dict[str, Any], **more: Any) -> Path:
    path = directory / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "d", "cluster": {"server": "https://other:1"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "y", "context": {"cluster": "d", "user": ""}},
        ],
        "current-context": "x",
        **more,
    }
    path.write_text(yaml.safe_dump(config))
    return path


CLUSTER = {"server": "https://10.0.0.1:6443/", "certificate-authority-data": _b64(CA.pem)}


def test_certificates_in_the_file(tmp_path: Path) -> None:
    user = {"client-certificate-data": _b64(ME.pem), "client-key-data": _b64(ME.key_pem)}
    path = _write(tmp_path, {**CLUSTER, "tls-server-name": "kubernetes"}, user)
    found = load_kubeconfig(path, now())
    assert found.server == "https://10.0.0.1:6443"
    assert (found.ca, found.certificate, found.key) == (CA.pem, ME.pem, ME.key_pem)
    assert found.server_name == "kubernetes"
    assert found.token is None


def test_files_beside_the_kubeconfig_and_another_context(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(CA.pem)
    ME.save(tmp_path, "me")
    user = {"client-certificate": "me.crt", "client-key": "me.key"}
    path = _write(tmp_path, {"server": "https://k:6443", "certificate-authority": "ca.crt"}, user)
    found = load_kubeconfig(path, now())
    assert (found.ca, found.certificate, found.key) == (CA.pem, ME.pem, ME.key_pem)
    other = load_kubeconfig(path, now(), context="y")
    assert (other.server, other.ca, other.certificate, other.token) == ("https://other:1", None, None, None)


@pytest.mark.parametrize(
    ("user", "header"),
    [({"token": "t0"}, "Bearer t0"), ({"username": "a", "password": "b"}, "Basic " + _b64(b"a:b"))],
)
def test_a_header_that_stays(tmp_path: Path, user: dict[str, str], header: str) -> None:
    found = load_kubeconfig(_write(tmp_path, CLUSTER, user), now())
    assert found.token is not None
    assert run(found.token.authorization()) == header


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t1")
    clock: Any = now()
    found = load_kubeconfig(_write(tmp_path, CLUSTER, {"tokenFile": "token"}), clock)
    assert found.token is not None
    assert run(found.token.authorization()) == "Bearer t1"
    (tmp_path / "token").write_text("t2")
    clock.advance(61)
    assert run(found.token.authorization()) == "Bearer t2"


def _exec(directory: Path, answer: str) -> dict[str, Any]:
    plugin = directory / "plugin"
    plugin.write_text(f"#!/bin/sh\necho run >> {directory}/runs\n{answer}\n")
    plugin.chmod(0o755)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin",
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }


def _issuing(**status: str) -> str:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"cat <<'END'\n{json.dumps(answer)}\nEND"


def test_an_exec_plugin_is_run_once_with_what_the_kubeconfig_says_of_the_cluster(
    tmp_path: Path, turning: Turning
) -> None:
    user = _exec(tmp_path, f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/told\n' + _issuing(token="t1"))
    found = load_kubeconfig(_write(tmp_path, CLUSTER, user), turning.reactor)
    assert found.token is not None
    for _ in range(2):
        assert turning.run(found.token.authorization()) == "Bearer t1"
    assert (tmp_path / "runs").read_text() == "run\n"
    assert json.loads((tmp_path / "told").read_text())["spec"]["cluster"] == CLUSTER
    found.token.stop()


def test_an_exec_plugin_that_issues_a_certificate(tmp_path: Path, turning: Turning) -> None:
    answer = _issuing(clientCertificateData=ME.pem.decode(), clientKeyData=ME.key_pem.decode())
    found = load_kubeconfig(_write(tmp_path, CLUSTER, _exec(tmp_path, answer)), turning.reactor)
    assert found.token is not None
    assert (turning.run(found.token.authorization()), found.token.pair) == ("", (ME.pem, ME.key_pem))
    found.token.stop()


def test_an_exec_plugin_beside_a_token_is_not_run(tmp_path: Path) -> None:
    """As exec.UpdateTransportConfig."""
    found = load_kubeconfig(_write(tmp_path, CLUSTER, {**_exec(tmp_path, "exit 1"), "token": "t0"}), now())
    assert found.token is not None
    assert run(found.token.authorization()) == "Bearer t0"


def test_an_exec_plugin_that_fails(tmp_path: Path, turning: Turning) -> None:
    path = _write(tmp_path, CLUSTER, _exec(tmp_path, "echo 'no network' >&2; exit 1"))
    with pytest.raises(
        CredentialsError,
        match=f"^cannot load the kubeconfig {path}: the exec plugin {tmp_path}/plugin of the kubeconfig {path} "
        "failed with exit code 1: no network$",
    ):
        load_kubeconfig(path, turning.reactor)


def test_an_exec_entry_that_is_wrong(tmp_path: Path) -> None:
    path = _write(tmp_path, CLUSTER, {"exec": {"command": "/bin/false"}})
    with pytest.raises(
        CredentialsError, match=f"^cannot load the kubeconfig {path}: exec of the user 'u' needs apiVersion, a string$"
    ):
        load_kubeconfig(path, now())


def _jwt(expiry: int) -> str:
    return ".".join(_b64(json.dumps(each).encode()).rstrip("=") for each in ({}, {"exp": expiry})) + ".x"


def test_an_auth_provider_is_asked_again_after_its_token_was_refused(tmp_path: Path, turning: Turning) -> None:
    """By the package: the kubeconfig is read anew. Where kubectl has renewed the token meanwhile, it is there."""
    old, new = _jwt(4_000_000_000), _jwt(4_000_000_001)
    path = _write(tmp_path, CLUSTER, {"auth-provider": {"name": "oidc", "config": {"id-token": old}}})
    found = load_kubeconfig(path, turning.reactor)
    assert found.token is not None
    assert turning.run(found.token.authorization()) == f"Bearer {old}"
    path.write_text(path.read_text().replace(old, new))
    found.token.refused(f"Bearer {old}")
    found.token.refused(f"Bearer {old}")
    turning.until(lambda: _authorization(turning, found.token) == f"Bearer {new}", 30)
    found.token.stop()


def _authorization(turning: Turning, token: TokenSource | None) -> str:
    assert token is not None
    return turning.run(token.authorization(), 30)


@pytest.mark.parametrize("more", [{"as": "anna"}, {"as-groups": ["a"]}])
def test_impersonation_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    path = _write(tmp_path, CLUSTER, {"token": "t", **more})
    with pytest.raises(CredentialsError, match="kubeconfig: as, impersonation, is not supported"):
        load_kubeconfig(path, now())


@pytest.mark.parametrize(
    ("cluster", "text"),
    [
        ({**CLUSTER, "insecure-skip-tls-verify": True}, "insecure-skip-tls-verify is not supported"),
        (
            {**CLUSTER, "proxy-url": "ftp://proxy:1"},
            'kubeconfig: proxy-url has an unsupported scheme "ftp", must be http, https, or socks5$',
        ),
        ({**CLUSTER, "proxy-url": "http://"}, "kubeconfig: proxy-url names no host"),
        ({**CLUSTER, "proxy-url": 3128}, "kubeconfig: proxy-url is no text, such as http://proxy"),
        ({}, "the cluster has no server"),
    ],
)
def test_what_is_refused(tmp_path: Path, cluster: dict[str, Any], text: str) -> None:
    with pytest.raises(CredentialsError, match=text):
        load_kubeconfig(_write(tmp_path, cluster, {}), now())


IN_THE_FILE = {"client-certificate-data": _b64(ME.pem), "client-key-data": _b64(ME.key_pem)}
ENVIRON = {"HTTPS_PROXY": "other:3128", "NO_PROXY": "10.0.0.2"}


@pytest.mark.parametrize(
    ("cluster", "environ", "proxy"),
    [
        ({"proxy-url": "socks5://me:secret@proxy"}, {}, ProxyURL("socks5", "proxy", 1080, "me", "secret")),
        # The file comes first, and NO_PROXY is not about it.
        ({"proxy-url": "http://proxy:1"}, ENVIRON, ProxyURL("http", "proxy", 1)),
        ({"proxy-url": "http://proxy:1"}, {**ENVIRON, "NO_PROXY": "*"}, ProxyURL("http", "proxy", 1)),
        ({"proxy-url": "http://proxy:1", "server": "https://localhost"}, ENVIRON, ProxyURL("http", "proxy", 1)),
        ({"proxy-url": ""}, ENVIRON, ProxyURL("http", "other", 3128)),
        ({}, ENVIRON, ProxyURL("http", "other", 3128)),
        ({}, {**ENVIRON, "NO_PROXY": "10.0.0.0/8"}, None),
        ({"server": "https://localhost:6443"}, ENVIRON, None),
        ({}, {}, None),
    ],
)
def test_the_proxy(tmp_path: Path, cluster: dict[str, str], environ: dict[str, str], proxy: ProxyURL | None) -> None:
    found = load_kubeconfig(_write(tmp_path, {**CLUSTER, **cluster}, IN_THE_FILE), now(), environ=environ)
    assert found.proxy == proxy
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("url", "exceptions", "proxy"),
    [
        ("http://proxy:1", "*", ProxyURL("http", "proxy", 1)),
        ("", "", ProxyURL("http", "other", 3128)),
        # The package knows nothing of networks: it would go through the proxy.
        ("", "10.0.0.0/8", None),
    ],
)
def test_the_proxy_where_the_package_reads_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, exceptions: str, proxy: ProxyURL | None
) -> None:
    """And the environment of the process, which is what counts where none is given."""
    for name in ("https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "other:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    user = {"username": "a", "password": "b"}
    assert load_kubeconfig(_write(tmp_path, {**CLUSTER, "proxy-url": url}, user), now()).proxy == proxy


def test_an_environment_that_names_no_proxy(tmp_path: Path) -> None:
    path = _write(tmp_path, CLUSTER, IN_THE_FILE)
    with pytest.raises(CredentialsError, match="the environment variable HTTPS_PROXY has an unsupported scheme"):
        load_kubeconfig(path, now(), environ={"HTTPS_PROXY": "ftp://proxy"})


@pytest.mark.parametrize("content", [None, "", "a: [", "a: 1"])
def test_what_cannot_be_read_says_so(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CredentialsError, match=f"cannot load the kubeconfig {path}: .*"):
        load_kubeconfig(path, now())


def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="none"):
        load_kubeconfig(_write(tmp_path, CLUSTER, {}), now(), context="none")


def test_a_reader_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeconfig, "READ_TIMEOUT", 0.01)
    path = _write(tmp_path, CLUSTER, {"username": "not", "password": "plain"})
    with pytest.raises(
        CredentialsError,
        match=rf"^cannot load the kubeconfig {path}: its reader did not end within 0\.01 seconds, and was killed$",
    ):
        load_kubeconfig(path, now())


def test_the_package_and_its_files_stay_out_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    user = {"client-certificate-data": _b64(ME.pem), "client-key-data": _b64(ME.key_pem), "username": "not plain"}
    load_kubeconfig(_write(tmp_path, CLUSTER, user), now())
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the image. What is certificates or a token is read all the same."""
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(CredentialsError) as caught:
        load_kubeconfig(_write(tmp_path, CLUSTER, _exec(tmp_path, "exit 1")), now())
    assert str(caught.value).startswith(
        f"cannot load the kubeconfig {tmp_path}/kubeconfig: what it says besides certificates"
    )
    assert "pip install 'extapi[kubeconfig]'" in str(caught.value)
    assert load_kubeconfig(_write(tmp_path, CLUSTER, {"token": "t0"}), now()).token is not None
