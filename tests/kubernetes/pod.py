"""A pod of this machine: what the scheduler and the kubelet would do with it, around a container that runc starts.

The container is one of the image that ``deploy/Dockerfile`` makes, whatever image the pod names. Its user, capabilities,
seccomp profile, limit of memory, tree of files, volumes and probes are as the pod says, and its network is its own. Limits
of CPU and of volumes are not played. Needs root.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import signal
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extapi import Quantity
from extapi.dev.processes import Processes
from tests.kubernetes.container import Container, Mount, Order, Runc
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.imagebuild import Built
from tests.kubernetes.podnetwork import PodNetwork
from tests.waiting import until

NODE = "laptop"
_MERGE = "application/merge-patch+json"


@dataclass
class Pod:
    """One pod with one container, of the object that the control plane has."""

    control_plane: ControlPlane
    network: PodNetwork
    processes: Processes
    directory: Path
    obj: Any
    image: Built
    starts: int = 0
    running: Container | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """The object's."""
        metadata = self.obj["metadata"]
        return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"

    @property
    def container(self) -> Any:
        """The only one."""
        (container,) = self.obj["spec"]["containers"]
        return container

    def start(self) -> None:
        """Start the container, again if it runs or has run; its volumes are filled anew."""
        self.kill()
        self.starts += 1
        name = f"extapi-pod-{os.getpid()}-{self.starts}"
        self.running = Runc().start(name, self.image, self._order(), self.processes, self.directory / name)

    def terminate(self) -> int:
        """Ask the container to end, and wait as long as the pod allows; its exit status. Then the pod is no more."""
        assert self.running is not None
        os.kill(self.running.pid, signal.SIGTERM)
        status = self.running.child.process.wait(self.obj["spec"]["terminationGracePeriodSeconds"])
        self.control_plane.client.request("DELETE", self.path, {"gracePeriodSeconds": 0})
        return status

    def succeed(self) -> None:
        """Be the pod that the controllers have made in place of the last one; its claims are the same."""
        self.kill()
        self.obj = _bound(self.control_plane, self.obj["metadata"]["namespace"])

    def kill(self) -> None:
        """End it at once."""
        if self.running is not None:
            self.running.kill()
        self.running = None

    def said(self) -> str:
        """What the container has printed since its last start."""
        assert self.running is not None
        return self.running.child.log.read_text(errors="replace")

    def ended(self) -> int | None:
        """Its exit status; None while it runs."""
        assert self.running is not None
        return self.running.child.process.poll()

    def probe(self, name: str) -> bool:
        """Ask what the probe of that name asks, as a kubelet does: without a look at the certificate."""
        get = self.container[name]["httpGet"]
        assert get["scheme"] == "HTTPS"
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(self.network.address, ports[get["port"]], timeout=5, context=tls)
        try:
            connection.request("GET", get["path"])
            return 200 <= connection.getresponse().status < 400
        except OSError:
            return False
        finally:
            connection.close()

    def wait_ready(self) -> None:
        """Until it has started and is ready by its probes; then the control plane is told."""
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            until(lambda name=name: self._alive() and self.probe(name), 60)  # type: ignore[misc]  # bound at once
        self.report(ready=True)

    def report(self, *, ready: bool) -> None:
        """Tell the control plane how it is."""
        text = "True" if ready else "False"
        status = {
            "phase": "Running",
            "podIP": self.network.address,
            "podIPs": [{"ip": self.network.address}],
            "conditions": [{"type": each, "status": text} for each in ("Ready", "ContainersReady")],
        }
        self.control_plane.client.request("PATCH", f"{self.path}/status", {"status": status}, _MERGE)

    def _alive(self) -> bool:
        # A container that has ended never gets ready: its words say why.
        assert self.ended() is None, self.said()
        return True

    def _order(self) -> Order:
        """What the kubelet asks of the container runtime."""
        context = self.obj["spec"].get("securityContext", {}) | self.container.get("securityContext", {})
        assert context["runAsNonRoot"]
        assert context["runAsUser"] != 0
        memory = self.container.get("resources", {}).get("limits", {}).get("memory")
        return Order(
            self.container.get("args", []),
            command=self.container.get("command", []),
            environment=self._environment(),
            user=(context["runAsUser"], context["runAsGroup"]),
            groups=[context["fsGroup"]],
            read_only=context.get("readOnlyRootFilesystem", False),
            no_new_privileges=context.get("allowPrivilegeEscalation") is False,
            capabilities=context.get("capabilities", {}).get("drop") != ["ALL"],
            seccomp=context.get("seccompProfile") == {"type": "RuntimeDefault"},
            memory=Quantity.parse(memory).value if memory is not None else None,
            mounts=list(self._mounts()),
            network=self.network.file,
            hostname=self.obj["metadata"]["name"],
        )

    def _environment(self) -> dict[str, str]:
        """The kubelet's, then the pod's; the image has its own."""
        kubernetes = self.control_plane.client.get("/api/v1/namespaces/default/services/kubernetes")["spec"]
        host, port = kubernetes["clusterIP"], str(kubernetes["ports"][0]["port"])
        given = {each["name"]: each["value"] for each in self.container.get("env", [])}
        name = self.obj["metadata"]["name"]
        return {"HOSTNAME": name, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, **given}

    def _mounts(self) -> Iterator[Mount]:
        """The pod's volumes."""
        volumes = {volume["name"]: volume for volume in self.obj["spec"]["volumes"]}
        for mount in self.container["volumeMounts"]:
            source = self._volume(volumes[mount["name"]])
            yield Mount(source, mount["mountPath"], mount.get("readOnly", False))

    def _volume(self, volume: Any) -> Path:
        """The directory that a volume is."""
        if "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]["claimName"]
            self.control_plane.client.get(f"{self.path.rpartition('/pods/')[0]}/persistentvolumeclaims/{claim}")
            return self._owned(self.directory / f"claim-{claim}", 0o2775)
        path = self.directory / f"volume-{volume['name']}"
        shutil.rmtree(path, ignore_errors=True)
        self._owned(path, 0o2777)
        if "emptyDir" in volume:
            return path
        files = (
            self._secret(volume["secret"]) if "secret" in volume else self._projected(volume["projected"]["sources"])
        )
        mode = volume.get("secret", volume.get("projected"))["defaultMode"]
        for name, content in files.items():
            file = path / name
            file.write_bytes(content)
            file.chmod(mode | 0o440)
            os.chown(file, 0, self._group)
        return path

    def _owned(self, path: Path, mode: int) -> Path:
        path.mkdir(exist_ok=True)
        os.chown(path, 0, self._group)
        path.chmod(mode)
        return path

    @property
    def _group(self) -> int:
        return int(self.obj["spec"]["securityContext"]["fsGroup"])

    def _secret(self, source: Any) -> dict[str, bytes]:
        namespace = self.obj["metadata"]["namespace"]
        data = self.control_plane.client.get(f"/api/v1/namespaces/{namespace}/secrets/{source['secretName']}")["data"]
        return {name: base64.b64decode(value) for name, value in data.items()}

    def _projected(self, sources: Any) -> dict[str, bytes]:
        """The service account's: a token bound to the pod, the authority of kube-apiserver, the namespace."""
        metadata, client, files = self.obj["metadata"], self.control_plane.client, {}
        namespace = f"/api/v1/namespaces/{metadata['namespace']}"
        for source in sources:
            if token := source.get("serviceAccountToken"):
                bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
                asked = {"spec": {"expirationSeconds": token["expirationSeconds"], "boundObjectRef": bound}}
                account = f"{namespace}/serviceaccounts/{self.obj['spec']['serviceAccountName']}/token"
                answer = json.loads(client.request("POST", account, asked))
                files[token["path"]] = answer["status"]["token"].encode()
            elif wanted := source.get("configMap"):
                data = client.get(f"{namespace}/configmaps/{wanted['name']}")["data"]
                files |= {item["path"]: data[item["key"]].encode() for item in wanted["items"]}
            else:
                (item,) = source["downwardAPI"]["items"]
                assert item["fieldRef"]["fieldPath"] == "metadata.namespace"
                files[item["path"]] = metadata["namespace"].encode()
        return files


def scheduled(control_plane: ControlPlane, network: PodNetwork, directory: Path, namespace: str, image: Built) -> Pod:
    """The pod that the controllers made in ``namespace``, on our node."""
    directory.mkdir()
    return Pod(control_plane, network, Processes(directory), directory, _bound(control_plane, namespace), image)


def _bound(control_plane: ControlPlane, namespace: str) -> Any:
    """The only pod, as soon as there is one, bound to our node as the scheduler does it."""
    client = control_plane.client
    pods = f"/api/v1/namespaces/{namespace}/pods"
    (found,) = until(lambda: client.get(pods)["items"], 60)
    client.apply(f"/api/v1/nodes/{NODE}", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    name = found["metadata"]["name"]
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    client.request("POST", f"{pods}/{name}/binding", binding)
    return client.get(f"{pods}/{name}")
