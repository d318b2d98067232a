"""The short form of :mod:`tests.differential.realkinds`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential import projects, realkinds, verdicts
from tests.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.needs("crd")

SHORT = ("argo-cd", "cert-manager", "flux", "karpenter", "keda")
"""Small ones; the others come with the long form."""


@pytest.mark.parametrize("project", SHORT)
def test_definitions_and_objects_are_judged_alike(control_plane: ControlPlane, tmp_path: Path, project: str) -> None:
    found = projects.manifests(project)
    with verdicts.asking(control_plane, tmp_path) as kube:
        problems, tally = realkinds.compared(found, 6, 1, kube)
    assert [*problems, *map(str, tally.differences)] == []
    assert tally.total >= 6 * len(found)
