"""Kubernetes' own e2e specs, unmodified, on the built-in control plane: those that need no more than it serves.

``upstream/builtin.txt`` lists the specs that pass there. It may only grow: a listed spec that fails is a regression, and one
that passes without being listed has to be added.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import running
from tests.kubernetes.upstream import specs
from tests.kubernetes.upstream.program import build

pytestmark = [pytest.mark.kubernetes, pytest.mark.upstream]

LIST = Path(__file__).parent / "upstream" / "builtin.txt"
LISTED = LIST.read_text().splitlines()
TRIED = (
    (
        r"\[sig-api-machinery\] (Discovery|AggregatedDiscovery|FieldValidation|health handlers|OpenAPIV3|server version)",
        r"\[sig-auth\] (SubjectReview|SelfSubjectReview)",
    ),
    (
        r"\[sig-api-machinery\] (Namespaces|Server request timeout)",
        r"\[sig-auth\] ServiceAccounts",
        r"\[sig-instrumentation\] Events",
        r"\[sig-node\] (ConfigMap|Secrets|Lease) ",
        r"\[sig-network\] Services should (find a service|complete a service status|delete a collection)",
    ),
    (
        r"\[sig-api-machinery\] (Watchers|API Streaming|client-go should)",
        r"should return a 406 for a backend which does not implement metadata",
    ),
    (
        r"\[sig-api-machinery\] (CustomResourceDefinition|CustomResourceValidationRules|CRDValidationRatcheting)",
        r"\[sig-api-machinery\] ServerSideApply should work for CRDs",
        r"\[sig-api-machinery\] Garbage collector should support .* of custom resources",
    ),
    (r"\[sig-api-machinery\] CustomResourcePublishOpenAPI",),
)
"""Patterns of the specs that are tried: each tuple for a process of its own, since most of their time they wait."""
PODS = (
    "pods? ",
    "consumable",
    "mount",
    "opting out",
    "RunAsUser",
    "InClusterConfig",
    "ServiceAccountIssuer",
    "ALL of 100",
    "Flaky",
)
"""Of these, what needs nodes and pods, or minutes, or fails at times on kube-apiserver too."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, specs.Outcome]:
    """What became of each spec, by its whole text."""
    directory = tmp_path_factory.mktemp("upstream-builtin")
    program = build(print)
    parts = [directory / str(number) for number in range(len(TRIED))]
    for part in parts:
        part.mkdir()
    with running(directory / "state", "builtin") as control_plane, ThreadPoolExecutor(len(TRIED)) as pool:
        runs = list(
            pool.map(
                lambda focus, part: specs.run(program, control_plane, focus, part, skip=PODS),
                TRIED,
                parts,
            )
        )
    for run in runs:
        print(run.summary)  # noqa: T201 - Kubernetes' own verdict, for whoever reads the test run
    return {text: outcome for run in runs for text, outcome in run.outcomes.items()}


@pytest.mark.parametrize("spec", LISTED)
def test_passes(outcomes: dict[str, specs.Outcome], spec: str) -> None:
    outcome = outcomes.get(spec)
    assert outcome, "it did not run"
    assert outcome.state == "passed", outcome.message


def test_all_that_pass_are_listed(outcomes: dict[str, specs.Outcome]) -> None:
    """Sorted, so that two changes that add some seldom meet."""
    passed = {text for text, outcome in outcomes.items() if outcome.state == "passed"}
    new = sorted(passed - set(LISTED))
    assert not new, "\n".join([f"add to {LIST.name}:", *new])
    assert sorted(LISTED) == LISTED
