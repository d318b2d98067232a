"""The kinds of the core group that are nobody's own: namespaces, service accounts, and from ``data`` beside what they hold."""

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
from extapi.controlplane.kinds.authentication import TokenRequest
from extapi.controlplane.kinds.data import CONFIG_MAP, SECRET
from extapi.controlplane.kinds.parts import AGE, Conditions, LocalReference, Reference, Text, kind_of

__all__ = ["CONFIG_MAP", "NAMESPACE", "SECRET", "service_account"]


class NamespaceSpec(Struct):
    """What keeps a namespace."""

    finalizers: Annotated[list[str], Atomic(), Description("Must be empty before the namespace goes.")] = []


class NamespaceStatus(Struct):
    """Where a namespace is in its life."""

    phase: Annotated[Text, Description("Active or Terminating.")] = None
    conditions: Conditions = []


class Namespace(Object):
    """A scope for names: objects of most kinds live in one."""

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ServiceAccount(Object):
    """An identity for programs. Its user is system:serviceaccount:NAMESPACE:NAME."""

    secrets: Annotated[list[Reference], ListMap("name"), MergeKey("name"), Description("Deprecated.")] = []
    image_pull_secrets: Annotated[list[LocalReference], Atomic(), Description("Secrets for pulling images.")] = []
    automount_service_account_token: Annotated[bool | None, Description("Whether pods get a token of it.")] = None


class NamespaceStrategy(Strategy):
    """A namespace stays until its finalizers have emptied it. They are changed through ``finalize`` only."""

    def prepare(self, obj: Namespace, old: Namespace | None) -> None:
        """Begin the life of a namespace; keep its finalizers later."""
        if old is not None:
            obj.spec.finalizers = old.spec.finalizers
            return
        obj.status = NamespaceStatus(phase="Active")
        if "kubernetes" not in obj.spec.finalizers:
            obj.spec.finalizers.append("kubernetes")

    def validate(self, obj: Namespace, old: Namespace | None) -> Iterable[FieldError]:
        """The finalizers have names, and the phase fits. Source: ``ValidateNamespace`` and its updates."""
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

    def begin_deletion(self, obj: Namespace) -> None:
        """From now on nothing can be created in it."""
        obj.status.phase = "Terminating"
        obj.metadata.deletion_grace_period_seconds = None

    def holds(self, obj: Namespace) -> bool:
        """Until the last finalizer is gone."""
        return bool(obj.spec.finalizers)


def _named_by_label(obj: Obj) -> None:
    """Every namespace has its name as a label, whatever is written of it."""
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
    native={"names": dns1123_label, "without": frozenset({"deletecollection"}), "canonical": _named_by_label},
)


def service_account(token: Any) -> Kind:
    """Service accounts; ``token`` answers for their subresource ``token`` (``async def create(asked, obj)``)."""
    return kind_of(
        ServiceAccount,
        status=False,
        short_names=["sa"],
        subresources={
            "token": Subresource(
                serves=token, group="authentication.k8s.io", version="v1", kind="TokenRequest", type=TokenRequest
            )
        },
        native={"returns_deleted": True},
    )
