"""A definition whose objects move to an extension server, the objects, and the server on its own process.

``python -m tests.kubernetes.moving DIRECTORY COMMAND...`` starts a server in the background, waits until it is ready, and
notes its process id in DIRECTORY: what an operator gives to ``extapi import --start``.
"""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extapi import Api, Group
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.dev.ports import LOOPBACK
from tests.kubernetes.control_plane import ControlPlane
from tests.waiting import until

GROUP = "moving.example.com"
VERSIONS = ("v1", "v1beta1")
PLURAL = "crates"
KIND = "Crate"
NAME = f"{PLURAL}.{GROUP}"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A crate.",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "step": {"type": "integer"},
                "writer": {"type": "string"},
                "note": {"type": "string", "default": "fragile"},
                "parts": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"weighed": {"type": "integer"}}},
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "crate", "kind": KIND, "listKind": f"{KIND}List"},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == VERSIONS[0],
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
            for name in VERSIONS
        ],
    },
}


def crates(namespace: str, name: str = "", version: str = VERSIONS[0]) -> str:
    """The path of the collection in a namespace, or of one object."""
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/{PLURAL}" + (f"/{name}" if name else "")


def crate(name: str, step: int, writer: str = "", **metadata: Any) -> dict[str, Any]:
    """A crate with the number of the write that made it."""
    spec = {"step": step, "writer": writer, "parts": {"weight": 1.5, "list": [{"a": None}, 2]}}
    return {"apiVersion": f"{GROUP}/{VERSIONS[0]}", "kind": KIND, "metadata": {"name": name, **metadata}, "spec": spec}


api = Api(Group(GROUP, kind_of(Definition(DEFINITION))))
"""The definition as the extension server has it, for tests in memory."""


def serve_command(control_plane: ControlPlane, manifest: Path, storage: str, port: int) -> list[str]:
    """The command line of the extension server of the definition in a file."""
    keys = control_plane.certificates
    kubeconfig = control_plane.cluster.write_kubeconfig("extension-client")
    return [
        sys.executable,
        "-m",
        "extapi",
        "serve",
        f"--crd={manifest}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={keys.certificate('extension-server')}",
        f"--tls-private-key-file={keys.key('extension-server')}",
        f"--kubeconfig={kubeconfig}",
        f"--storage={storage}",
    ]


def stop(directory: Path) -> None:
    """End the server that was started in this directory, if there is one, and wait until it has ended."""
    note = directory / "pid"
    if note.exists():
        pid = int(note.read_text())
        note.unlink()
        os.kill(pid, signal.SIGTERM)
        until(lambda: not _runs(pid), 40)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def main(directory: Path, command: Sequence[str]) -> None:
    """Start the server; return when it is ready."""
    with (directory / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    (directory / "pid").write_text(str(process.pid))
    port = next(word.partition("=")[2] for word in command if word.startswith("--secure-port="))
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE

    def ready() -> bool:
        assert process.poll() is None, (directory / "server.log").read_text()
        try:
            with urllib.request.urlopen(f"https://localhost:{port}/readyz", context=anyone, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    until(ready, 60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
