"""What the ``kubernetes`` package reads, in one process and as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from extapi.client import kubernetespackage
from extapi.client.kubernetespackage import MissingPackage, read_kubeconfig, require_kubernetes

CLUSTERS = """
clusters:
- {name: c, cluster: {server: "https://127.0.0.1:6443/", certificate-authority: ca.crt, tls-server-name: k}}
- {name: none, cluster: {}}
"""
USERS = """
users:
- {name: file, user: {tokenFile: token, as: anna}}
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "false"}}}
- {name: both, user: {token: secret, exec: {apiVersion: client.authentication.k8s.io/v1, command: "false"}}}
"""
CONTEXTS = """
contexts:
- {name: x, context: {cluster: c, user: file}}
- {name: nowhere, context: {cluster: none, user: file}}
- {name: plugin, context: {cluster: c, user: plugin}}
- {name: both, context: {cluster: c, user: both}}
current-context: x
"""


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Three files in three directories, as KUBECONFIG may name them, and one that is missing."""
    parts = {"clusters": CLUSTERS, "users": USERS, "contexts": CONTEXTS + "clusters: null\nusers: null\n"}
    for name, text in parts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config").write_text(f"kind: Config\n{text}")
    (tmp_path / "clusters" / "ca.crt").write_text("the authority")
    (tmp_path / "users" / "token").write_text("secret")
    return ":".join(str(tmp_path / name / "config") for name in ("missing", *parts))


def test_what_a_file_names_is_found_from_its_own_directory(files: str, tmp_path: Path) -> None:
    """As k8s.io/client-go/tools/clientcmd resolves paths (``ResolveLocalPaths``)."""
    found = read_kubeconfig(files, "")
    assert found.configuration.host == "https://127.0.0.1:6443"
    assert found.configuration.api_key == {"BearerToken": "Bearer secret"}
    assert Path(found.configuration.ssl_ca_cert).read_text() == "the authority"
    assert (found.token_file, found.expiry) == (tmp_path / "users" / "token", None)
    assert (found.cluster["tls-server-name"], found.user["as"]) == ("k", "anna")


def test_a_cluster_without_server_is_not_somewhere_else(files: str) -> None:
    """The package would take http://localhost."""
    assert read_kubeconfig(files, "nowhere").configuration.host == ""


def test_a_plugin_is_not_run_by_the_package(files: str) -> None:
    """Which would wait for it without end. Beside other credentials it counts for nothing, as for kubectl."""
    found = read_kubeconfig(files, "plugin")
    assert found.plugin == {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}
    assert "BearerToken" not in found.configuration.api_key
    assert read_kubeconfig(files, "both").plugin is None


def test_as_a_program_it_prints_what_a_server_needs(files: str, tmp_path: Path) -> None:
    program = [sys.executable, "-P", kubernetespackage.__file__]
    done = subprocess.run([*program, files, "x"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "server": "https://127.0.0.1:6443",
        "ca": "the authority",
        "certificate": None,
        "key": None,
        "authorization": "Bearer secret",
        "expiry": None,
        "token_file": str(tmp_path / "users" / "token"),
        "server_name": "k",
        "verify": True,
        "impersonates": True,
        "provider": False,
        "exec": None,
        "user": "file",
        "file": str(tmp_path / "users" / "config"),
        "cluster": {"server": "https://127.0.0.1:6443/", "certificate-authority": "ca.crt", "tls-server-name": "k"},
    }
    failed = subprocess.run([*program, files, "none"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "it has no context 'none'; it has: x, nowhere, plugin, both\n"


def test_as_a_program_it_imports_nothing_of_extapi(files: str) -> None:
    """That would double the time it takes."""
    script = "import runpy, sys; runpy.run_path(sys.argv[1]); print([n for n in sys.modules if n.startswith('extapi')])"
    done = subprocess.run(
        [sys.executable, "-c", script, kubernetespackage.__file__, files], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_package_that_is_missing_is_named_with_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    require_kubernetes("extapi doctor")
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(
        MissingPackage, match=r"^extapi doctor needs the Python package 'kubernetes'.*extapi\[kubeconfig\]"
    ):
        require_kubernetes("extapi doctor")
