"""The messages of ``meta/v1``: those that are written for every kind, and the parts that all kinds share.

Must not know kinds. Source: ``apimachinery/pkg/apis/meta/v1`` generated.proto and types.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from extapi.codec.protobuftable import read_table
from extapi.codec.protobufwriting import list_bytes, message_bytes, wrap

__all__ = ["META", "partial_bytes", "partial_list_bytes", "status_bytes"]

META = """
ListMeta: 1 selfLink; 2 resourceVersion; 3 continue; 4 remainingItemCount? int64
Status: 1 metadata ListMeta; 2 status; 3 message; 4 reason; 5 details? StatusDetails; 6 code int32
StatusDetails: 1 name; 2 group; 3 kind; 4 causes []StatusCause; 5 retryAfterSeconds int32; 6 uid
StatusCause: 1 reason; 2 message; 3 field
PartialObjectMetadata: 1 metadata ObjectMeta
DeleteOptions: 1 gracePeriodSeconds? int64; 2 preconditions? Preconditions; 3 orphanDependents? bool;
    4 propagationPolicy?; 5 dryRun []string; 6 ignoreStoreReadErrorWithClusterBreakingPotential? bool
Preconditions: 1 uid?; 2 resourceVersion?
ObjectMeta: 1 name; 2 generateName; 3 namespace; 4 selfLink; 5 uid; 6 resourceVersion; 7 generation int64;
    8 creationTimestamp Time; 9 deletionTimestamp? Time; 10 deletionGracePeriodSeconds? int64;
    11 labels map<string,string>; 12 annotations map<string,string>; 13 ownerReferences []OwnerReference;
    14 finalizers []string; 17 managedFields []ManagedFieldsEntry
OwnerReference: 1 kind!; 3 name!; 4 uid!; 5 apiVersion!; 6 controller? bool; 7 blockOwnerDeletion? bool
ManagedFieldsEntry: 1 manager; 2 operation; 3 apiVersion; 4 time? Time; 6 fieldsType; 7 fieldsV1? FieldsV1;
    8 subresource
LabelSelector: 1 matchLabels map<string,string>; 2 matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement: 1 key!; 2 operator!; 3 values []string
FieldSelectorRequirement: 1 key!; 2 operator!; 3 values []string
Condition: 1 type!; 2 status!; 3 observedGeneration int64; 4 lastTransitionTime Time; 5 reason!; 6 message!
"""
"""The table of these messages; tables of kinds begin with it."""

_MESSAGES = read_table(META)


def status_bytes(status: Mapping[str, Any]) -> bytes:
    """A Status in its envelope."""
    return wrap("v1", "Status", message_bytes(_MESSAGES, "Status", status))


def partial_bytes(obj: Mapping[str, Any], *, version: str = "v1") -> bytes:
    """The PartialObjectMetadata of an object, in its envelope."""
    return wrap(
        f"meta.k8s.io/{version}", "PartialObjectMetadata", message_bytes(_MESSAGES, "PartialObjectMetadata", obj)
    )


def partial_list_bytes(
    objects: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any], *, version: str = "v1"
) -> bytes:
    """The PartialObjectMetadataList of some objects, in its envelope."""
    raw = list_bytes(_MESSAGES, "PartialObjectMetadata", metadata, objects)
    return wrap(f"meta.k8s.io/{version}", "PartialObjectMetadataList", raw)
