"""Kubernetes' own e2e specs of admission webhooks, admission policies and conversion webhooks, unmodified.

They deploy a webhook server, the image agnhost; ``upstream/`` plays the node on which its own program runs. On
kube-apiserver all of them pass, which is the baseline. The built-in control plane has no Deployments, and so gets those of
an extension server (``workloads.py``): writes of these are reviewed by that, all other ones by the control plane.
``upstream/admission.txt`` lists the specs, and for each one that does not pass on the built-in control plane why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from extapi.dev.build import programs
from tests.kubernetes.control_plane import ControlPlane, add_extension_server, running
from tests.kubernetes.upstream import specs
from tests.kubernetes.upstream.network import own_network
from tests.kubernetes.upstream.program import agnhost, build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

CONTROLLERS = (*specs.CONTROLLERS, "validatingadmissionpolicy-status-controller")
"""The last one type-checks policies."""
_LINES = (Path(__file__).parent / "upstream" / "admission.txt").read_text().splitlines()
LACKING: Mapping[str, str] = {spec: why for spec, _, why in (line.partition(" # ") for line in _LINES)}
"""The specs, and why each does not pass on the built-in control plane; empty if it does."""
LISTED = {"kube": list(LACKING), "builtin": [spec for spec, why in LACKING.items() if not why]}
PARTS = {
    "kube": (
        r"\[sig-api-machinery\] AdmissionWebhook .*(deny|fail closed)",
        r"\[sig-api-machinery\] AdmissionWebhook .*(should mutate (config|custom|every)|not be able to mutate)",
        r"\[sig-api-machinery\] AdmissionWebhook .*(discovery|patching|listing)",
        r"\[sig-api-machinery\] AdmissionWebhook .*(match conditions|timeout|defaults after)",
        r"\[sig-api-machinery\] (ValidatingAdmissionPolicy|MutatingAdmissionPolicy|CustomResourceConversionWebhook)",
    ),
    "builtin": (r"\[sig-api-machinery\] CustomResourceConversionWebhook",),
}
"""Patterns of the specs that are tried, each for a process of its own, since most of their time they wait."""
WITHOUT_PODS = ("pod ", "pod$")
"""What the built-in control plane has no Pods for."""


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, specs.Outcome]:
    """What became of each spec on a control plane, by its whole text."""
    plane: str = request.param
    directory = tmp_path_factory.mktemp("upstream-admission")
    images = directory / "images"
    images.mkdir()
    # Before the network has gone, which a compiler may need.
    program = build(print)
    (images / "agnhost").symlink_to(agnhost(print))
    programs(print)
    parts = [directory / str(number) for number in range(len(PARTS[plane]))]
    for part in parts:
        part.mkdir()
    aggregated = plane == "builtin"
    flags = ["--pod-workloads"] if aggregated else []
    with (
        own_network(specs.ADDRESS),
        _control_plane(directory / "state", plane) as control_plane,
        specs.node(program, control_plane, images, directory, flags=flags),
        ThreadPoolExecutor(len(parts)) as pool,
    ):
        one = partial(
            specs.run,
            program,
            control_plane,
            # Kinds of ours have no protobuf.
            flags=["--kube-api-content-type=application/json"] if aggregated else [],
            skip=WITHOUT_PODS if aggregated else [],
        )
        runs = list(pool.map(lambda focus, part: one([focus], part), PARTS[plane], parts))
    for each in runs:
        print(each.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    return {text: outcome for each in runs for text, outcome in each.outcomes.items()}


@contextmanager
def _control_plane(state: Path, plane: str) -> Iterator[ControlPlane]:
    if plane == "kube":
        with running(state, plane, flags=specs.FLAGS, controllers=CONTROLLERS) as control_plane:
            yield control_plane
        return
    with running(state, plane) as control_plane:
        add_extension_server(control_plane, "tests.kubernetes.workloads:api")
        yield control_plane


@pytest.mark.parametrize(
    ("run", "spec"),
    [pytest.param(plane, spec, id=f"{plane}-{spec}") for plane, listed in LISTED.items() for spec in listed],
    indirect=["run"],
    scope="module",
)
def test_passes(run: dict[str, specs.Outcome], spec: str) -> None:
    outcome = run.get(spec)
    assert outcome, "it did not run"
    assert outcome.state == "passed", outcome.message


@pytest.mark.parametrize(
    ("run", "listed"), [pytest.param(*each, id=each[0]) for each in LISTED.items()], indirect=["run"], scope="module"
)
def test_all_that_pass_are_listed(run: dict[str, specs.Outcome], listed: list[str]) -> None:
    assert sorted(text for text, outcome in run.items() if outcome.state == "passed") == sorted(listed)
