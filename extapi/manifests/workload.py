"""What runs: the namespace with its account, the volume, the Deployment, its disruption budget and network policy.

The Pod Security level ``restricted`` admits the pod, unless it uses the node's network.
"""

from __future__ import annotations

from typing import Any

from extapi.manifests import etcd
from extapi.manifests.settings import ManifestSettings
from extapi.manifests.yamltext import Noted
from extapi.server.serving import DRAIN

Obj = dict[str, Any]

USER = 65532
"""User and group of the process; the image has the same."""
TLS_DIRECTORY = "/etc/extapi/tls"
_DELAY = 5
"""Seconds that one of several pods keeps serving after it was told to stop, until all clients know that it is not ready.

kube-apiserver sends no requests to a single pod once it is told to stop; a delay would only hold up its successor, unless that
has been started before.
"""
_SPARE = 10
"""Seconds between the end of requests in flight and the kubelet's grace period: controllers end, and their events are written."""


def namespace(settings: ManifestSettings) -> Obj:
    """The server's namespace, with the Pod Security level of its pods."""
    enforce = "pod-security.kubernetes.io/enforce"
    labels: Obj = dict(settings.labels)
    if settings.host_network:
        labels[Noted(enforce, "Any other level refuses pods in the network of the node (--host-network).")] = (
            "privileged"
        )
    else:
        labels[enforce] = "restricted"
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace, "labels": labels}}


def service_account(settings: ManifestSettings) -> Obj:
    """The account with which the server calls kube-apiserver."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings)}


def volume_claim(settings: ManifestSettings) -> Obj:
    """The volume of the SQLite file."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(settings, "data"),
        "spec": {"accessModes": ("ReadWriteOnce",), "resources": {"requests": {"storage": "1Gi"}}},
    }


def deployment(settings: ManifestSettings) -> Obj:
    """The server itself."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(settings),
        "spec": {
            "replicas": settings.replicas,
            **_strategy(settings),
            "selector": {"matchLabels": settings.labels},
            "template": {"metadata": {"labels": settings.labels}, "spec": _pod(settings)},
        },
    }


def disruption_budget(settings: ManifestSettings) -> Obj:
    """Of several pods, at most one is evicted at a time while nodes are drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": settings.labels}},
    }


def network_policy(settings: ManifestSettings) -> Obj:
    """Incoming traffic only to the server's port, outgoing traffic only to kube-apiserver, and to etcd."""
    egress: list[Obj] = [{"ports": [{"protocol": "TCP", "port": port} for port in (443, 6443)]}]
    also: tuple[str, ...] = ()
    if settings.etcd is not None:
        ports = etcd.etcd_ports(settings.etcd)
        egress.append({"ports": [{"protocol": protocol, "port": port} for protocol, port in ports]})
        also = ("Then to etcd, and to DNS for its address." if ("UDP", 53) in ports else "Then to etcd.",)
    to = Noted(
        "egress", "To kube-apiserver: its Service's port, and its own port in case the network sees that.", *also
    )
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(settings),
        "spec": {
            "podSelector": {"matchLabels": settings.labels},
            "policyTypes": ("Ingress", "Egress"),
            Noted(
                "ingress",
                "From anywhere: kube-apiserver is not a pod, and its address is unknown here. If you know it, add",
                "from: [{ipBlock: {cidr: ADDRESS/32}}], with /128 for an IPv6 address.",
            ): [{"ports": [{"protocol": "TCP", "port": settings.port}]}],
            to: egress,
        },
    }


def metadata(settings: ManifestSettings, suffix: str = "") -> Obj:
    """The metadata of an object in the server's namespace."""
    name = f"{settings.name}-{suffix}" if suffix else settings.name
    return {"name": name, "namespace": settings.namespace, "labels": settings.labels}


def _strategy(settings: ManifestSettings) -> Obj:
    if settings.data_directory or settings.stores:
        why = (
            "Only one process can use the SQLite file"
            if settings.data_directory
            else "Each pod has its own objects in memory"
        )
        return {Noted("strategy", f"{why}: the old pod ends before the new one starts."): {"type": "Recreate"}}
    if settings.host_network:
        why = "A port of the node is free for the new pod only when the old one has ended."
        return {
            Noted("strategy", why): {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        }
    if settings.etcd is not None or settings.replicas > 1:
        why = "The next pod ends when a new one is ready."
        return {
            Noted("strategy", why): {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        }
    return {}


def _pod(settings: ManifestSettings) -> Obj:
    network: Obj = {}
    if settings.host_network:
        network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    spread: Obj = {}
    if settings.replicas > 1:
        spread = _spread(settings)
    delay = _shutdown_delay(settings)
    grace = Noted(
        "terminationGracePeriodSeconds",
        f"{'--shutdown-delay-duration, then up' if delay else 'Up'} to {DRAIN:.0f} seconds for requests in progress, "
        "then some to spare.",
    )
    return {
        "serviceAccountName": settings.name,
        "enableServiceLinks": False,
        **network,
        **spread,
        grace: delay + int(DRAIN) + _SPARE,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(settings)],
        "volumes": _volumes(settings),
    }


def _spread(settings: ManifestSettings) -> Obj:
    """Several pods run on different nodes in different zones, as far as that is possible."""
    host, selector = "kubernetes.io/hostname", {"matchLabels": settings.labels}
    apart = {"weight": 100, "podAffinityTerm": {"topologyKey": host, "labelSelector": selector}}
    return {
        Noted(
            "affinity", "One pod per node and evenly over zones if that is possible; else the pods run all the same."
        ): {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
            }
            for key in ("topology.kubernetes.io/zone", host)
        ],
    }


def _container(settings: ManifestSettings) -> Obj:
    mounts: list[Obj] = [{"name": "tls", "mountPath": TLS_DIRECTORY, "readOnly": True}]
    if settings.data_directory:
        mounts.append({"name": "data", "mountPath": settings.data_directory})
    if etcd_secret(settings):
        mounts.append({"name": "etcd", "mountPath": etcd.DIRECTORY, "readOnly": True})
    mounts.append({"name": "tmp", "mountPath": "/tmp"})  # noqa: S108 - the pod's own
    slow, grows = "A large store takes a while to read", "the objects, which are all kept in it"
    if settings.crds:
        slow, grows = "What the code follows takes a while to list", "what the code follows, and with reviews"
    return {
        "name": "webhooks" if settings.crds else "apiserver",
        "image": settings.image,
        "args": [
            "webhooks" if settings.crds else "serve",
            settings.target,
            f"--secure-port={settings.port}",
            f"--tls-cert-file={TLS_DIRECTORY}/tls.crt",
            f"--tls-private-key-file={TLS_DIRECTORY}/tls.key",
            *([] if settings.crds else [f"--storage={settings.storage}"]),
            *([] if settings.etcd is None else etcd.etcd_arguments(settings.etcd)),
            *([f"--shutdown-delay-duration={delay}s"] if (delay := _shutdown_delay(settings)) else []),
        ],
        "ports": [{"name": "https", "containerPort": settings.port}],
        Noted("startupProbe", f"{slow}: two minutes before the first liveness probe."): {
            **_probe("/livez", seconds=2),
            "failureThreshold": 60,
        },
        "livenessProbe": _probe("/livez", seconds=10),
        "readinessProbe": _probe("/readyz", seconds=5),
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            Noted(
                "limits",
                f"Memory grows with {grows}. There is no CPU limit: it would only delay.",
            ): {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ("ALL",)},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts,
    }


def _shutdown_delay(settings: ManifestSettings) -> int:
    return _DELAY if settings.replicas > 1 or settings.etcd is not None else 0


def _probe(path: str, *, seconds: int) -> Obj:
    """Both paths need no authorization, and the kubelet does not verify the certificate."""
    get = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": get, "periodSeconds": seconds, "timeoutSeconds": 5}


def _volumes(settings: ManifestSettings) -> list[Obj]:
    mode = Noted("defaultMode", "0440: for the group of the pod, fsGroup.")
    volumes: list[Obj] = [{"name": "tls", "secret": {"secretName": tls_secret(settings), mode: 0o440}}]
    if settings.data_directory:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": f"{settings.name}-data"}})
    if secret := etcd_secret(settings):
        volumes.append({"name": "etcd", "secret": {"secretName": secret, "defaultMode": 0o440}})
    volumes.append({"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}})
    return volumes


def etcd_secret(settings: ManifestSettings) -> str:
    """The name of the Secret with the files for etcd; empty: none is needed."""
    if settings.etcd is None or not etcd.etcd_files(settings.etcd):
        return ""
    return settings.etcd_secret or f"{settings.name}-etcd"


def tls_secret(settings: ManifestSettings) -> str:
    """The name of the Secret with the serving certificate."""
    return f"{settings.name}-tls"
