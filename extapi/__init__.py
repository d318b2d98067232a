"""Kubernetes extension API servers in Python.

The public API is the names in this module and in :mod:`extapi.testing`; everything else may change at any time.
"""

from __future__ import annotations

from extapi.admission.base import Mutator, Operation, Review, Startable, Validator
from extapi.api.column import Column
from extapi.api.conditions import Condition, Conditions, set_condition
from extapi.api.definition import CLUSTER, NAMESPACED, Api, Group, Kind, Subresource, Version
from extapi.api.fieldtypes import (
    Duration,
    IntOrPercent,
    LabelSelector,
    QuantityStr,
    SecretRef,
    duration_seconds,
    selector_matches,
)
from extapi.api.markers import (
    AllOf,
    AnyOf,
    Atomic,
    Default,
    Description,
    EmbeddedResource,
    ExactlyOneOf,
    Format,
    IntOrString,
    Items,
    ListMap,
    ListSet,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    Not,
    Nullable,
    OneOf,
    Pattern,
    PreserveUnknown,
    Property,
    Required,
    Rule,
)
from extapi.api.policyrule import PolicyRule
from extapi.api.protocols import Creater, Deleter, Getter, Lister, RESTRequest, Updater
from extapi.api.quantity import Quantity
from extapi.api.scale import Scale
from extapi.api.strategy import Strategy
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.api.user import User
from extapi.client.dynamic import DynamicClient
from extapi.client.informer import Informer
from extapi.client.recorder import EventRecorder
from extapi.client.transport import TransportError
from extapi.client.workqueue import WorkQueue
from extapi.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    FieldError,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from extapi.server.context import Context
from extapi.server.controllers import Controller

__all__ = [
    "CLUSTER",
    "NAMESPACED",
    "AllOf",
    "AlreadyExists",
    "AnyOf",
    "Api",
    "ApiError",
    "Atomic",
    "BadRequest",
    "Column",
    "Condition",
    "Conditions",
    "Conflict",
    "Context",
    "Controller",
    "Creater",
    "Default",
    "Deleter",
    "Description",
    "Duration",
    "DynamicClient",
    "EmbeddedResource",
    "EventRecorder",
    "ExactlyOneOf",
    "Expired",
    "FieldError",
    "Forbidden",
    "Format",
    "Getter",
    "Gone",
    "Group",
    "Informer",
    "IntOrPercent",
    "IntOrString",
    "InternalError",
    "Invalid",
    "Items",
    "Kind",
    "LabelSelector",
    "ListMap",
    "ListSet",
    "Lister",
    "MaxItems",
    "MaxLength",
    "MaxProperties",
    "Maximum",
    "MethodNotAllowed",
    "MinItems",
    "MinLength",
    "MinProperties",
    "Minimum",
    "MultipleOf",
    "Mutator",
    "Not",
    "NotFound",
    "Nullable",
    "Object",
    "ObjectMeta",
    "OneOf",
    "Operation",
    "Pattern",
    "PolicyRule",
    "PreserveUnknown",
    "Property",
    "Quantity",
    "QuantityStr",
    "RESTRequest",
    "Required",
    "Review",
    "Rule",
    "Scale",
    "SecretRef",
    "ServiceUnavailable",
    "Startable",
    "Strategy",
    "Struct",
    "Subresource",
    "Timeout",
    "TooManyRequests",
    "TransportError",
    "Updater",
    "User",
    "Validator",
    "Version",
    "WorkQueue",
    "duration_seconds",
    "selector_matches",
    "set_condition",
]
