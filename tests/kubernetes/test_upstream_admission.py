"""Kubernetes' own e2e specs of admission webhooks, admission policies and conversion webhooks, unmodified.

They deploy a webhook server, the image agnhost; ``upstream/`` plays the node on which its own program runs. On
kube-apiserver all of them pass, which is the baseline. The built-in control plane has no Deployments, and so gets those of
an extension server (``workloads.py``): that one reviews writes of these, the control plane all others.
``upstream/admission.txt`` lists the specs, and what they need that not every control plane has.
"""

from __future__ import annotations

import re
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
LACKS = frozenset({"Pods"})
"""What specs need that is not there on the built-in control plane, or in the extension server beside it."""
_LINES = (Path(__file__).parent / "upstream" / "admission.txt").read_text().splitlines()
NEEDS: Mapping[str, frozenset[str]] = {
    spec: frozenset(needs.split(", ")) - {""} for spec, _, needs in (line.partition(" # ") for line in _LINES)
}
"""The specs, and what each needs besides conversion webhooks."""
LISTED = {"kube": list(NEEDS), "builtin": [spec for spec, needs in NEEDS.items() if not needs & LACKS]}
PARTS = (
    r"\[sig-api-machinery\] AdmissionWebhook .*(deny|fail closed)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(should mutate (config|custom|every)|not be able to mutate)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(discovery|patching|listing)",
    r"\[sig-api-machinery\] AdmissionWebhook .*(match conditions|timeout|defaults after)",
    r"\[sig-api-machinery\] (ValidatingAdmissionPolicy|MutatingAdmissionPolicy|CustomResourceConversionWebhook) ",
)
"""Patterns of the specs, each for a process of its own, since most of their time they wait."""


_ran: dict[str, dict[str, specs.Outcome]] = {}
"""What has run already, by control plane: in a random order, the tests of one come between those of the other."""


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, specs.Outcome]:
    """What became of each spec on a control plane, by its whole text."""
    plane: str = request.param
    if plane not in _ran:
        _ran[plane] = _run(plane, tmp_path_factory)
    return _ran[plane]


def _run(plane: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, specs.Outcome]:
    """Run all specs on a control plane."""
    directory = tmp_path_factory.mktemp("upstream-admission")
    images = directory / "images"
    images.mkdir()
    # Before the network has gone, which a compiler may need.
    program = build(print)
    (images / "agnhost").symlink_to(agnhost(print))
    programs(print)
    listed = LISTED[plane]
    parts = {pattern: directory / str(number) for number, pattern in enumerate(PARTS) if _any(pattern, listed)}
    for part in parts.values():
        part.mkdir()
    aggregated = plane == "builtin"
    with (
        own_network(specs.ADDRESS),
        _control_plane(directory / "state", plane) as control_plane,
        specs.node(program, control_plane, images, directory, flags=["--pod-workloads"] if aggregated else []),
        ThreadPoolExecutor(len(parts)) as pool,
    ):
        one = partial(
            specs.run,
            program,
            control_plane,
            # Kinds of ours have no protobuf.
            flags=["--kube-api-content-type=application/json"] if aggregated else [],
            skip=[re.escape(spec) for spec in NEEDS if spec not in listed],
        )
        runs = list(pool.map(lambda focus, part: one([focus], part), parts, parts.values()))
    for each in runs:
        print(each.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    return {text: outcome for each in runs for text, outcome in each.outcomes.items()}


def _any(pattern: str, listed: list[str]) -> bool:
    return any(re.search(pattern, spec) for spec in listed)


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
def test_none_is_left_out(run: dict[str, specs.Outcome], listed: list[str]) -> None:
    """Also none of those that a new release of Kubernetes brings."""
    assert sorted(run) == sorted(listed)
