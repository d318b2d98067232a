"""What an expression about a request may use: its variables with their types, and their values.

Imports CEL when the first expression is compiled, for most servers have none.

Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` compile.go and activation.go, ``k8s.io/apiserver/pkg/cel/environment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.authorizing import Checks
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.schema.structural import MISSING

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ANY: Final = {"x-kubernetes-int-or-string": True}
VARIABLES_TYPE: Final = "kubernetes.variables"
"""The name of the type of ``variables``."""


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_KIND: Final = _object(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE: Final = _object(group=_TEXT, version=_TEXT, resource=_TEXT)
REQUEST: Final = _object(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_object(
        username=_TEXT, uid=_TEXT, groups=_TEXTS, extra={"type": "object", "additionalProperties": _TEXTS}
    ),
    dryRun={"type": "boolean"},
    options=_ANY,
)
"""``request``, as kube-apiserver declares it; int-or-string is its way to say: of any type."""

NAMESPACE_METADATA: Final = frozenset(
    {
        *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"),
    }
)
"""What ``namespaceObject`` has of a namespace's metadata."""


class Input(NamedTuple):
    """What expressions look at."""

    obj: Obj | None
    old: Obj | None
    request: Obj
    """The request of the AdmissionReview, without objects."""
    user: User
    resource: tuple[str, str, str, str, str]
    """Group, resource, subresource, namespace and name: what ``authorizer.requestResource`` is about."""
    params: Obj | None = None
    namespace: Obj | None = None
    """The namespace of the request, see :func:`namespace_object`."""


def namespace_object(namespace: Obj | None) -> Obj | None:
    """A namespace as expressions see it.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` CreateNamespaceObject.
    """
    if namespace is None:
        return None
    metadata = namespace.get("metadata") or {}
    return {
        "metadata": {name: value for name, value in metadata.items() if name in NAMESPACE_METADATA},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }


class Declarations(NamedTuple):
    """Which of the variables that not all have an expression may use."""

    params: bool = False
    authorizer: bool = True
    variables: bool = False


def environment(declarations: Declarations, variables: Mapping[str, Any], base: Any = None) -> Any:
    """The environment of an expression.

    Args:
        declarations: What it may use.
        variables: The types (:class:`extapi.schema.cel.types.Type`) of the fields of ``variables``.
        base: The environment (:class:`extapi.schema.cel.environment.Environment`) to add variables to; None: that of stored
            expressions.

    Returns:
        A :class:`extapi.schema.cel.environment.Environment`.
    """
    from extapi.schema.cel.environment import STORED, Variable, base_environment  # noqa: PLC0415 - most servers evaluate no CEL
    from extapi.schema.cel.types import AUTHORIZER, DYN, RESOURCE_CHECK, struct  # noqa: PLC0415 - most servers evaluate no CEL

    request, namespace = _known_types()
    made = [
        Variable("object", DYN),
        Variable("oldObject", DYN),
        Variable("namespaceObject", struct("kubernetes.Namespace")),
        Variable("request", request.type, request),
    ]
    if declarations.params:
        made.append(Variable("params", DYN))
    if declarations.authorizer:
        made += [Variable("authorizer", AUTHORIZER), Variable("authorizer.requestResource", RESOURCE_CHECK)]
    objects = dict(namespace)
    if declarations.variables:
        made.append(Variable("variables", struct(VARIABLES_TYPE)))
        objects[VARIABLES_TYPE] = dict(variables)
    of = base_environment(STORED) if base is None else base
    return of.with_variables(made, {**of.objects, **objects})


@cache
def _known_types() -> tuple[Any, Mapping[str, Mapping[str, Any]]]:
    """The schema of ``request``, and the types of ``namespaceObject`` with their fields.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` BuildRequestType, BuildNamespaceType.
    """
    from extapi.schema.cel.declared import declare  # noqa: PLC0415 - most servers evaluate no CEL
    from extapi.schema.cel.types import INT, STRING, TIMESTAMP, list_of, map_of, struct  # noqa: PLC0415 - most servers evaluate no CEL
    from extapi.schema.structural import from_openapi  # noqa: PLC0415 - most servers evaluate no CEL

    texts, labels = list_of(STRING), map_of(STRING, STRING)
    of = "kubernetes.Namespace"
    condition = dict.fromkeys(("status", "type", "message", "reason"), STRING) | {"lastTransitionTime": TIMESTAMP}
    words = dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING)
    metadata = words | {
        "labels": labels,
        "annotations": labels,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "finalizers": texts,
    }
    request = declare(from_openapi(REQUEST), name="kubernetes.AdmissionRequest")
    return request, {
        of: {"metadata": struct(f"{of}Metadata"), "spec": struct(f"{of}Spec"), "status": struct(f"{of}Status")},
        f"{of}Metadata": metadata,
        f"{of}Spec": {"finalizers": texts},
        f"{of}Status": {"conditions": list_of(struct(f"{of}Condition")), "phase": STRING},
        f"{of}Condition": condition,
    }


def values(given: Input, checks: Checks | None) -> dict[str, Any]:
    """The values of the variables by name.

    Args:
        given: What expressions look at.
        checks: Answers the checks of ``authorizer``; None: there is none.
    """
    from extapi.schema.cel.library.authorization import AuthorizerValue, ResourceCheck  # noqa: PLC0415 - most servers evaluate no CEL

    return {
        "object": given.obj,
        "oldObject": given.old,
        "namespaceObject": given.namespace,
        "request": given.request,
        "params": given.params,
        "authorizer": MISSING if checks is None else AuthorizerValue(checks),
        "authorizer.requestResource": MISSING if checks is None else ResourceCheck(checks, *given.resource),
    }
