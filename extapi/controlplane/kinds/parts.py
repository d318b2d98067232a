"""Types of fields that several kinds have, and how kinds are declared."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from extapi import (
    CLUSTER,
    Atomic,
    BadRequest,
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
from extapi.api.behaviour import Behaviour
from extapi.api.definition import Scope
from extapi.api.markers import MergeKey
from extapi.api.types import Obj, wire_name
from extapi.codec.gobytes import canonical_bytes
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES

Text = str | None
"""A string that is omitted if it is empty."""
Time = Annotated[str | None, Format("date-time")]
Int32 = Annotated[int, Format("int32"), Minimum(-(2**31)), Maximum(2**31 - 1)]
ConditionStatus = Annotated[str, Description("True, False or Unknown.")]
Base64 = Annotated[str, Description("Bytes in base64.")]
Extra = Annotated[dict[str, list[str]], Description("Further data of the authenticator.")]


def spelled(field: str) -> str:
    """The wire name of a field, with abbreviations in capitals: ``cluster_ips`` becomes ``clusterIPs``."""
    return re.sub(r"(Ip|Tls|Url)(?=s?(?:[A-Z]|$))", lambda found: found[1].upper(), wire_name(field) or field)


AGE = Column("Age", ".metadata.creationTimestamp", "date")
CREATED_AT = Column("Created At", ".metadata.creationTimestamp")


class ObjectReference(Struct):
    """A reference to an object."""

    kind: Annotated[Text, Description("The kind of the object.")] = None
    namespace: Annotated[Text, Description("The namespace of the object.")] = None
    name: Annotated[Text, Default(""), Description("The name of the object.")] = None
    uid: Annotated[Text, Description("The uid of the object.")] = None
    api_version: Annotated[Text, Description("The API version of the object.")] = None
    resource_version: Annotated[Text, Description("The resource version of the object.")] = None
    field_path: Annotated[Text, Description("A part of the object, such as spec.containers[0].")] = None


class LocalObjectReference(Struct):
    """A reference to an object in the same namespace."""

    name: Annotated[Text, Default(""), Description("The name of the object.")] = None


class StatusCondition(Struct):
    """One aspect of the state of an object."""

    # NamespaceCondition and APIServiceCondition, which have the same fields: those of ``metav1.Condition`` but for
    # observedGeneration. It is not the promised ``Condition``, whose schema refuses what Go's decoder reads.

    type: Annotated[str, Description("What the condition is about.")] = ""
    status: ConditionStatus = ""
    last_transition_time: Annotated[Time, Description("When the status changed last.")] = None
    reason: Annotated[Text, Description("Why, in one word for programs.")] = None
    message: Annotated[Text, Description("Why, for people.")] = None


class SelectorRequirement(Struct):
    """A key, values, and how they relate."""

    # ``metav1.LabelSelectorRequirement`` and ``metav1.FieldSelectorRequirement`` as Go's decoder reads them. The promised
    # ``LabelSelectorRequirement`` has required fields and an enum, whose refusals would have other texts.
    key: Annotated[str, Description("The key of a label.")] = ""
    operator: Annotated[str, Description("In, NotIn, Exists or DoesNotExist.")] = ""
    values: Annotated[list[str], Atomic(), Description("Values of the label.")] = []


Conditions = Annotated[list[StatusCondition], ListMap("type"), MergeKey("type"), Description("Aspects of its state.")]
Reference = Annotated[ObjectReference, Atomic()]
LocalReference = Annotated[LocalObjectReference, Atomic()]


BUILT_IN: Final = built_in(MESSAGES)
"""The behaviour of kinds whose strategy in Kubernetes overrides nothing."""


def part_of(obj: Obj, name: str) -> Obj:
    """A part of an object that may break its schema; an empty one if there is none."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def kind_of(type_: type[Object], *, behaviour: Behaviour = BUILT_IN, **rules: Any) -> Kind:
    """The kind of a type, with the one version v1; ``rules``: further arguments of :class:`Kind`."""
    version = {"v1": Version(type_)}
    return Kind(type_.__name__, versions=version, storage="v1", behaviour=behaviour, **rules)


def review(type_: type[Object], rest: Any, *, scope: Scope = CLUSTER) -> Kind:
    """A virtual kind that can only be created, by ``rest``."""
    zero: Obj = {name: {} for name in ("spec", "status") if name in type_.__struct_fields__}
    return kind_of(type_, scope=scope, status=False, rest=rest, behaviour=built_in(MESSAGES, zero=zero))


def canonical(kind: str, text: str) -> str:
    """The base64 that Go writes after reading ``text``; ``kind``: of the object.

    Fields do not have the format ``byte``, since that does not allow empty ones.

    Raises:
        BadRequest: Go's decoder refuses it.
    """
    try:
        return canonical_bytes(text)
    except ValueError as error:
        raise BadRequest(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def port_problems(port: int) -> list[str]:
    """What is wrong with the number of a port (``IsValidPortNum``)."""
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]
