"""``extapi webhooks`` beside a control plane: its account with just the rights that it needs, its definitions, its registration."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from extapi.crd.export import export_api
from extapi.dev import ports
from extapi.dev.kube import KubeClient
from extapi.dev.ports import LOOPBACK
from extapi.dev.processes import Processes
from extapi.loading.module import load_api
from tests.certificates import Issued
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.test_crd_export import established
from tests.waiting import until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class Webhooks:
    """A running server, and how the control plane is told of it."""

    control_plane: ControlPlane
    port: int
    log: Path
    client: KubeClient
    """Asks the server itself, without a certificate."""

    def read(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and body of what the server answers to a GET, with a token if there is one."""
        ca = self.control_plane.certificates.certificate("serving-ca")
        connection = http.client.HTTPSConnection(
            LOOPBACK, self.port, context=ssl.create_default_context(cafile=str(ca))
        )
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def config(self, path: str, *, port: int = 0) -> dict[str, Any]:
        """The ``clientConfig`` of a path."""
        ca = self.control_plane.certificates.certificate("serving-ca").read_bytes()
        url = f"https://{LOOPBACK}:{port or self.port}{path}"
        return {"url": url, "caBundle": base64.b64encode(ca).decode()}

    def define(self, target: str) -> None:
        """Create the definitions of an API, each converted by its path, and wait until they are served."""
        client, api = self.control_plane.client, load_api(target)
        for each in export_api(api, webhook=self.config("/")):
            assert each.manifest is not None, each.notes
            spec = each.manifest["spec"]
            if spec["conversion"]["strategy"] == "Webhook":
                path = f"/convert/v1/{spec['names']['singular']}"
                versions = ["v1", "v1beta1"]
                spec["conversion"]["webhook"] = {
                    "conversionReviewVersions": versions,
                    "clientConfig": self.config(path),
                }
            path = f"{DEFINITIONS}/{each.manifest['metadata']['name']}"
            client.apply(path, each.manifest)
            until(partial(established, self.control_plane, path))

    def register(self, name: str, singular: str, rule: dict[str, Any], *, version: str = "v1", **more: Any) -> None:
        """Register admission of what a rule matches."""
        for kind, plural, path in (
            ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", f"/admit/{version}/{singular}"),
            ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", f"/validate/{version}/{singular}"),
        ):
            hook = {
                "name": name,
                "clientConfig": self.config(path),
                "rules": [rule],
                "failurePolicy": "Fail",
                "sideEffects": "NoneOnDryRun",
                "admissionReviewVersions": [version],
                "timeoutSeconds": 5,
                **more,
            }
            obj = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name},
                "webhooks": [hook],
            }
            self.control_plane.client.apply(f"{REGISTRATIONS}/{plural}/{name}", obj)


def start(
    control_plane: ControlPlane,
    target: str,
    *,
    name: str,
    kubeconfig: Path | None = None,
    flags: Sequence[str] = (),
    processes: Processes | None = None,
) -> Webhooks:
    """Run ``extapi webhooks TARGET``; it ends with the control plane. It is not waited for until it is ready.

    ``processes``: what starts it instead, for one that the test ends.
    """
    processes = processes or control_plane.processes
    port = ports.choose(0, "--secure-port")
    certificates = control_plane.certificates
    command = [
        "webhooks",
        target,
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={certificates.certificate('extension-server')}",
        f"--tls-private-key-file={certificates.key('extension-server')}",
        *([] if kubeconfig is None else [f"--kubeconfig={kubeconfig}"]),
        *flags,
    ]
    child = processes.start_python(name, "extapi", command)
    client = KubeClient(port, ca=certificates.certificate("serving-ca"))
    processes.wait_until(lambda: client.problem("/livez"), f"{name} to listen", seconds=60, interval=0.03)
    return Webhooks(control_plane, port, child.log, client)


def account(control_plane: ControlPlane, name: str, rules: Sequence[dict[str, Any]]) -> Path:
    """A kubeconfig of a ServiceAccount called ``name`` with these rights and no others."""
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token(control_plane, name, rules)}
    file = control_plane.state.logs / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def token(control_plane: ControlPlane, name: str, rules: Sequence[dict[str, Any]]) -> str:
    """A token of a ServiceAccount called ``name`` with these rights and no others."""
    client = control_plane.client
    for path, obj in _rights(name, rules):
        client.apply(path, obj)
    made = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = json.loads(client.request("POST", f"/api/v1/namespaces/default/serviceaccounts/{name}/token", made))
    found: str = answer["status"]["token"]
    return found


def shows_a_certificate(directory: Path, caller: Issued) -> Path:
    """A file for ``--admission-control-config-file``, by which kube-apiserver shows a certificate to every admission webhook."""
    paths = caller.save(directory, "caller")
    user = {"client-certificate": str(paths.certificate), "client-key": str(paths.key)}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}
    (directory / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    group = "apiserver.config.k8s.io/v1"
    configuration = {
        "apiVersion": group,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(directory / "kubeconfig"),
    }
    plugins = [
        {"name": name, "configuration": configuration}
        for name in ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")
    ]
    file = directory / "admission.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins}))
    return file


def _rights(name: str, rules: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    metadata = {"name": name}
    yield (
        f"/api/v1/namespaces/default/serviceaccounts/{name}",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
    )
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}
    yield f"/apis/{RBAC}/v1/clusterroles/{name}", role
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    yield f"/apis/{RBAC}/v1/clusterrolebindings/{name}", binding
