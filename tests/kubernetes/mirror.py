"""Custom resources that an extension server of ours serves in kube-apiserver's place, from the moment they are defined.

An admission webhook of CustomResourceDefinitions hands each to ``extapi serve --crd`` and registers its versions before
kube-apiserver stores it. kube-apiserver leaves the APIServices of others alone, so every request for the kind comes to us.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extapi.dev import extension, ports, registration
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.second import APISERVICES
from tests.waiting import until
from tests.webhooks.admission import review
from tests.webhooks.answers import http
from tests.webhooks.server import Call, certified, serving

_CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/mirror"


class Mirror:
    """``definitions``: the names of all that have been served so far; ``log``: that of the extension server."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._plane = control_plane
        self._directory = directory
        self.definitions: set[str] = set()
        self.log = control_plane.state.logs / "extension-server.log"
        self._port = ports.choose(0, "--serve-port")
        keys = control_plane.certificates
        self._bundle = base64.b64encode(keys.certificate("serving-ca").read_bytes()).decode()
        registration.authorize(control_plane.client)
        path = f"/api/v1/namespaces/{registration.NAMESPACE}/services/{registration.SERVICE}"
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": registration.SERVICE, "namespace": registration.NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        control_plane.client.apply(path, service)
        extension.start(
            "",
            port=self._port,
            storage="memory:",
            kubeconfig=control_plane.cluster.write_kubeconfig("extension-client"),
            certificates=keys,
            processes=control_plane.processes,
            crds=[directory],
        )

    def reviewed(self, call: Call) -> bytes:
        """The answer to a review: yes, once the definition is served here, or no longer."""
        request = call.review["request"]
        definition = request["object"] or request["oldObject"]
        file = self._directory / f"{request['name']}.json"
        if request["operation"] == "DELETE":
            file.unlink(missing_ok=True)
            for name in _versions(definition):
                self._plane.client.delete(f"{APISERVICES}/{name}")
        elif not definition["metadata"].get("deletionTimestamp"):
            self._serve(file, definition)
        return http(json.dumps(review(call)))

    def _serve(self, file: Path, definition: dict[str, Any]) -> None:
        kept = {key: definition["metadata"][key] for key in ("name", "annotations") if key in definition["metadata"]}
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps({**definition, "metadata": kept, "status": {}}))
        unfinished.rename(file)
        self.definitions.add(kept["name"])
        for name in _versions(definition):
            version, _, group = name.partition(".")
            spec = {
                "group": group,
                "version": version,
                "service": {"namespace": registration.NAMESPACE, "name": registration.SERVICE, "port": self._port},
                "caBundle": self._bundle,
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
            }
            obj = {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name},
                "spec": spec,
            }
            self._plane.client.apply(f"{APISERVICES}/{name}", obj)
            path = f"/apis/{group}/{version}"
            until(lambda path=path: self._plane.client.problem(path) is None, 20)  # type: ignore[misc]


def _versions(definition: dict[str, Any]) -> list[str]:
    spec = definition["spec"]
    return [f"{each['name']}.{spec['group']}" for each in spec["versions"] if each["served"]]


@contextmanager
def mirroring(control_plane: ControlPlane, directory: Path) -> Iterator[Mirror]:
    """Everything that is defined meanwhile is served by ours."""
    mirror, certificates = Mirror(control_plane, directory), certified()
    with serving({"mirror": mirror.reviewed}, certificates.context(directory)) as webhook:
        rule = {
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "apiGroups": ["apiextensions.k8s.io"],
            "apiVersions": ["v1"],
            "resources": ["customresourcedefinitions"],
        }
        hook = {
            "name": "mirror.webhook.test",
            "clientConfig": {
                "url": webhook.url("mirror"),
                "caBundle": base64.b64encode(certificates.ca.pem).decode(),
            },
            "rules": [rule],
            "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }
        made = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "mirror"},
            "webhooks": [hook],
        }
        control_plane.client.apply(_CONFIGURATION, made)
        yield mirror
