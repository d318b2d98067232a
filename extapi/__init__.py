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
    Atomic,
    Default,
    Description,
    EmbeddedResource,
    Format,
    IntOrString,
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
    Nullable,
    OneOf,
    Pattern,
    PreserveUnknown,
    Rule,
)
from extapi.api.quantity import Quantity
from extapi.api.types import Object, ObjectMeta, Struct
from extapi.api.user import User
from extapi.client.informer import Informer
from extapi.client.workqueue import WorkQueue
from extapi.errors import ApiError, Conflict, FieldError, Forbidden, NotFound
from extapi.server.controllers import Context, Controller

__all__ = [
    "CLUSTER",
    "NAMESPACED",
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
    "FieldError",
    "Forbidden",
    "Format",
    "Group",
    "Informer",
    "IntOrString",
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
    "NotFound",
    "Nullable",
    "Object",
    "ObjectMeta",
    "OneOf",
    "Operation",
    "Pattern",
    "PreserveUnknown",
    "Quantity",
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
