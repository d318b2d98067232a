"""The schemas of ``meta/v1`` that every document holds, and the metadata in those of kinds.

A reference is written ``{"ref": NAME}`` with a name of meta/v1; the versions of OpenAPI write them out differently.
Names and fields are those of ``k8s.io/apimachinery/pkg/apis/meta/v1``, the descriptions our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.schema.openapi_model import DOCS, META, ResourceModel

Reference = Callable[[str, str], dict[str, Any]]


def _of(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"description": description, "type": kind} | more


def _text(description: str) -> dict[str, Any]:
    return _of("string", description)


def _count(description: str, form: str = "int64") -> dict[str, Any]:
    return _of("integer", description, format=form)


def _ref(name: str, description: str) -> dict[str, Any]:
    return {"ref": name, "description": description}


def _map(description: str) -> dict[str, Any]:
    return _of("object", description, additionalProperties={"type": "string", "default": ""})


def _list(items: dict[str, Any], description: str, kind: str = "atomic", **more: Any) -> dict[str, Any]:
    return _of("array", description, items=items, **{"x-kubernetes-list-type": kind}, **more)


def _object(description: str, properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return _of("object", description, properties=properties, **more)


def type_meta() -> dict[str, Any]:
    """The properties apiVersion and kind."""
    return {
        "apiVersion": _text(f"The version of the schema that this object is written in. More info: {DOCS}#resources"),
        "kind": _text(f"The kind of the object, in CamelCase; cannot be changed. More info: {DOCS}#types-kinds"),
    }


_OBJECT_META = _object(
    "Metadata that every stored object has.",
    {
        "annotations": _map("Free data that tools attach to the object; not queryable."),
        "creationTimestamp": _ref("Time", "When the object was created. Set by the server."),
        "deletionGracePeriodSeconds": _count("Seconds that the object may take to end. Set by the server."),
        "deletionTimestamp": _ref("Time", "When the object will be gone, once its deletion is asked for."),
        "finalizers": _list(
            {"type": "string", "default": ""},
            "What has to be done before the object goes; it is removed when the list is empty.",
            "set",
            **{"x-kubernetes-patch-strategy": "merge"},
        ),
        "generateName": _text("A prefix from which the server makes a unique name, where no name is given."),
        "generation": _count("Counts changes of the desired state. Set by the server."),
        "labels": _map("Keys and values by which objects are organised and selected."),
        "managedFields": _list({"ref": "ManagedFieldsEntry"}, "Which manager holds which fields. Kept by the server."),
        "name": _text("The name, unique in its namespace; cannot be changed."),
        "namespace": _text("The namespace in which the name is unique; empty for cluster-wide objects."),
        "ownerReferences": _list(
            {"ref": "OwnerReference"},
            "The objects that this one depends on; when all are gone, it is collected.",
            "map",
            **{
                "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-merge-key": "uid",
                "x-kubernetes-patch-strategy": "merge",
            },
        ),
        "resourceVersion": _text("An opaque version of the object, for change detection and optimistic locking."),
        "selfLink": _text("Deprecated, and no longer set."),
        "uid": _text("Unique in time and space. Set by the server."),
    },
)

_STATUS = _object(
    "The answer of calls that do not return another object.",
    {
        **type_meta(),
        "code": _count("The HTTP code; 0 if not set.", "int32"),
        "details": _ref("StatusDetails", "More about the reason."),
        "message": _text("What happened, for people."),
        "metadata": _ref("ListMeta", "Metadata of lists."),
        "reason": _text("Why the call failed, for programs."),
        "status": _text("Success or Failure."),
    },
)

_DELETE_OPTIONS = _object(
    "How an object is to be deleted.",
    {
        **type_meta(),
        "dryRun": _list({"type": "string", "default": ""}, "Check only, do not delete. The one allowed value is All."),
        "gracePeriodSeconds": _count("Seconds until the object goes; 0: at once."),
        "orphanDependents": _of("boolean", "Deprecated, use propagationPolicy: whether dependents stay."),
        "preconditions": _ref("Preconditions", "What has to hold for the deletion; otherwise it is a conflict."),
        "propagationPolicy": _text("What becomes of dependents: Orphan, Background or Foreground."),
    },
)

META_SCHEMAS: Final[Mapping[str, Any]] = {
    "DeleteOptions": _DELETE_OPTIONS,
    "FieldsV1": _of("object", "A set of fields as a tree of keys such as f:spec."),
    "ListMeta": _object(
        "Metadata of lists.",
        {
            "continue": _text("Set if there is more: the token for the next page."),
            "remainingItemCount": _count("How many objects follow on later pages, where that is known."),
            "resourceVersion": _text("The version of the whole list, from which a watch can begin."),
            "selfLink": _text("Deprecated, and no longer set."),
        },
    ),
    "ManagedFieldsEntry": _object(
        "The fields that one manager holds.",
        {
            "apiVersion": _text("The version in which the fields are named."),
            "fieldsType": _text("The format of the fields: FieldsV1."),
            "fieldsV1": _ref("FieldsV1", "The fields."),
            "manager": _text("The name of the manager."),
            "operation": _text("How it came to hold them: Apply or Update."),
            "subresource": _text("Through which subresource; empty for the main one."),
            "time": _ref("Time", "When the entry last changed."),
        },
    ),
    "ObjectMeta": _OBJECT_META,
    "OwnerReference": _object(
        "An object that another one depends on, in the same namespace or cluster-wide.",
        {
            "apiVersion": _text("The owner's API version.") | {"default": ""},
            "blockOwnerDeletion": _of("boolean", "Whether a foreground deletion of the owner waits for this object."),
            "controller": _of("boolean", "Whether the owner is the controller of this object."),
            "kind": _text("The owner's kind.") | {"default": ""},
            "name": _text("The owner's name.") | {"default": ""},
            "uid": _text("The owner's uid.") | {"default": ""},
        },
        required=["apiVersion", "kind", "name", "uid"],
        **{"x-kubernetes-map-type": "atomic"},
    ),
    "Patch": _of("object", "A patch in the format that Content-Type names."),
    "Preconditions": _object(
        "What has to hold for a change.",
        {
            "resourceVersion": _text("The resourceVersion that the object must have."),
            "uid": _text("The uid that the object must have."),
        },
    ),
    "Status": _STATUS,
    "StatusCause": _object(
        "One of several causes of a failure.",
        {
            "field": _text("The field that caused it, such as spec.items[0].name."),
            "message": _text("What is wrong, for people."),
            "reason": _text("What is wrong, for programs."),
        },
    ),
    "StatusDetails": _object(
        "More about a failure.",
        {
            "causes": _list({"ref": "StatusCause"}, "Each cause, where there are several."),
            "group": _text("The group of the resource."),
            "kind": _text("The resource or kind."),
            "name": _text("The object's name."),
            "retryAfterSeconds": _count("When to try again.", "int32"),
            "uid": _text("The object's uid."),
        },
    ),
    "Time": _of("string", "A time as RFC 3339 writes it.", format="date-time"),
}


def written(schema: Any, reference: Reference) -> Any:
    """A schema of :data:`META_SCHEMAS`, its references written out."""
    if isinstance(schema, list):
        return [written(item, reference) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if isinstance(schema.get("ref"), str):
        return reference(META + schema["ref"], schema.get("description", ""))
    return {key: written(value, reference) for key, value in schema.items()}


def list_schema(model: ResourceModel, reference: Reference) -> dict[str, Any]:
    """The schema of a kind's list."""
    items = _of("array", f"List of {model.plural}. More info: {DOCS}", items=reference(model.name, ""))
    return {
        "description": f"{model.list_kind} is a list of {model.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **type_meta(),
            "items": items,
            "metadata": reference(f"{META}ListMeta", "The list's metadata: resourceVersion, continue and so on."),
        },
        "x-kubernetes-group-version-kind": [model.gvk | {"kind": model.list_kind}],
    }


def embed(schema: dict[str, Any], reference: Reference, *, keep_open: bool = False) -> None:
    """Add apiVersion, kind and metadata to embedded objects, in place.

    ``keep_open``: not where unknown fields are kept, since old kubectl would then refuse them.
    """
    for sub in schema.get("properties", {}).values():
        embed(sub, reference, keep_open=keep_open)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            embed(schema[key], reference, keep_open=keep_open)
    if not schema.get("x-kubernetes-embedded-resource"):
        return
    if keep_open and schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    metadata = reference(f"{META}ObjectMeta", "The object's metadata: name, labels and so on.")
    schema["properties"] = {**schema.get("properties", {}), **type_meta(), "metadata": metadata}
    required = list(schema.get("required", []))
    schema["required"] = required + [key for key in ("kind", "apiVersion") if key not in required]
