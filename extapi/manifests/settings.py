"""The settings of the manifests, checked all at once.

Knows which names, ports and images a cluster accepts; knows no manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from extapi.api.definition import KUBERNETES_GROUPS, Api
from extapi.api.policyrule import PolicyRule
from extapi.manifests.etcd import etcd_problems, make_etcd
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.url import ETCD, parse_url

PORT = 8443
HOST_PORT = 10443
"""The port without and with the node's network, where 443, 6443 and 8443 are often taken."""
NAME_LIMIT = 40
"""Characters per name: it is part of other names, and a label has at most 63."""

NAMESPACE_LIMIT = 63

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
"""RFC 1035: names of Services."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""RFC 1123: names of namespaces, and what stands between the dots in those of Secrets."""
_CLUSTERS_OWN = re.compile(r"default|kube-.*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]*")
_SHARED = ("/", "/opt", "/tmp", "/var")  # noqa: S108 - refused
"""Directories that a volume must not be mounted on; below them it may be."""
_TAKEN = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/extapi", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/run")
"""Directories that a volume must not be mounted on or below: they hold the program, its certificate, or files of the kubelet."""


class SettingsErrors(Exception):
    """Everything that is wrong with the flags, one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True, kw_only=True)
class ManifestSettings:
    """The name of the server, where it runs and what it needs there."""

    target: str
    """``MODULE:NAME`` of the API."""
    name: str
    """The name of the Service, the Deployment and the service account, and the first part of all other names."""
    namespace: str
    image: str
    port: int
    """The port that the server listens on; clients reach it through the Service, at 443."""
    host_network: bool
    replicas: int
    storage: str
    """As ``extapi serve --storage`` has it."""
    cert_manager: bool
    crds: bool
    """Whether the kinds are CustomResourceDefinitions, and the server answers their webhooks."""
    stores: bool
    """Whether the server keeps objects in a file or in memory; then only one replica may run at a time."""
    etcd: EtcdOptions | None = None
    """How etcd is reached, if objects are kept there."""
    etcd_secret: str = ""
    """The Secret with the files for that, if there is one already; empty: the kustomization makes it."""

    @property
    def data_directory(self) -> str:
        """Where the pod keeps its SQLite file; empty if it has none."""
        path = "" if self.etcd else parse_url(self.storage)
        # Two slashes at the beginning mean the same as one, but PurePosixPath keeps them.
        return str(PurePosixPath(f"/{path.lstrip('/')}").parent) if path else ""

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all objects; the pods are selected by them."""
        return {"app.kubernetes.io/name": self.name}


def default_name(api: Api) -> str:
    """The first part of the first group's name: ``wardle`` of ``wardle.example.com``."""
    return api.groups[0].name.partition(".")[0]


def has_storage(api: Api) -> bool:
    """Whether a kind of it is stored, not virtual."""
    return any(kind.rest is None for group in api.groups for kind in group.kinds)


def make_settings(
    api: Api,
    target: str,
    *,
    name: str = "",
    namespace: str = "",
    image: str = "",
    port: int = 0,
    host_network: bool = False,
    replicas: int = 1,
    storage: str = "",
    etcd_servers: str = "",
    etcd_prefix: str = "",
    etcd_secret: str = "",
    etcd_username: str = "",
    cert_manager: bool = False,
    as_: str = "aggregated",
) -> ManifestSettings:
    """The settings for ``api``; an empty value or 0 is derived from the name of its first group.

    ``etcd_servers`` are separated by commas.

    Raises:
        SettingsErrors: Settings contradict each other or do not fit the API.
    """
    name, crds = name or default_name(api), as_ == "crd"
    shared = storage == ETCD and not crds
    stores = has_storage(api) and not crds and not shared
    settings = ManifestSettings(
        target=target,
        name=name,
        namespace=namespace or name,
        image=image or f"registry.example.com/{name}:1",
        port=port or (HOST_PORT if host_network else PORT),
        host_network=host_network,
        replicas=replicas,
        storage=storage or (f"sqlite:////var/lib/{name}/data.sqlite" if stores else "memory:"),
        cert_manager=cert_manager,
        crds=crds,
        stores=stores,
        etcd=make_etcd(etcd_servers, etcd_prefix or f"/extapi/{name}", etcd_username) if shared else None,
        etcd_secret=etcd_secret,
    )
    given = {"servers": etcd_servers, "prefix": etcd_prefix, "secret": etcd_secret, "username": etcd_username}
    problems = [
        *_names(api, settings),
        *(_custom_resources(api, storage) if crds else _storage(settings)),
        *(f"--etcd-{flag} is for --storage etcd:" for flag, value in given.items() if value and not shared),
    ]
    if problems:
        raise SettingsErrors(problems)
    return settings


def without_defaults(api: Api, target: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """The ``flags`` that differ from their defaults, by their names in :func:`make_settings`.

    Raises:
        SettingsErrors: As :func:`make_settings`.
    """
    settings, kept = make_settings(api, target, **flags), dict(flags)
    for key in flags:
        fewer = {name: value for name, value in kept.items() if name != key}
        try:
            if make_settings(api, target, **fewer) == settings:
                kept = fewer
        except SettingsErrors:  # the derived value is invalid, so the flag is needed
            continue
    return kept


def _names(api: Api, settings: ManifestSettings) -> Iterator[str]:
    name, namespace = settings.name, settings.namespace
    if not _LABEL.fullmatch(name) or len(name) > NAME_LIMIT:
        yield f"--name: {name!r} is not a DNS label of at most {NAME_LIMIT} characters that begins with a letter"
    elif name == "system":  # names of cluster roles and bindings that begin with system: are reserved for Kubernetes
        yield "--name: 'system' is Kubernetes' own: a binding would be called system:auth-delegator; choose another one"
    if namespace != name and (not _NAMESPACE.fullmatch(namespace) or len(namespace) > NAMESPACE_LIMIT):
        yield f"--namespace: {namespace!r} is not a DNS label of at most {NAMESPACE_LIMIT} characters"
    elif _CLUSTERS_OWN.fullmatch(namespace):
        yield (
            f"--namespace: {namespace} is the cluster's own; these manifests set which pods their namespace admits, and "
            "deleting them deletes it. Choose another one"
        )
    if not _IMAGE.fullmatch(settings.image):
        yield f"--image: {settings.image!r} is not the name of an image, such as registry.example.com/pizza:1"
    if any(group.name in KUBERNETES_GROUPS for group in api.groups):
        yield f"{settings.target} has kinds of one of Kubernetes' own groups, which no extension server can take over"
    if settings.port < 1024:
        yield f"--port: {settings.port} is privileged, and the server does not run as root; clients use the Service's 443"


def _storage(settings: ManifestSettings) -> Iterator[str]:
    if settings.etcd is not None:
        yield from etcd_problems(settings.etcd)
        secret = settings.etcd_secret
        if secret and not (len(secret) <= 253 and all(map(_NAMESPACE.fullmatch, secret.split(".")))):
            yield f"--etcd-secret: {secret!r} is not the name of a Secret"
        return
    try:
        path = parse_url(settings.storage)
    except ValueError as error:
        yield f"--storage: {error}"
        return
    if path and not path.startswith("/"):
        yield f"--storage: {settings.storage!r} is relative, and a pod needs an absolute path: use four slashes"
    elif path and not _mountable(settings.data_directory):
        yield (
            f"--storage: a volume is mounted at the file's directory, which cannot be {settings.data_directory}; "
            f"choose one of its own, such as sqlite:////var/lib/{settings.name}/data.sqlite"
        )
    if settings.replicas > 1 and path:
        yield (
            f"--replicas: {settings.replicas} pods cannot share one SQLite file: one process has it, "
            "a second one refuses to start. Only one replica is possible with this storage; with --storage etcd: there may be "
            "several"
        )
    elif settings.replicas > 1 and settings.stores:
        yield (
            f"--replicas: with memory: each of {settings.replicas} pods would have its own objects, "
            "and clients would see now these, now those. Only one replica is possible with this storage; with --storage etcd: "
            "there may be several"
        )


def _custom_resources(api: Api, storage: str) -> Iterator[str]:
    """Why the API cannot be served as CustomResourceDefinitions."""
    from extapi.crd.export import export_api  # noqa: PLC0415 - what only --as crd needs; it compiles kinds
    from extapi.crd.expressible import refused  # noqa: PLC0415 - as above

    if storage:
        yield "--storage: with --as crd kube-apiserver stores the objects; leave it out"
    refusals = list(refused(api))
    for text in refusals:
        yield f"--as crd: {text}. Serve it with extapi serve (--as aggregated), or move it to another Api"
    for each in [] if refusals else export_api(api, webhook={"url": "https://localhost/"}):
        yield from (f"--as crd: {each.kind}: {note}" for note in each.notes if each.manifest is None)
    for code in (*api.admission, *api.controllers):
        rules = getattr(code, "needs", ())
        if isinstance(rules, str) or not all(isinstance(rule, PolicyRule) for rule in rules):
            yield f"--as crd: {type(code).__name__}.needs must be a list of PolicyRule"


def _mountable(directory: str) -> bool:
    """Whether a volume can be mounted there; kube-apiserver accepts no colon in a ``mountPath``."""
    taken = directory in _SHARED or any(PurePosixPath(directory).is_relative_to(each) for each in _TAKEN)
    return not taken and ".." not in PurePosixPath(directory).parts and ":" not in directory
