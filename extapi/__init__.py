"""extapi: Kubernetes extension API servers in Python.

What stands here is the promise: the names that an author may import. Nothing else is public, but for ``extapi.testing``.
"""

from __future__ import annotations

from extapi.admission.base import Mutator, Operation, Review, Validator
from extapi.api.definition import (
    CLUSTER,
    NAMESPACED,
    Api,
    Asked,
    Column,
    Group,
    Kind,
    Strategy,
    Subresource,
    Version,
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
from extapi.api.quantity import Quantity
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.api.user import User
from extapi.client.informer import Informer
from extapi.client.workqueue import WorkQueue
from extapi.errors import ApiError, Conflict, FieldError, Forbidden, NotFound
from extapi.server.context import Context
from extapi.server.controllers import Controller

__all__ = [
    "CLUSTER",
    "NAMESPACED",
    "AllOf",
    "AnyOf",
    "Api",
    "ApiError",
    "Asked",
    "Atomic",
    "Column",
    "Conflict",
    "Context",
    "Controller",
    "Default",
    "Description",
    "EmbeddedResource",
    "ExactlyOneOf",
    "FieldError",
    "Forbidden",
    "Format",
    "Group",
    "Informer",
    "IntOrString",
    "Items",
    "Kind",
    "ListMap",
    "ListSet",
    "MaxItems",
    "MaxLength",
    "MaxProperties",
    "Maximum",
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
    "PreserveUnknown",
    "Property",
    "Quantity",
    "Required",
    "Review",
    "Rule",
    "Strategy",
    "Struct",
    "Subresource",
    "User",
    "Validator",
    "Version",
    "WorkQueue",
]
