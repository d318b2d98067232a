"""The short form of :mod:`tests.differential.appliedversions`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential import appliedversions, verdicts
from tests.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.needs("crd")


def test_applies_through_several_versions_leave_the_same_objects(control_plane: ControlPlane, tmp_path: Path) -> None:
    with verdicts.asking(control_plane, tmp_path) as kube:
        run = appliedversions.play(kube, steps=500, seed="4", each=12)
    assert run.differences == []
    assert run.steps >= 500
    assert run.codes["PATCH 200"] > run.steps / 2
