"""Kubernetes' own e2e specs of admission webhooks, admission policies and conversion webhooks, unmodified, on kube-apiserver.

They deploy a webhook server, the image agnhost; ``upstream/`` plays the node on which its own program runs. This is the
baseline of what these specs come to here; ``test_upstream_builtin.py`` has those that the built-in control plane passes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from extapi.dev.build import programs
from tests.kubernetes.control_plane import running
from tests.kubernetes.upstream import specs
from tests.kubernetes.upstream.network import own_network
from tests.kubernetes.upstream.program import agnhost, build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

CONTROLLERS = (*specs.CONTROLLERS, "validatingadmissionpolicy-status-controller")
"""The last one type-checks policies."""
LISTED = (Path(__file__).parent / "upstream" / "admission.txt").read_text().splitlines()
PARTS = (
    r"\[sig-api-machinery\] AdmissionWebhook .*(deny|fail closed)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(should mutate (config|custom|every)|not be able to mutate)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(discovery|patching|listing)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(match conditions|timeout|defaults after)",
    r"\[sig-api-machinery\] (ValidatingAdmissionPolicy|MutatingAdmissionPolicy|CustomResourceConversionWebhook)",
)
"""Patterns of the specs, each for a process of its own, since most of their time they wait."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, specs.Outcome]:
    """What became of each spec, by its whole text."""
    directory = tmp_path_factory.mktemp("upstream-admission")
    images = directory / "images"
    images.mkdir()
    # Before the network has gone, which a compiler may need.
    program = build(print)
    (images / "agnhost").symlink_to(agnhost(print))
    programs(print)
    parts = [directory / str(number) for number in range(len(PARTS))]
    for part in parts:
        part.mkdir()
    with (
        own_network(specs.ADDRESS),
        running(directory / "state", "kube", flags=specs.FLAGS, controllers=CONTROLLERS) as control_plane,
        specs.node(program, control_plane, images, directory),
        ThreadPoolExecutor(len(PARTS)) as pool,
    ):
        runs = list(pool.map(lambda focus, part: specs.run(program, control_plane, [focus], part), PARTS, parts))
    for run in runs:
        print(run.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    return {text: outcome for run in runs for text, outcome in run.outcomes.items()}


@pytest.mark.parametrize("spec", LISTED)
def test_passes(outcomes: dict[str, specs.Outcome], spec: str) -> None:
    outcome = outcomes.get(spec)
    assert outcome, "it did not run"
    assert outcome.state == "passed", outcome.message


def test_none_is_left_out(outcomes: dict[str, specs.Outcome]) -> None:
    assert sorted(outcomes) == LISTED
