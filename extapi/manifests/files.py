"""All manifests, one object per file, in the order of dependence; and the kustomization."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from extapi.api.definition import Api
from extapi.crd.yamltext import to_yaml as definition_text
from extapi.manifests import registration, rights, webhooks, workload
from extapi.manifests.cabundle import Registered
from extapi.manifests.etcd import etcd_files
from extapi.manifests.settings import ManifestSettings
from extapi.manifests.yamltext import comment, to_yaml

Obj = dict[str, Any]

KUSTOMIZATION = "kustomization.yaml"
MADE_BY = "Made by: extapi manifests "
"""The first comment line of the kustomization."""
CERTIFICATES = "certs"
"""The directory beside the kustomization in which ``extapi certs`` keeps the files of the Secret; kustomize reads no others."""
ETCD_FILES = "etcd"
"""The directory beside it with the files of the Secret for etcd."""


@dataclass(frozen=True)
class File:
    """One object. ``why`` is the comment above it; a file that is not ``applied`` is optional."""

    name: str
    obj: Obj = field(repr=False)
    why: str = ""
    applied: bool = True
    written: Callable[[Obj], str] = to_yaml

    @property
    def text(self) -> str:
        """The content of the file."""
        return comment(self.why) + self.written(self.obj)


def render(settings: ManifestSettings, api: Api) -> list[File]:
    """All files except the kustomization. Depends only on its arguments.

    Raises:
        ValueError: The API cannot be served; the message says why.
    """
    if settings.crds:
        return [*_base(settings), *_webhooks_rights(settings, api), *_workload(settings), *_definitions(settings, api)]
    return [*_base(settings), *_rights(settings, api), *_workload(settings), *_registration(settings, api)]


def registered(settings: ManifestSettings, api: Api) -> Iterator[Registered]:
    """The rendered objects that lead to the server, and have a ``caBundle``."""
    if not settings.crds:
        yield from (
            Registered(obj["kind"], obj["metadata"]["name"]) for obj in registration.api_services(settings, api)
        )
        return
    yield from (
        Registered("CustomResourceDefinition", f"{plural}.{group}") for group, plural in webhooks.converted(api)
    )
    yield from (Registered(obj["kind"], obj["metadata"]["name"]) for obj in webhooks.configurations(settings, api))


def kustomization(settings: ManifestSettings, files: Sequence[File], arguments: str) -> str:
    """The text of ``kustomization.yaml``. ``arguments``: those of the command that rendered the files."""
    obj: Obj = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [file.name for file in files if file.applied],
    }
    text = comment(f"{MADE_BY}{arguments}\nApplied by: kubectl apply -k DIRECTORY") + to_yaml(obj)
    generators, why = [], ""
    if not settings.cert_manager:
        names = [f"{CERTIFICATES}/tls.crt", f"{CERTIFICATES}/tls.key"]
        generators.append(_generator(settings, workload.tls_secret(settings), "kubernetes.io/tls", names))
        why = f"""\
Of files that git ignores: extapi certs --service {settings.name} --namespace {settings.namespace} --dir DIRECTORY/{CERTIFICATES}
Its name stays the same, so that a new certificate needs no new pod: the server checks its files every few seconds.
"""
    if names := _files_for_etcd(settings):
        paths = [f"{ETCD_FILES}/{name}" for name in names]
        generators.append(_generator(settings, workload.etcd_secret(settings), "Opaque", paths))
        why += f"""\
The files in {ETCD_FILES} are those with which the server reaches etcd. It reads them for each connection; git must not have them.
"""
    return text + comment(why) + to_yaml({"secretGenerator": generators}) if generators else text


def _generator(settings: ManifestSettings, name: str, kind: str, files: Sequence[str]) -> Obj:
    return {
        "name": name,
        "namespace": settings.namespace,
        "type": kind,
        "files": list(files),
        "options": {"disableNameSuffixHash": True, "labels": settings.labels},
    }


def _files_for_etcd(settings: ManifestSettings) -> list[str]:
    """The names of the files of which a Secret has to be made."""
    return [] if settings.etcd is None or settings.etcd_secret else etcd_files(settings.etcd)


def stream(settings: ManifestSettings, files: Sequence[File], arguments: str) -> str:
    """All that is applied as one stream of documents."""
    head = f"{MADE_BY}{arguments}\n"
    if not settings.cert_manager:
        name = workload.tls_secret(settings)
        head += f"The Secret {name} is not among it: kubectl -n {settings.namespace} create secret tls {name} --cert=FILE --key=FILE\n"
    if names := _files_for_etcd(settings):
        name, given = workload.etcd_secret(settings), " ".join(f"--from-file={each}=FILE" for each in names)
        head += (
            f"The Secret {name} is not among it: kubectl -n {settings.namespace} create secret generic {name} {given}\n"
        )
    return comment(head) + "---\n".join(file.text for file in files if file.applied)


def _base(settings: ManifestSettings) -> Iterator[File]:
    yield File("namespace.yaml", workload.namespace(settings))
    yield File("service-account.yaml", workload.service_account(settings))


def _rights(settings: ManifestSettings, api: Api) -> Iterator[File]:
    yield File(
        "auth-delegator.yaml",
        rights.auth_delegator(settings),
        "TokenReview and SubjectAccessReview: the server asks kube-apiserver who users are and what they may do.",
    )
    yield File(
        "authentication-reader.yaml",
        rights.authentication_reader(settings),
        "The ConfigMap with the authority and the headers by which kube-apiserver names users.",
    )
    yield File(
        "server-role.yaml",
        rights.server_role(settings, api),
        "Nothing is created in a namespace that is missing or being deleted, and the cluster's admission webhooks are asked."
        + (" The other rules are those of Api(needs=[...]), for the server's own code." if api.needs else ""),
    )
    yield File("server-role-binding.yaml", rights.server_role_binding(settings))
    if settings.etcd is not None and rights.elects(api):
        yield from _lease_rights(settings, api)
    yield from _users_rights(settings, api)


def _lease_rights(settings: ManifestSettings, api: Api) -> Iterator[File]:
    yield File("lease-role.yaml", rights.lease_role(settings, api), "One pod at a time runs the controllers.")
    yield File("lease-role-binding.yaml", rights.lease_role_binding(settings))


def _webhooks_rights(settings: ManifestSettings, api: Api) -> Iterator[File]:
    yield File(
        "auth-delegator.yaml",
        rights.auth_delegator(settings),
        "TokenReview and SubjectAccessReview: the server asks kube-apiserver who may read its metrics.",
    )
    role = rights.webhooks_role(settings, api)
    if role is not None:
        why = "What admission plugins and controllers follow and write" + (
            ", and the rules of Api(needs=[...])." if api.needs else "."
        )
        yield File("server-role.yaml", role, why)
        yield File("server-role-binding.yaml", rights.server_role_binding(settings))
    if api.controllers:
        yield from _lease_rights(settings, api)
    yield from _users_rights(settings, api)


def _users_rights(settings: ManifestSettings, api: Api) -> Iterator[File]:
    view, edit = rights.view_role(settings, api), rights.edit_role(settings, api)
    if view is not None:
        why = "For users: the cluster's roles view, edit and admin may also read this API."
        yield File("view-role.yaml", view, why)
    if edit is not None:
        why = "For users: the roles edit and admin may also write, but not the status, which is for controllers."
        yield File("edit-role.yaml", edit, why)


def _workload(settings: ManifestSettings) -> Iterator[File]:
    if settings.data_directory:
        yield File("volume-claim.yaml", workload.volume_claim(settings))
    yield File("deployment.yaml", workload.deployment(settings))
    if settings.replicas > 1:
        yield File("disruption-budget.yaml", workload.disruption_budget(settings))
    if not settings.host_network:  # no policy applies to pods in the node's network
        yield File(
            "network-policy.yaml",
            workload.network_policy(settings),
            "Not in kustomization.yaml: what your own code has to reach is unknown here. If this is enough for it:\n"
            "kubectl apply -f network-policy.yaml",
            applied=False,
        )


def _definitions(settings: ManifestSettings, api: Api) -> Iterator[File]:
    converted = webhooks.converted(api)
    yield File("service.yaml", registration.service(settings, unready=rights.follows(api, converted)))
    yield from _certificates(settings)
    for obj in webhooks.definitions(settings, api):
        plural, _, group = obj["metadata"]["name"].partition(".")
        name = plural if len(api.groups) == 1 else f"{plural}.{group}"
        why = _about_ca(settings) if (group, plural) in converted else ""
        yield File(f"definition-{name}.yaml", obj, why, written=definition_text)
    for obj in webhooks.configurations(settings, api):
        kind = obj["kind"].removesuffix("WebhookConfiguration").lower()
        yield File(f"{kind}-webhooks.yaml", obj, _about_ca(settings))


def _registration(settings: ManifestSettings, api: Api) -> Iterator[File]:
    yield File("service.yaml", registration.service(settings))
    yield from _certificates(settings)
    for obj in registration.api_services(settings, api):
        # Usually there is one group; then the version is enough.
        name = obj["metadata"]["name"] if len(api.groups) > 1 else obj["spec"]["version"]
        yield File(f"apiservice-{name}.yaml", obj, _about_ca(settings))


def _certificates(settings: ManifestSettings) -> Iterator[File]:
    if settings.cert_manager:
        yield from (File(f"{name}.yaml", obj) for name, obj in registration.certificates(settings))


def _about_ca(settings: ManifestSettings) -> str:
    if settings.cert_manager:
        return "cert-manager puts its authority into caBundle."
    return "caBundle is set on the living object, by: extapi manifests ... --patch-ca-bundle"
