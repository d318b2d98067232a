"""Namespaces and service accounts; :mod:`~extapi.controlplane.kinds.data` has the core group's config maps and secrets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from extapi import (
    CLUSTER,
    Atomic,
    Column,
    Description,
    FieldError,
    Kind,
    ListMap,
    Object,
    Strategy,
    Struct,
    Subresource,
)
from extapi.api.markers import MergeKey
from extapi.api.names import dns1123_label, qualified_name
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.authentication import TokenRequest
from extapi.controlplane.kinds.data import CONFIG_MAP, SECRET
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import AGE, Conditions, LocalReference, Reference, Text, kind_of

__all__ = ["CONFIG_MAP", "NAMESPACE", "SECRET", "service_account"]


class NamespaceSpec(Struct):
    """The finalizers of a namespace."""

    finalizers: Annotated[list[str], Atomic(), Description("The namespace is removed when this list is empty.")] = []


class NamespaceStatus(Struct):
    """The phase of a namespace."""

    phase: Annotated[Text, Description("Active or Terminating.")] = None
    conditions: Conditions = []


class Namespace(Object):
    """A scope for names, in which objects of most kinds live."""

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ServiceAccount(Object):
    """An identity for programs, whose user is system:serviceaccount:NAMESPACE:NAME."""

    secrets: Annotated[list[Reference], ListMap("name"), MergeKey("name"), Description("Deprecated.")] = []
    image_pull_secrets: Annotated[list[LocalReference], Atomic(), Description("Secrets for pulling images.")] = []
    automount_service_account_token: Annotated[bool | None, Description("Whether pods get a token of the account.")] = (
        None
    )


class NamespaceStrategy(Strategy):
    """A namespace stays until its list of finalizers is empty. Only ``finalize`` changes that list."""

    def prepare(self, obj: Namespace, old: Namespace | None) -> None:
        """Set the phase and the finalizer of a new namespace; keep the finalizers of an old one."""
        if old is not None:
            obj.spec.finalizers = old.spec.finalizers
            return
        obj.status = NamespaceStatus(phase="Active")
        if "kubernetes" not in obj.spec.finalizers:
            obj.spec.finalizers.append("kubernetes")

    def validate(self, obj: Namespace, old: Namespace | None) -> Iterable[FieldError]:
        """Check the finalizers and the phase. Source: ``kubernetes/pkg/apis/core/validation`` ValidateNamespace."""
        for index, name in enumerate(obj.spec.finalizers):
            path = "spec.finalizers" if old is None else f"spec.finalizers[{index}]"
            for problem in qualified_name(name):
                yield FieldError.invalid(path, name, problem)
            if "/" not in name and name not in {"orphan", "foregroundDeletion", "kubernetes"}:
                why = "name is neither a standard finalizer name nor is it fully qualified"
                yield FieldError.invalid(path, name, why)
        phase = obj.status.phase or ""
        if obj.metadata.deletion_timestamp is None and phase != "Active":
            why = "may only be 'Active' if `deletionTimestamp` is empty"
            yield FieldError.invalid("status.Phase", phase, why)
        if obj.metadata.deletion_timestamp is not None and phase != "Terminating":
            why = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            yield FieldError.invalid("status.Phase", phase, why)

    def prepare_for_deletion(self, obj: Namespace) -> None:
        """Set the phase in which nothing can be created in the namespace."""
        obj.status.phase = "Terminating"
        obj.metadata.deletion_grace_period_seconds = None

    def blocks_deletion(self, obj: Namespace) -> bool:
        """Whether there are finalizers."""
        return bool(obj.spec.finalizers)


def _label_with_name(obj: Obj) -> None:
    """Give a namespace its name as a label, whatever is written; one without a name gets it when it has one."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}


NAMESPACE = kind_of(
    Namespace,
    scope=CLUSTER,
    short_names=["ns"],
    columns=[Column("Status", ".status.phase"), AGE],
    strategy=NamespaceStrategy(),
    selectable=[".status.phase"],
    subresources={"finalize": Subresource(field="spec", without=frozenset({"get", "patch"}))},
    behaviour=built_in(
        MESSAGES,
        names=dns1123_label,
        without=frozenset({"deletecollection"}),
        complete=_label_with_name,
        canonicalize=_label_with_name,
        zero={"spec": {}, "status": {}},
    ),
)


def service_account(token: Any) -> Kind:
    """Service accounts; ``token``: the REST storage of their subresource ``token``."""
    return kind_of(
        ServiceAccount,
        status=False,
        short_names=["sa"],
        subresources={
            "token": Subresource(
                rest=token, group="authentication.k8s.io", version="v1", kind="TokenRequest", type=TokenRequest
            )
        },
        behaviour=built_in(MESSAGES, returns_deleted=True),
    )
