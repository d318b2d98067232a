"""What several kinds are made of, and what all of them do as Kubernetes' own kinds do and custom resources do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from extapi import (
    CLUSTER,
    Atomic,
    Column,
    Default,
    Description,
    Format,
    Kind,
    ListMap,
    Maximum,
    Minimum,
    Object,
    Struct,
    Version,
)
from extapi.api.definition import Scope
from extapi.api.markers import MergeKey
from extapi.api.native import Native
from extapi.api.types import wire_name
from extapi.codec.gobytes import canonical_bytes
from extapi.controlplane.protobuf import MESSAGES
from extapi.errors import BadRequest

Text = str | None
"""A string that is left out when it is empty."""
Time = Annotated[str | None, Format("date-time")]
Int32 = Annotated[int, Format("int32"), Minimum(-(2**31)), Maximum(2**31 - 1)]
ConditionStatus = Annotated[str, Description("True, False or Unknown.")]
Base64 = Annotated[str, Description("Bytes in base64.")]
Extra = Annotated[dict[str, list[str]], Description("What else the authenticator said.")]


def spelled(field: str) -> str:
    """The wire name of a field whose name has an abbreviation in capitals: ``cluster_ips`` becomes ``clusterIPs``."""
    return re.sub(r"(Ip|Tls|Url)(?=s?(?:[A-Z]|$))", lambda found: found[1].upper(), wire_name(field) or field)


AGE = Column("Age", ".metadata.creationTimestamp", "date")
CREATED_AT = Column("Created At", ".metadata.creationTimestamp")


class ObjectReference(Struct):
    """Names an object."""

    kind: Annotated[Text, Description("The kind of the object.")] = None
    namespace: Annotated[Text, Description("The namespace of the object.")] = None
    name: Annotated[Text, Default(""), Description("The name of the object.")] = None
    uid: Annotated[Text, Description("The object with this uid, not another of its name.")] = None
    api_version: Annotated[Text, Description("The version in which the object is meant.")] = None
    resource_version: Annotated[Text, Description("The object as it was at this revision.")] = None
    field_path: Annotated[Text, Description("A part of the object, such as spec.containers[0].")] = None


class LocalObjectReference(Struct):
    """Names an object in the same namespace."""

    name: Annotated[Text, Default(""), Description("The name of the object.")] = None


class Condition(Struct):
    """One aspect of the state that something is in."""

    type: Annotated[str, Description("What the condition is about.")] = ""
    status: ConditionStatus = ""
    last_transition_time: Annotated[Time, Description("When the status changed last.")] = None
    reason: Annotated[Text, Description("Why, in one word for programs.")] = None
    message: Annotated[Text, Description("Why, for people.")] = None


class LabelSelectorRequirement(Struct):
    """A key, values, and how they relate."""

    key: Annotated[str, Description("The key of a label.")] = ""
    operator: Annotated[str, Description("In, NotIn, Exists or DoesNotExist.")] = ""
    values: Annotated[list[str], Atomic(), Description("Values of the label.")] = []


class LabelSelector(Struct):
    """Selects objects by their labels; all that is said has to hold."""

    match_labels: Annotated[dict[str, str], Description("Labels that have just these values.")] = {}
    match_expressions: Annotated[list[LabelSelectorRequirement], Atomic(), Description("Further rules.")] = []


Conditions = Annotated[list[Condition], ListMap("type"), MergeKey("type"), Description("Aspects of its state.")]
Reference = Annotated[ObjectReference, Atomic()]
LocalReference = Annotated[LocalObjectReference, Atomic()]
Selector = Annotated[LabelSelector, Atomic()]


def kind_of(type_: type[Object], *, native: Mapping[str, Any] | None = None, **rules: Any) -> Kind:
    """The kind of a type, in its only version v1; ``rules`` are those of :class:`Kind`.

    It behaves as Kubernetes' own kinds do; ``native``: where it differs from :class:`Native`.
    """
    version = {"v1": Version(type_)}
    return Kind(
        type_.__name__,
        versions=version,
        storage="v1",
        native=Native(**{"protobuf": MESSAGES, **(native or {})}),
        **rules,
    )


def review(type_: type[Object], serves: Any, *, scope: Scope = CLUSTER) -> Kind:
    """A kind that is answered and never kept: ``serves`` has ``async def create(asked, obj)``."""
    return kind_of(type_, scope=scope, status=False, serves=serves)


def canonical(kind: str, text: str) -> str:
    """Base64 as Go writes what it reads. Raises BadRequest; ``kind``: of the object, for its text.

    Fields are not of the format ``byte``, since that does not allow empty ones.
    """
    try:
        return canonical_bytes(text)
    except ValueError as error:
        raise BadRequest(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def port_problems(port: int) -> list[str]:
    """What is wrong with the number of a port (``IsValidPortNum``)."""
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]
