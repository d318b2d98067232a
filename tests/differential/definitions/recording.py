"""Records what kube-apiserver says of the new definitions, for tests that have none: ``python -m`` this module.

It starts the real control plane, and writes the messages of the refusals; null is for definitions that are accepted.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.differential.definitions import names, schemas
from tests.differential.definitions.ours import neutral
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MANIFESTS = {**names.CASES, **schemas.CASES}
FILE = Path(__file__).parents[2] / "unit" / "crd" / "validation" / "messages.json"


def caller(control_plane: ControlPlane, directory: Path) -> Caller:
    """The administrator, at the control plane."""
    keys = control_plane.certificates
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    return Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))


def answer_to(call: Caller, name: str) -> dict[str, Any] | None:
    """The Status that refuses the definition of a case; None if it is accepted."""
    answer = call("POST", f"{PATH}?dryRun=All&fieldValidation=Ignore", MANIFESTS[name])
    found: dict[str, Any] | None = None if answer.status == 201 else neutral(answer.json)
    return found


def recorded() -> dict[str, str | None]:
    """The messages, by the names of the cases."""
    found: dict[str, str | None] = json.loads(FILE.read_text())
    return found


def main() -> None:
    """Record all."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        with running(directory / "control-plane", "kube") as control_plane:
            call = caller(control_plane, directory)
            answers = {name: answer_to(call, name) for name in MANIFESTS}
    messages = {name: answer and answer["message"] for name, answer in answers.items()}
    FILE.write_text(json.dumps(messages, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
