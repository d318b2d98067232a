"""Kubernetes' own e2e specs of webhooks about custom resources, unmodified, on kinds that ``extapi serve`` serves.

The definitions are kube-apiserver's, the objects are ours (``mirror.py``): so are the calls of the webhooks, whose
configurations and Services kube-apiserver has.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from extapi.dev.build import programs
from tests.kubernetes.control_plane import running
from tests.kubernetes.mirror import mirroring
from tests.kubernetes.upstream import specs
from tests.kubernetes.upstream.network import own_network
from tests.kubernetes.upstream.program import agnhost, build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

SPECS = (
    "should be able to convert a non homogeneous list of CRs",
    "should be able to convert from CR v1 to CR v2",
    "should be able to deny custom resource creation, update and deletion",
    "should mutate custom resource ",
    "should mutate custom resource with different stored version",
    "should mutate custom resource with pruning",
)
PARTS = (
    r"\[sig-api-machinery\] CustomResourceConversionWebhook",
    r"\[sig-api-machinery\] AdmissionWebhook .* custom resource",
)


@dataclass(frozen=True)
class Mirrored:
    """What became of each spec; the names of definitions; what the extension server has logged."""

    outcomes: Mapping[str, specs.Outcome]
    definitions: frozenset[str]
    log: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Mirrored:
    """All of them have run."""
    directory = tmp_path_factory.mktemp("upstream-mirrored")
    images, definitions, hosts = directory / "images", directory / "definitions", directory / "hosts"
    images.mkdir()
    definitions.mkdir()
    hosts.write_text("127.0.0.1 localhost\n")
    program = build(print)
    (images / "agnhost").symlink_to(agnhost(print))
    programs(print)
    parts = [directory / str(number) for number in range(len(PARTS))]
    for part in parts:
        part.mkdir()
    with (
        own_network(specs.ADDRESS, hosts=hosts),
        running(directory / "state", "kube", controllers=specs.CONTROLLERS) as control_plane,
        specs.node(program, control_plane, images, directory, flags=[f"--pod-hosts={hosts}"]),
        mirroring(control_plane, definitions) as mirror,
        ThreadPoolExecutor(len(parts)) as pool,
    ):
        runs = list(pool.map(lambda focus, part: specs.run(program, control_plane, [focus], part), PARTS, parts))
    for each in runs:
        print(each.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    outcomes = {text: outcome for each in runs for text, outcome in each.outcomes.items()}
    return Mirrored(outcomes, frozenset(mirror.definitions), mirror.log.read_text())


@pytest.mark.parametrize("spec", SPECS)
def test_passes(run: Mirrored, spec: str) -> None:
    found = [outcome for text, outcome in run.outcomes.items() if f"{spec.strip()} [" in text]
    assert found, "it did not run"
    assert found[0].state == "passed", found[0].message


def test_ours_was_asked(run: Mirrored) -> None:
    """Each spec has a definition of its own, and creates objects of it: the request log says where."""
    assert len(run.definitions) == len(SPECS)
    created = {line for line in run.log.splitlines() if '"POST"' in line}
    unasked = {name for name in run.definitions if not any(f"/{name.partition('.')[0]}" in line for line in created)}
    assert not unasked
