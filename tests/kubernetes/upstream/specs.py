"""One run of Kubernetes' e2e specs against a control plane, and what each of them came to."""

from __future__ import annotations

import json
import re
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.dev.processes import Processes
from tests.kubernetes.control_plane import ControlPlane

ADDRESS = "203.0.113.1"
"""Of the node; its pods have the next ones. One of TEST-NET-3 (RFC 5737), so that it is nobody's."""
FLAGS = ("--enable-aggregator-routing=true",)
"""kube-apiserver connects to the addresses in EndpointSlices, since no kube-proxy makes a Service's address work."""
CONTROLLERS = ("deployment-controller", "replicaset-controller", "endpointslice-controller")
"""What turns a Deployment into pods and pods into addresses; the program plays the rest."""
_LIMIT = 600
"""Seconds for all specs; each takes less than ten when nothing is wrong, and gives up after one to five minutes."""


@dataclass(frozen=True)
class Outcome:
    """What became of a spec: ``passed``, ``failed``, ... as ginkgo calls it, and why if it failed."""

    state: str
    message: str


@dataclass(frozen=True)
class Run:
    """What a run of the program left."""

    outcomes: dict[str, Outcome]
    """By the whole text of the spec, with those of its containers. Those that were not asked for are left out."""
    output: str
    """Ginkgo's, and the hollow kubelet's log between it."""
    pods: str
    """The logs of all containers."""

    @property
    def summary(self) -> str:
        """Ginkgo's own: how many ran, how long, how many passed. Empty if it did not get that far."""
        found = re.search(r"^Ran \d+ of .*\n.*$", self.output, re.MULTILINE)
        return found.group() if found else ""


def run(
    program: Path,
    control_plane: ControlPlane,
    focus: Iterable[str],
    directory: Path,
    *,
    skip: Iterable[str] = (),
    images: Path | None = None,
    flags: Iterable[str] = (),
) -> Run:
    """Run the specs whose text matches one of the patterns ``focus`` and none of ``skip``.

    :param directory: takes what the pods leave.
    :param images: holds the programs that stand in for container images, by the names of those; without it no kubelet is
        played.
    :param flags: further ones of e2e.test.
    """
    report = directory / "report.json"
    processes = Processes(directory)
    child = processes.start(
        "specs",
        [
            str(program),
            f"--kubeconfig={control_plane.kubeconfig}",
            "--provider=skeleton",
            "--dump-logs-on-failure=false",  # of nodes
            f"--kubectl-path={Path(sysconfig.get_path('scripts')) / 'kubectl'}",
            *(_kubelet(images, directory) if images else ()),
            *flags,
            "--ginkgo.v",
            "--ginkgo.no-color",
            f"--ginkgo.timeout={_LIMIT}s",
            f"--ginkgo.json-report={report}",
            *(f"--ginkgo.focus={pattern}" for pattern in focus),
            *(f"--ginkgo.skip={pattern}" for pattern in skip),
        ],
        directory=directory,
    )
    try:
        child.process.wait(_LIMIT + 60)
    finally:
        processes.stop()
    found = outcomes(json.loads(report.read_text())) if report.exists() else {}
    return Run(found, child.log.read_text(), _logs(directory))


@contextmanager
def node(
    program: Path, control_plane: ControlPlane, images: Path, directory: Path, *, flags: Iterable[str] = ()
) -> Iterator[None]:
    """A node for specs that run in several other processes; the parameters are those of :func:`run`."""
    processes = Processes(directory)
    only = [f"--kubeconfig={control_plane.kubeconfig}", "--provider=skeleton", "--pods-only", *flags]
    processes.start("node", [str(program), *only, *_kubelet(images, directory)], directory=directory)
    try:
        yield
        processes.check()
    finally:
        processes.stop()


def _kubelet(images: Path, directory: Path) -> list[str]:
    return [f"--pod-images={images}", f"--pod-directory={directory / 'pods'}", f"--pod-address={ADDRESS}"]


def _logs(directory: Path) -> str:
    """What all containers have said."""
    logs = sorted((directory / "pods").glob("*/*.log"))
    return "".join(f"\n{log.name}:\n{log.read_text()}" for log in logs)


def outcomes(report: list[dict[str, Any]]) -> dict[str, Outcome]:
    """What a report of ginkgo (``--json-report``) says of each spec that ran."""
    found = {}
    for suite in report:
        for spec in suite["SpecReports"]:
            if spec["LeafNodeType"] == "It" and spec["State"] != "skipped":
                text = " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])
                found[text] = Outcome(spec["State"], spec.get("Failure", {}).get("Message", ""))
    return found
