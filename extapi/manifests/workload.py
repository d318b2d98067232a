"""What runs: the namespace with its account, the volume, the Deployment, and what keeps and guards its pods.

The pod is one that the Pod Security level ``restricted`` admits, but for the network of the node where that is asked for.
"""

from __future__ import annotations

from typing import Any

from extapi.manifests.settings import Settings
from extapi.manifests.yamltext import Noted
from extapi.server.serving import DRAIN

Obj = dict[str, Any]

USER = 65532
"""User and group of the process; the image has the same."""
TLS_DIRECTORY = "/etc/extapi/tls"
_DELAY = 5
"""Seconds that one of several pods goes on serving after it was told to end, until everybody has heard that it is not ready.

Of a single one kube-apiserver asks nothing any more as soon as it is told to end: a delay would only hold up its successor.
"""
_SPARE = 5
"""Seconds between the end of what is in work and the kubelet's patience."""


def namespace(settings: Settings) -> Obj:
    """The server's own namespace, with the rule for its pods."""
    enforce = "pod-security.kubernetes.io/enforce"
    labels: Obj = dict(settings.labels)
    if settings.host_network:
        labels[Noted(enforce, "Any other level refuses pods in the network of the node (--host-network).")] = (
            "privileged"
        )
    else:
        labels[enforce] = "restricted"
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace, "labels": labels}}


def service_account(settings: Settings) -> Obj:
    """As whom the server speaks to kube-apiserver."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings)}


def volume_claim(settings: Settings) -> Obj:
    """The disk of the SQLite file."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(settings, "data"),
        "spec": {"accessModes": ("ReadWriteOnce",), "resources": {"requests": {"storage": "1Gi"}}},
    }


def deployment(settings: Settings) -> Obj:
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


def disruption_budget(settings: Settings) -> Obj:
    """Of several pods, all but one go on while nodes are drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": settings.labels}},
    }


def network_policy(settings: Settings) -> Obj:
    """Nothing but the port of the server from outside, nothing but kube-apiserver from inside."""
    https = Noted("egress", "To kube-apiserver: its Service's port, and its own where that is what the network sees.")
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(settings),
        "spec": {
            "podSelector": {"matchLabels": settings.labels},
            "policyTypes": ("Ingress", "Egress"),
            Noted(
                "ingress",
                "From anywhere: kube-apiserver is no pod, and its address is not known here. Where you know it, add",
                "from: [{ipBlock: {cidr: ADDRESS/32}}].",
            ): [{"ports": [{"protocol": "TCP", "port": settings.port}]}],
            https: [{"ports": [{"protocol": "TCP", "port": port} for port in (443, 6443)]}],
        },
    }


def metadata(settings: Settings, suffix: str = "") -> Obj:
    """The metadata of what is in the server's namespace."""
    name = f"{settings.name}-{suffix}" if suffix else settings.name
    return {"name": name, "namespace": settings.namespace, "labels": settings.labels}


def _strategy(settings: Settings) -> Obj:
    if settings.data_directory or settings.stores:
        why = (
            "One process has the SQLite file"
            if settings.data_directory
            else "Each pod has objects of its own in memory"
        )
        return {Noted("strategy", f"{why}: the old pod ends before the new one starts."): {"type": "Recreate"}}
    if settings.host_network:
        why = "A port of the node is free for the new pod only when the old one has ended."
        return {
            Noted("strategy", why): {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        }
    return {}


def _pod(settings: Settings) -> Obj:
    network: Obj = {}
    if settings.host_network:
        network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    spread: Obj = {}
    if settings.replicas > 1:
        constraint = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": settings.labels},
        }
        spread = {"topologySpreadConstraints": [constraint]}
    delay = _shutdown_delay(settings)
    grace = Noted(
        "terminationGracePeriodSeconds",
        f"{'--shutdown-delay-duration, then up' if delay else 'Up'} to {DRAIN:.0f} seconds for requests in work, "
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


def _container(settings: Settings) -> Obj:
    mounts: list[Obj] = [{"name": "tls", "mountPath": TLS_DIRECTORY, "readOnly": True}]
    if settings.data_directory:
        mounts.append({"name": "data", "mountPath": settings.data_directory})
    mounts.append({"name": "tmp", "mountPath": "/tmp"})  # noqa: S108 - the pod's own
    return {
        "name": "apiserver",
        "image": settings.image,
        "args": [
            "serve",
            settings.target,
            f"--secure-port={settings.port}",
            f"--tls-cert-file={TLS_DIRECTORY}/tls.crt",
            f"--tls-private-key-file={TLS_DIRECTORY}/tls.key",
            f"--storage={settings.storage}",
            *([f"--shutdown-delay-duration={delay}s"] if (delay := _shutdown_delay(settings)) else []),
        ],
        "ports": [{"name": "https", "containerPort": settings.port}],
        Noted(
            "startupProbe", "A large store takes a while to read: two minutes, before anybody asks whether it is alive."
        ): {
            **_probe("/livez", seconds=2),
            "failureThreshold": 60,
        },
        "livenessProbe": _probe("/livez", seconds=10),
        "readinessProbe": _probe("/readyz", seconds=5),
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            Noted(
                "limits", "Memory grows with the objects, all of which it holds. No limit of CPU: it would only delay."
            ): {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ("ALL",)},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts,
    }


def _shutdown_delay(settings: Settings) -> int:
    return _DELAY if settings.replicas > 1 else 0


def _probe(path: str, *, seconds: int) -> Obj:
    """Both paths are open to everybody; the kubelet does not look at the certificate."""
    get = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": get, "periodSeconds": seconds, "timeoutSeconds": 5}


def _volumes(settings: Settings) -> list[Obj]:
    mode = Noted("defaultMode", "0440: for the group of the pod, fsGroup.")
    volumes: list[Obj] = [{"name": "tls", "secret": {"secretName": tls_secret(settings), mode: 0o440}}]
    if settings.data_directory:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": f"{settings.name}-data"}})
    volumes.append({"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}})
    return volumes


def tls_secret(settings: Settings) -> str:
    """The name of the Secret with the serving certificate."""
    return f"{settings.name}-tls"
