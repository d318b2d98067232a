"""Credentials of a pod, and tokens that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extapi.client.credentials import (
    LARGEST_TOKEN,
    Credentials,
    CredentialsError,
    FileToken,
    StaticToken,
    in_cluster,
)
from extapi.client.proxy import ProxyURL
from tests.unit.client.building import now, run


def _pod(root: Path) -> Path:
    (root / "token").write_text("t1\n")
    (root / "ca.crt").write_bytes(b"CA")
    (root / "namespace").write_text("pizza-system\n")
    return root


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_in_cluster(tmp_path: Path, host: str, server: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    credentials = in_cluster(now(), environ, _pod(tmp_path))
    assert (credentials.server, credentials.ca) == (server, b"CA")
    assert credentials.token is not None
    assert run(credentials.token.authorization()) == "Bearer t1"


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({"HTTPS_PROXY": "http://proxy:3128"}, ProxyURL("http", "proxy", 3128)),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".svc,10.0.0.0/8"}, None),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
    ],
)
def test_in_cluster_through_a_proxy(tmp_path: Path, variables: dict[str, str], proxy: ProxyURL | None) -> None:
    """As with client-go, the environment is asked there too: rest.InClusterConfig says nothing of a proxy."""
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", **variables}
    assert in_cluster(now(), environ, _pod(tmp_path)).proxy == proxy


def test_in_cluster_with_a_variable_that_names_no_proxy(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "https_proxy": "x://me:hush@y"}
    with pytest.raises(CredentialsError, match="variable https_proxy has an unsupported scheme") as caught:
        in_cluster(now(), environ, _pod(tmp_path))
    assert "hush" not in str(caught.value)


def test_the_token_is_read_again_every_minute(tmp_path: Path) -> None:
    clock: Any = now()
    token = FileToken(_pod(tmp_path) / "token", clock)
    assert run(token.authorization()) == "Bearer t1"
    (tmp_path / "token").write_text("t2")
    clock.advance(59)
    assert run(token.authorization()) == "Bearer t1"
    clock.advance(1)
    assert run(token.authorization()) == "Bearer t2"
    (tmp_path / "token").unlink()
    clock.advance(60)
    assert run(token.authorization()) == "Bearer t2"
    (tmp_path / "token").write_text(" ")
    clock.advance(60)
    assert run(token.authorization()) == "Bearer t2"


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    """As cachingTokenSource.ResetTokenOlderThan; while the file cannot be read, the refused one is used on."""
    clock: Any = now()
    token = FileToken(_pod(tmp_path) / "token", clock)
    assert run(token.authorization()) == "Bearer t1"
    (tmp_path / "token").write_text("t2")
    token.refused("Bearer t0")  # of a request that took its time
    assert run(token.authorization()) == "Bearer t1"
    token.refused("Bearer t1")
    assert run(token.authorization()) == "Bearer t2"
    (tmp_path / "token").unlink()
    token.refused("Bearer t2")
    assert run(token.authorization()) == "Bearer t2"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"t" * (LARGEST_TOKEN + 1), f"it has more than {LARGEST_TOKEN} bytes"),
        (b"one\ntwo", "it holds no token, but characters that cannot be in a header"),
        (b"\xff", "utf-8"),
    ],
)
def test_a_file_that_holds_no_token(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(CredentialsError, match=f"^cannot read the token file {tmp_path}/token: .*{why}"):
        run(FileToken(tmp_path / "token", now()).authorization())


def test_no_token_at_all(tmp_path: Path) -> None:
    token = FileToken(tmp_path / "token", now())
    with pytest.raises(CredentialsError, match="cannot read the token file"):
        run(token.authorization())
    (tmp_path / "token").write_text("")
    with pytest.raises(CredentialsError, match="is empty"):
        run(token.authorization())


@pytest.mark.parametrize("missing", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_not_in_a_cluster(tmp_path: Path, missing: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
    del environ[missing]
    with pytest.raises(CredentialsError, match="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"):
        in_cluster(now(), environ, _pod(tmp_path))


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_pod_without_its_files(tmp_path: Path, missing: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
    (_pod(tmp_path) / missing).unlink()
    with pytest.raises(CredentialsError, match=f"unable to load in-cluster configuration: .*{missing}"):
        in_cluster(now(), environ, tmp_path)


def test_secrets_are_not_printed() -> None:
    credentials = Credentials("https://x", key=b"secret", token=StaticToken("Bearer secret"))
    assert "secret" not in repr(credentials)
    assert "secret" not in repr(StaticToken("secret"))
