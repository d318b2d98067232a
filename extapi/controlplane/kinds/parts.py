"""What several kinds are made of, and what all of them do as Kubernetes' own kinds do and custom resources do not."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Any

from extapi import Atomic, Column, Default, Description, Format, ListMap, Maximum, Minimum, Struct
from extapi.api.definition import Native
from extapi.api.markers import MergeKey
from extapi.api.types import wire_name
from extapi.controlplane.protobuf import MESSAGES
from extapi.errors import BadRequest

Text = str | None
"""A string that is left out when it is empty."""
Time = Annotated[str | None, Format("date-time")]
Int32 = Annotated[int, Format("int32"), Minimum(-(2**31)), Maximum(2**31 - 1)]
ConditionStatus = Annotated[str, Description("True, False or Unknown.")]
Extra = Annotated[dict[str, list[str]], Description("What else the authenticator said.")]


def spelled(field: str) -> str:
    """The wire name of a field whose name has an abbreviation in capitals: ``cluster_ips`` becomes ``clusterIPs``."""
    return re.sub(r"(Ip|Tls|Url)(?=s?(?:[A-Z]|$))", lambda found: found[1].upper(), wire_name(field) or field)


Base64 = Annotated[str, Description("Bytes in base64.")]

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


def native(**rules: Any) -> Native:
    """What Kubernetes' own kinds do, and ``rules`` of :class:`Native` where a kind differs."""
    return Native(protobuf=MESSAGES, **{"finalizers": True, **rules})


def canonical(kind: str, text: str) -> str:
    """Base64 as Go writes what it reads, line breaks left out. Raises BadRequest with the text of Go's decoder.

    ``kind``: of the object, for that text. Fields are not of the format ``byte``, since that does not allow empty ones.
    """
    text = re.sub(r"[\r\n]", "", text)
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii's own error is one
        data = None
    if data is None or len(text) % 4:
        why = f"illegal base64 data at input byte {_wrong_byte(text)}"
        raise BadRequest(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')
    return base64.b64encode(data).decode()


def _wrong_byte(text: str) -> int:
    """Where Go's decoder gives up on base64 that is wrong."""
    at = len(text) - len(re.sub(r"^[A-Za-z0-9+/]*", "", text))
    if at == len(text):
        return at - at % 4
    missing = 4 - at % 4
    if text[at] != "=" or missing > 2:
        return at
    if text[at : at + missing] == "=" * missing:
        return at + missing
    return len(text) if at + 1 == len(text) else at


def byte_count(text: str) -> int:
    """How many bytes :func:`canonical` base64 stands for."""
    return len(text) // 4 * 3 - text.count("=")


def port_problems(port: int) -> list[str]:
    """What is wrong with the number of a port (``IsValidPortNum``)."""
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]
