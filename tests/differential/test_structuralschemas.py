"""The short form of :mod:`tests.differential.structuralschemas`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential import structuralschemas, verdicts
from tests.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.needs("crd")


def test_objects_of_made_up_schemas_are_judged_alike(control_plane: ControlPlane, tmp_path: Path) -> None:
    with verdicts.asking(control_plane, tmp_path) as kube:
        problems, tally = structuralschemas.compared(300, 3, kube)
    assert [*problems, *map(str, tally.differences)] == []
    assert tally.total >= 250
