"""A definition's objects move to an extension server and back, on the real kube-apiserver, while others write and watch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes import golang
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.takeover import Ground, take_over

pytestmark = [pytest.mark.kubernetes, pytest.mark.needs("crd")]

OBJECTS = 300
WRITES = 60
LISTS = 2
"""How often an informer lists: kube-apiserver ends its watches when it drains, and once more when reads have moved."""


@pytest.fixture
def ground(
    control_plane: ControlPlane, extension_server: ExtensionServer, admin: Caller, namespace: str, tmp_path: Path
) -> Iterator[Ground]:
    """Where it happens; the first extension server has made the Service."""
    made = Ground(control_plane, admin, namespace, tmp_path)
    yield made
    made.clear()


def test_no_acknowledged_write_is_lost(ground: Ground) -> None:
    result = take_over(ground, golang.informer(), objects=OBJECTS, writes=WRITES)
    print(result)  # noqa: T201 - shown with -s
    assert 1 <= result.listings <= LISTS
