"""What is read at once, and what is left to the ``kubernetes`` package."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from extapi.client.credentials import Credentials, StaticToken
from extapi.client.plainkubeconfig import plain_credentials
from extapi.client.proxy import ProxyURL
from tests.unit.client.building import now, run


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CLUSTER = {"server": "https://host:6443/", "certificate-authority-data": b64("ca"), "tls-server-name": "kubernetes"}
USER = {"client-certificate-data": b64("certificate"), "client-key-data": b64("key")}


def config(cluster: Any = CLUSTER, user: Any = USER, **more: Any) -> bytes:
    document = {
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "d", "cluster": {"server": "https://other"}}],
        "users": [{"name": "u", "user": user}, {"name": "t", "user": {"token": "abc"}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "other", "context": {"cluster": "d", "user": "t"}},
        ],
        "current-context": "x",
        **more,
    }
    return yaml.safe_dump(document).encode()


def read(content: bytes, context: str = "", directory: Path = Path("/nonexistent")) -> Credentials | None:
    return plain_credentials(content, context, directory, now())


def test_everything_in_the_file() -> None:
    found = read(config())
    assert found is not None
    assert (found.server, found.ca, found.server_name) == ("https://host:6443", b"ca", "kubernetes")
    assert (found.certificate, found.key, found.token) == (b"certificate", b"key", None)


def test_another_context_and_a_token() -> None:
    found = read(config(), "other")
    assert found is not None
    assert (found.server, found.ca, found.certificate, found.key) == ("https://other", None, None, None)
    assert found.token == StaticToken("Bearer abc")


def test_files_that_it_names(tmp_path: Path) -> None:
    """Found from the kubeconfig's directory, as minikube writes them with or without one of their own."""
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / name).write_text(name)
    cluster = {"server": "https://host", "certificate-authority": str(tmp_path / "ca.crt")}
    user = {"client-certificate": "me.crt", "client-key": "me.key"}
    found = read(config(cluster=cluster, user=user), directory=tmp_path)
    assert found is not None
    assert (found.ca, found.certificate, found.key) == (b"ca.crt", b"me.crt", b"me.key")
    (tmp_path / "me.key").unlink()
    assert read(config(cluster=cluster, user=user), directory=tmp_path) is None


def test_a_token_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    found = read(config(user={"tokenFile": "token"}), directory=tmp_path)
    assert found is not None
    assert found.token is not None
    assert run(found.token.authorization()) == "Bearer abc"


@pytest.mark.parametrize(("url", "proxy"), [("https://proxy", ProxyURL("https", "proxy", 443)), ("", None)])
def test_a_proxy(url: str, proxy: ProxyURL | None) -> None:
    found = read(config(cluster={**CLUSTER, "proxy-url": url}))
    assert found is not None
    assert found.proxy == proxy


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"",
        config(cluster={"server": "http://host"}),
        config(cluster={"server": 1}),
        config(cluster={}),
        config(cluster=[]),
        config(cluster={**CLUSTER, "insecure-skip-tls-verify": True}),
        config(cluster={**CLUSTER, "certificate-authority": "ca.crt"}),
        config(cluster={**CLUSTER, "proxy-url": "ftp://proxy"}),
        config(cluster={**CLUSTER, "proxy-url": 1}),
        config(cluster={**CLUSTER, "certificate-authority-data": "?"}),
        config(user={**USER, "exec": {"command": "x"}}),
        config(user={"client-certificate-data": b64("certificate")}),
        config(user={"client-key-data": b64("key")}),
        config(user={"tokenFile": "token"}),
        config(user={"token": "abc", "tokenFile": "token"}),
        config(user=None),
        config(users=[]),
        config(users=[{"name": "u", "user": USER}] * 2),
        config(contexts={}),
        config(**{"current-context": "z"}),
    ],
)
def test_all_else_is_left_to_the_reader(content: bytes) -> None:
    assert read(content) is None
