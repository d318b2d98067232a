"""Kubernetes' own e2e specs of the aggregator, unmodified, with the wardle example in the place of sample-apiserver.

They register the server as a Deployment with a Service, so that ``upstream/`` has to play kubelet; its arguments, the
probe, the Secret with its certificate and its rights are the specs'.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from extapi.dev.build import programs
from tests.kubernetes.control_plane import running
from tests.kubernetes.upstream import specs
from tests.kubernetes.upstream.network import own_network
from tests.kubernetes.upstream.program import build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

# All but one of those that start a server behind the aggregator. Left out is "clients remain compatible with the 1.17
# sample-apiserver", where clients prefer CBOR: at its end it sends an object without apiVersion and kind, which typed
# APIs accept; those of custom resources do not, and neither does ours.
SPECS = (
    "Should be able to support the 1.17 Sample API Server using the current Aggregator",  # Conformance
    "should contain OpenAPI V3 for Aggregated APIServer",
)

_EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> specs.Run:
    """All of them have run. Ginkgo's summary is printed; pytest shows it with ``-rP``."""
    directory = tmp_path_factory.mktemp("upstream")
    images = directory / "images"
    images.mkdir()
    wardle = images / "sample-apiserver"
    # Of etcd, the other container, the server has no need.
    wardle.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(_EXAMPLES))} exec {sys.executable} -m wardle "$@"\n')
    wardle.chmod(0o700)
    # Before the network has gone, which a compiler may need.
    program = build(print)
    programs(print)
    with (
        own_network(specs.ADDRESS),
        running(directory / "state", "kube", flags=specs.FLAGS, controllers=specs.CONTROLLERS) as control_plane,
    ):
        finished = specs.run(program, control_plane, map(re.escape, SPECS), directory, images=images)
    print(finished.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    return finished


@pytest.mark.parametrize("spec", SPECS)
def test_passes(run: specs.Run, spec: str) -> None:
    outcome = next((outcome for text, outcome in run.outcomes.items() if spec in text), None)
    assert outcome, f"it did not run\n{run.output}"
    assert outcome.state == "passed", f"{outcome.message}\n{run.output}\n{run.pods}"
