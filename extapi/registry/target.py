"""The object that a request names: whatever a client sends or a plugin makes of it is that object, or is refused.

Responsible for: its name and its namespace. Must not know who changed them.
"""

from __future__ import annotations

from extapi.api.types import Obj
from extapi.errors import BadRequest


def check_namespace(obj: Obj, namespace: str, *, namespaced: bool) -> None:
    """Fill in the namespace of the path; drop it from cluster-scoped objects (behaviour E13).

    Args:
        obj: The object; it changes.
        namespace: In the path; empty if it has none.
        namespaced: Whether objects of the kind are in namespaces.

    Raises:
        BadRequest: The object has another namespace.

    Source: ``apiserver/pkg/registry/rest/meta.go`` EnsureObjectNamespaceMatchesRequestNamespace.
    """
    metadata = obj["metadata"]
    if not namespaced:
        metadata.pop("namespace", None)
    elif namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    elif metadata.get("namespace", "") != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def check_name(obj: Obj, name: str) -> None:
    """Check that an object has the name in the path (behaviour E37).

    Args:
        obj: The object.
        name: In the path.

    Raises:
        BadRequest: It has none, or another one.

    Source: ``apiserver/pkg/endpoints/handlers/rest.go`` checkName.
    """
    given = obj["metadata"].get("name", "")
    if not given:
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise BadRequest(f"the name of the object ({given}) does not match the name on the URL ({name})")
