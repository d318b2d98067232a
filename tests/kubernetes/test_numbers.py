"""No number keeps Go clients from reading a collection: not one that is sent, nor one that an earlier server has stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes import second
from tests.kubernetes.apis import probes as api
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.second import SecondServer
from tests.waiting import until

FAR = "1" + "0" * 400
"""No float64 holds it, so that no client written in Go decodes it."""
PLACEHOLDER = "123454321"
GROUP = api.groups[0].name
PROBES = f"probes.{GROUP}"
VALUES = {
    f"out-{number}": value
    for number, value in enumerate(
        [FAR, f"-{FAR}", "1e400", "18446744073709551616", "123456789012345678901234567890", "1e300", "-0.0"]
    )
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "probes.sqlite"


@pytest.fixture
def probes(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path, store: Path
) -> Iterator[SecondServer]:
    """A server of a kind that preserves whatever is sent."""
    with second.running(control_plane, "tests.kubernetes.apis:probes", tmp_path, f"sqlite:///{store}") as server:
        yield server


def body(name: str, value: str) -> str:
    spec = f'{{"size":1,"free":{{"x":{value}}}}}'
    return f'{{"apiVersion":"{GROUP}/v1","kind":"Probe","metadata":{{"name":"{name}"}},"spec":{spec}}}'


def read_and_deleted(kubectl: Kubectl, namespace: str) -> list[str]:
    """The names that kubectl finds, before it deletes them all."""

    def listed(form: str) -> str:
        return kubectl("-n", namespace, "get", PROBES, "-o", form)

    names = [item["metadata"]["name"] for item in json.loads(listed("json"))["items"]]
    assert all(name in listed("wide") for name in names)
    assert all(f"name: {name}\n" in listed("yaml") for name in names)
    for name in names:
        kubectl("-n", namespace, "label", PROBES, name, "seen=yes")
    kubectl("-n", namespace, "delete", PROBES, "--all")
    assert listed("name") == ""
    return names


def test_a_number_that_is_sent_is_refused_or_can_be_read(
    control_plane: ControlPlane, probes: SecondServer, kubectl: Kubectl, namespace: str
) -> None:
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/probes"
    made = {}
    for name, value in {"good": "1", **VALUES}.items():
        sent = kubectl.run("create", "--raw", path, "-f", "-", stdin=body(name, value))
        made[name] = sent.returncode == 0 or sent.stderr
    refusal = "cannot unmarshal number {} into Go value of type float64"
    assert [made.pop(name) for name in ("good", "out-3", "out-4", "out-5", "out-6")] == [True] * 5
    for name, told in made.items():
        assert refusal.format(VALUES[name]) in str(told)
    patch = f'{{"spec":{{"free":{{"x":{FAR}}}}}}}'
    patched = kubectl.run("-n", namespace, "patch", PROBES, "good", "--type=merge", "-p", patch)
    assert patched.returncode != 0
    assert read_and_deleted(kubectl, namespace) == ["good", "out-3", "out-4", "out-5", "out-6"]


def test_a_number_that_is_stored_can_be_read(
    control_plane: ControlPlane, probes: SecondServer, kubectl: Kubectl, namespace: str, store: Path
) -> None:
    """Records as earlier servers wrote them, which kept integers of any length."""
    for name in ("good", "old"):
        kubectl("-n", namespace, "create", "-f", "-", stdin=body(name, PLACEHOLDER if name == "old" else "1"))
    probes.stop()
    with sqlite3.connect(store) as database:
        spoilt = (
            "UPDATE log SET value = CAST(replace(CAST(value AS TEXT), ?, ?) AS BLOB) WHERE CAST(value AS TEXT) LIKE ?"
        )
        assert database.execute(spoilt, (PLACEHOLDER, FAR, f"%{PLACEHOLDER}%")).rowcount == 1
    database.close()
    probes.start()
    until(lambda: kubectl.run("-n", namespace, "get", PROBES).returncode == 0)
    assert read_and_deleted(kubectl, namespace) == ["good", "old"]
