"""What is read at once, and what is left to the ``kubernetes`` package."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from extapi.client.credentials import StaticToken
from extapi.client.plainkubeconfig import plain_credentials
from extapi.client.proxy import Proxy


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


def test_everything_in_the_file() -> None:
    found = plain_credentials(config(), "")
    assert found is not None
    assert (found.server, found.ca, found.server_name) == ("https://host:6443", b"ca", "kubernetes")
    assert (found.certificate, found.key, found.token) == (b"certificate", b"key", None)


def test_another_context_and_a_token() -> None:
    found = plain_credentials(config(), "other")
    assert found is not None
    assert (found.server, found.ca, found.certificate, found.key) == ("https://other", None, None, None)
    assert found.token == StaticToken("Bearer abc")


@pytest.mark.parametrize(("url", "proxy"), [("https://proxy", Proxy("https", "proxy", 443)), ("", None)])
def test_a_proxy(url: str, proxy: Proxy | None) -> None:
    found = plain_credentials(config(cluster={**CLUSTER, "proxy-url": url}), "")
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
        config(user={"tokenFile": "token"}),
        config(user=None),
        config(users=[]),
        config(users=[{"name": "u", "user": USER}] * 2),
        config(contexts={}),
        config(**{"current-context": "z"}),
    ],
)
def test_all_else_is_left_to_the_reader(content: bytes) -> None:
    assert plain_credentials(content, "") is None
