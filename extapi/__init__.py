"""Kubernetes extension API servers in Python.

The public API is the names in this module and in :mod:`extapi.testing`; everything else may change at any time.
"""

from __future__ import annotations

from extapi.admission.base import Mutator, Operation, Review, Startable, Validator
from extapi.api.column import Column
from extapi.api.conditions import Condition, Conditions, set_condition
from extapi.api.connect import (
    BodyReader,
    ConnectionClosed,
    ConnectRequest,
    StreamingResponse,
    UpgradedConnection,
    UpgradeResponse,
    WebSocket,
    WebSocketResponse,
)
from extapi.api.definition import CLUSTER, NAMESPACED, Api, Group, Kind, Version
from extapi.api.feed import RELIST, Deleted, ObjectEvent
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
)
from extapi.api.policyrule import PolicyRule
from extapi.api.protocols import Creater, Deleter, Feed, Getter, Lister, RESTRequest, Updater, Watcher
from extapi.api.quantity import Quantity
from extapi.api.rule import Rule
from extapi.api.scale import Scale
from extapi.api.strategy import Strategy
from extapi.api.subresource import Subresource
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.api.user import User
from extapi.client.dynamic import DynamicClient
from extapi.client.informer import Informer
from extapi.client.recorder import EventRecorder
from extapi.client.transport import TransportError
from extapi.client.workqueue import WorkQueue
from extapi.clock import wall_time
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
from extapi.server.leadership import Leadership

__all__ = [
    "CLUSTER",
    "NAMESPACED",
    "RELIST",
    "AllOf",
    "AlreadyExists",
    "AnyOf",
    "Api",
    "ApiError",
    "Atomic",
    "BadRequest",
    "BodyReader",
    "Column",
    "Condition",
    "Conditions",
    "Conflict",
    "ConnectRequest",
    "ConnectionClosed",
    "Context",
    "Controller",
    "Creater",
    "Default",
    "Deleted",
    "Deleter",
    "Description",
    "Duration",
    "DynamicClient",
    "EmbeddedResource",
    "EventRecorder",
    "ExactlyOneOf",
    "Expired",
    "Feed",
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
    "Leadership",
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
    "ObjectEvent",
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
    "StreamingResponse",
    "Struct",
    "Subresource",
    "Timeout",
    "TooManyRequests",
    "TransportError",
    "Updater",
    "UpgradeResponse",
    "UpgradedConnection",
    "User",
    "Validator",
    "Version",
    "Watcher",
    "WebSocket",
    "WebSocketResponse",
    "WorkQueue",
    "duration_seconds",
    "selector_matches",
    "set_condition",
    "wall_time",
]
