"""``extapi manifests --as crd`` applied to a control plane without nodes: the pod is a local process, with the pod's account.

What differs from what a user applies: the Service is an external name, since nobody forwards the addresses of Services here, and
with an external name kube-apiserver takes the port of the webhook's ``clientConfig`` for that of the server. Its certificate is
still for the Service's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from extapi.cli import main
from extapi.dev import ports
from extapi.dev.kube import KubeClient
from extapi.dev.ports import LOOPBACK
from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.test_crd_export import established
from tests.kubernetes.webhookserver import DEFINITIONS
from tests.waiting import until

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
LEASES = "--leader-elect-resource-namespace=restaurant"
"""What a pod knows, and a process outside of one has to be told, if it has controllers."""


def extapi(*arguments: str) -> Result:
    """A command of ours, which has to succeed."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done


@dataclass(frozen=True)
class RenderedHooks:
    """The manifests of one API, and where its server is."""

    plane: ControlPlane
    kubectl: Kubectl
    directory: Path
    target: str
    port: int

    def rendered(self) -> list[dict[str, Any]]:
        """The objects, as kustomize builds them, with the Service as said."""
        objects = list(yaml.safe_load_all(self.kubectl("kustomize", str(self.directory))))
        for each in objects:
            if each["kind"] == "Service":
                each["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            for config in _configs(each):
                config["service"]["port"] = self.port
        return objects

    def apply(self, *kinds: str, leave_out: tuple[str, ...] = ()) -> list[str]:
        """Apply the objects of these kinds, or all but some, strictly, and by the server; what kubectl says."""
        some = [each for each in self.rendered() if (each["kind"] in kinds if kinds else each["kind"] not in leave_out)]
        text = yaml.safe_dump_all(some)
        said = self.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)
        for each in some:
            if each["kind"] == "CustomResourceDefinition":
                until(partial(established, self.plane, f"{DEFINITIONS}/{each['metadata']['name']}"))
        return said.splitlines()

    def trust(self) -> list[str]:
        """Set caBundle; the lines that say so."""
        flags = ("--dir", str(self.directory), "--kubeconfig", str(self.kubectl.kubeconfig))
        return extapi("manifests", self.target, "--as", "crd", "--patch-ca-bundle", *flags).stdout.splitlines()

    def start(self, *flags: str) -> Path:
        """Run what the Deployment runs, as its account; its log, once it is ready."""
        (deployment,) = [each for each in self.rendered() if each["kind"] == "Deployment"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        arguments = [each for each in container["args"] if not each.startswith(("--secure-port", "--tls-"))]
        tls = self.directory / "certs"
        command = [
            *arguments,
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={tls / 'tls.crt'}",
            f"--tls-private-key-file={tls / 'tls.key'}",
            f"--kubeconfig={self._account()}",
            LEASES,
            *flags,
        ]
        child = self.plane.processes.start_python("rendered-webhooks", "extapi", command)
        client = KubeClient(self.port, ca=tls / "ca.crt")
        self.plane.processes.wait_until(lambda: client.problem("/readyz"), "the webhooks to be ready", seconds=60)
        return child.log

    def _account(self) -> Path:
        token = self.kubectl("-n", "restaurant", "create", "token", "restaurant").strip()
        config = yaml.safe_load(self.kubectl.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        file = self.directory / "account.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file


def render(plane: ControlPlane, kubectl: Kubectl, directory: Path, target: str) -> RenderedHooks:
    """Make certificates and manifests, as the page about it says."""
    extapi("manifests", target, "--as", "crd", "--dir", str(directory))
    names = ("--service", "restaurant", "--namespace", "restaurant", "--host", LOOPBACK)
    extapi("certs", *names, "--dir", str(directory / "certs"))
    return RenderedHooks(plane, kubectl, directory, target, ports.choose(0, "--secure-port"))


def _configs(obj: dict[str, Any]) -> list[dict[str, Any]]:
    if obj["kind"] in CONFIGURATIONS:
        return [hook["clientConfig"] for hook in obj["webhooks"]]
    if obj["kind"] == "CustomResourceDefinition" and obj["spec"]["conversion"]["strategy"] == "Webhook":
        return [obj["spec"]["conversion"]["webhook"]["clientConfig"]]
    return []
