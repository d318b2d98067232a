"""Everything that is applied, one object a file, in the order in which it needs each other; and the kustomization."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from extapi.api.definition import Api
from extapi.manifests import registration, rights, workload
from extapi.manifests.settings import Settings
from extapi.manifests.yamltext import comment, to_yaml

Obj = dict[str, Any]

KUSTOMIZATION = "kustomization.yaml"
MADE_BY = "Made by: extapi manifests "
"""How the kustomization begins, after the mark of a comment."""
CERTIFICATES = "certs"
"""Where, beside the kustomization (kustomize reads nothing outside), ``extapi certs`` keeps what the Secret is made of."""


@dataclass(frozen=True)
class File:
    """One object. ``why`` stands above it; what is not ``applied`` is there for those who want it."""

    name: str
    obj: Obj = field(repr=False)
    why: str = ""
    applied: bool = True

    @property
    def text(self) -> str:
        """What is in the file."""
        return comment(self.why) + to_yaml(self.obj)


def render(settings: Settings, api: Api) -> list[File]:
    """All files but the kustomization. Depends on nothing but its arguments.

    :raises ValueError: the API cannot be served; the message says why.
    """
    return [*_base(settings), *_rights(settings, api), *_workload(settings), *_registration(settings, api)]


def kustomization(settings: Settings, files: Sequence[File], arguments: str) -> str:
    """The text of ``kustomization.yaml``. ``arguments``: those of the command that has made it all."""
    obj: Obj = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [file.name for file in files if file.applied],
    }
    text = comment(f"{MADE_BY}{arguments}\nApplied by: kubectl apply -k DIRECTORY") + to_yaml(obj)
    if settings.cert_manager:
        return text
    generator = {
        "name": workload.tls_secret(settings),
        "namespace": settings.namespace,
        "type": "kubernetes.io/tls",
        "files": [f"{CERTIFICATES}/tls.crt", f"{CERTIFICATES}/tls.key"],
        "options": {"disableNameSuffixHash": True, "labels": settings.labels},
    }
    why = f"""\
Of files that git ignores: extapi certs --service {settings.name} --namespace {settings.namespace} --dir DIRECTORY/{CERTIFICATES}
Its name stays the same, so that a new certificate needs no new pod: the server looks at its files every few seconds."""
    return text + comment(why) + to_yaml({"secretGenerator": [generator]})


def stream(settings: Settings, files: Sequence[File], arguments: str) -> str:
    """All that is applied as one stream of documents."""
    head = f"{MADE_BY}{arguments}\n"
    if not settings.cert_manager:
        name = workload.tls_secret(settings)
        head += f"The Secret {name} is not among it: kubectl -n {settings.namespace} create secret tls {name} --cert=FILE --key=FILE"
    return comment(head) + "---\n".join(file.text for file in files if file.applied)


def _base(settings: Settings) -> Iterator[File]:
    yield File("namespace.yaml", workload.namespace(settings))
    yield File("service-account.yaml", workload.service_account(settings))


def _rights(settings: Settings, api: Api) -> Iterator[File]:
    yield File(
        "auth-delegator.yaml",
        rights.auth_delegator(settings),
        "TokenReview and SubjectAccessReview: the server asks kube-apiserver who somebody is and what they may do.",
    )
    yield File(
        "authentication-reader.yaml",
        rights.authentication_reader(settings),
        "The ConfigMap that says by which certificate and headers kube-apiserver speaks for users.",
    )
    yield File(
        "server-role.yaml",
        rights.server_role(settings, api),
        "Nothing is created in a namespace that is missing or going away."
        + (" The other rules are those of Api(needs=[...]), for the server's own code." if api.needs else ""),
    )
    yield File("server-role-binding.yaml", rights.server_role_binding(settings))
    view, edit = rights.view_role(settings, api), rights.edit_role(settings, api)
    if view is not None:
        why = "For users: who has the cluster's role view, edit or admin may read this API as well."
        yield File("view-role.yaml", view, why)
    if edit is not None:
        why = "For users: who has edit or admin may write as well, but not the status, which is for controllers."
        yield File("edit-role.yaml", edit, why)


def _workload(settings: Settings) -> Iterator[File]:
    if settings.data_directory:
        yield File("volume-claim.yaml", workload.volume_claim(settings))
    yield File("deployment.yaml", workload.deployment(settings))
    if settings.replicas > 1:
        yield File("disruption-budget.yaml", workload.disruption_budget(settings))
    if not settings.host_network:  # to pods in the network of the node no policy applies
        yield File(
            "network-policy.yaml",
            workload.network_policy(settings),
            "Not in kustomization.yaml: what your own code has to reach is not known here. If this is enough for it:\n"
            "kubectl apply -f network-policy.yaml",
            applied=False,
        )


def _registration(settings: Settings, api: Api) -> Iterator[File]:
    yield File("service.yaml", registration.service(settings))
    if settings.cert_manager:
        for name, obj in registration.certificates(settings):
            yield File(f"{name}.yaml", obj)
    for obj in registration.api_services(settings, api):
        # One group is the rule; then the version says enough.
        name = obj["metadata"]["name"] if len(api.groups) > 1 else obj["spec"]["version"]
        yield File(f"apiservice-{name}.yaml", obj, _about_ca(settings))


def _about_ca(settings: Settings) -> str:
    if settings.cert_manager:
        return "cert-manager puts its authority into caBundle."
    return "caBundle is set on the living object, by: extapi manifests ... --patch-ca-bundle"
