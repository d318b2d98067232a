"""What the manifests are made for: the answers to every question that they leave open, checked all at once.

Knows what a cluster takes for names, ports and images; knows no manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from extapi.api.definition import KUBERNETES_GROUPS, Api
from extapi.storage.url import parse_url

PORT = 8443
HOST_PORT = 10443
"""The port without and with the network of the node: there 443, 6443 and 8443 are taken on many."""
NAME_LIMIT = 40
"""Characters of a name: it is a part of others, and a label has 63 at most."""

NAMESPACE_LIMIT = 63

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
"""RFC 1035: what a Service may be called."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""RFC 1123: what a namespace may be called."""
_CLUSTERS_OWN = re.compile(r"default|kube-.*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]*")
_SHARED = ("/", "/opt", "/tmp", "/var")  # noqa: S108 - refused
"""Directories that a volume would hide; below them it may be."""
_TAKEN = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/extapi", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/run")
"""Nor below these: they hold the program, its certificate, or what the kubelet puts there."""


class SettingsErrors(Exception):
    """Everything that is wrong with the flags, a line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the server is called, where it runs and what it needs there."""

    target: str
    """``MODULE:NAME`` of the API."""
    name: str
    """Of the Service, the Deployment, the service account, and the first part of all other names."""
    namespace: str
    image: str
    port: int
    """That the server listens on; clients come by the Service, at 443."""
    host_network: bool
    replicas: int
    storage: str
    """As ``extapi serve --storage`` has it."""
    cert_manager: bool
    stores: bool
    """Whether the server has objects of its own, in a file or in memory: then there is one of it at any time."""

    @property
    def data_directory(self) -> str:
        """Where the pod keeps its SQLite file; empty if it has none."""
        path = parse_url(self.storage)
        # Two slashes at the beginning mean the same as one, but PurePosixPath keeps them.
        return str(PurePosixPath(f"/{path.lstrip('/')}").parent) if path else ""

    @property
    def labels(self) -> dict[str, str]:
        """On everything; the pods are found by them."""
        return {"app.kubernetes.io/name": self.name}


def default_name(api: Api) -> str:
    """The first part of the first group's name: ``wardle`` of ``wardle.example.com``."""
    return api.groups[0].name.partition(".")[0]


def has_storage(api: Api) -> bool:
    """Whether a kind of it is stored, and does not answer itself."""
    return any(kind.serves is None for group in api.groups for kind in group.kinds)


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
    cert_manager: bool = False,
) -> Settings:
    """The settings for ``api``; what is empty or 0 is derived from its first group's name.

    :raises SettingsErrors: they cannot be, for each other or for the API.
    """
    name = name or default_name(api)
    settings = Settings(
        target=target,
        name=name,
        namespace=namespace or name,
        image=image or f"registry.example.com/{name}:1",
        port=port or (HOST_PORT if host_network else PORT),
        host_network=host_network,
        replicas=replicas,
        storage=storage or (f"sqlite:////var/lib/{name}/data.sqlite" if has_storage(api) else "memory:"),
        cert_manager=cert_manager,
        stores=has_storage(api),
    )
    problems = [*_names(api, settings), *_storage(settings)]
    if problems:
        raise SettingsErrors(problems)
    return settings


def without_defaults(api: Api, target: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``flags``, by the names that :func:`make_settings` has for them, without which the settings would be others.

    :raises SettingsErrors: as :func:`make_settings`.
    """
    settings, kept = make_settings(api, target, **flags), dict(flags)
    for key in flags:
        fewer = {name: value for name, value in kept.items() if name != key}
        try:
            if make_settings(api, target, **fewer) == settings:
                kept = fewer
        except SettingsErrors:  # what is derived here cannot be: the flag is there for that
            continue
    return kept


def _names(api: Api, settings: Settings) -> Iterator[str]:
    name, namespace = settings.name, settings.namespace
    if not _LABEL.fullmatch(name) or len(name) > NAME_LIMIT:
        yield f"--name: {name!r} is not a DNS label of at most {NAME_LIMIT} characters that begins with a letter"
    elif name == "system":  # names of cluster roles and their bindings that begin with system: are Kubernetes' own
        yield "--name: 'system' is Kubernetes' own: a binding would be called system:auth-delegator; choose another one"
    if namespace != name and (not _NAMESPACE.fullmatch(namespace) or len(namespace) > NAMESPACE_LIMIT):
        yield f"--namespace: {namespace!r} is not a DNS label of at most {NAMESPACE_LIMIT} characters"
    elif _CLUSTERS_OWN.fullmatch(namespace):
        yield (
            f"--namespace: {namespace} is the cluster's own; these manifests say which pods their namespace admits, and "
            "to delete them deletes it. Choose another one"
        )
    if not _IMAGE.fullmatch(settings.image):
        yield f"--image: {settings.image!r} is not the name of an image, such as registry.example.com/pizza:1"
    if any(group.name in KUBERNETES_GROUPS for group in api.groups):
        yield f"{settings.target} has kinds of one of Kubernetes' own groups, which no extension server can take over"
    if settings.port < 1024:
        yield f"--port: {settings.port} is privileged, and the server does not run as root; clients use the Service's 443"


def _storage(settings: Settings) -> Iterator[str]:
    try:
        path = parse_url(settings.storage)
    except ValueError as error:
        yield f"--storage: {error}"
        return
    if path and not path.startswith("/"):
        yield f"--storage: {settings.storage!r} is relative, and a pod has no place for it; four slashes make it absolute"
    elif path and not _mountable(settings.data_directory):
        yield (
            f"--storage: a volume is mounted at the file's directory, which cannot be {settings.data_directory}; "
            f"choose one of its own, such as sqlite:////var/lib/{settings.name}/data.sqlite"
        )
    if settings.replicas > 1 and path:
        yield (
            f"--replicas: {settings.replicas} pods cannot share one SQLite file: one process has it, "
            "a second one refuses to start. One replica is all there can be with this storage"
        )
    elif settings.replicas > 1 and settings.stores:
        yield (
            f"--replicas: with memory: each of {settings.replicas} pods would have objects of its own, "
            "and clients would see now these, now those. One replica is all there can be with this storage"
        )


def _mountable(directory: str) -> bool:
    """Whether a volume of its own can be there; kube-apiserver takes no colon in a ``mountPath``."""
    taken = directory in _SHARED or any(PurePosixPath(directory).is_relative_to(each) for each in _TAKEN)
    return not taken and ".." not in PurePosixPath(directory).parts and ":" not in directory
