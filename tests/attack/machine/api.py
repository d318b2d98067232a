"""The API that the machine drives: one kind with everything that a write can touch.

For ``extapi serve tests.attack.machine.api:api`` as well.
"""

from __future__ import annotations

from typing import Any, Final

from extapi import Api, Group, Kind, Scale, Version

GROUP: Final = "machine.example.com"
API_VERSION: Final = f"{GROUP}/v1"
KIND: Final = "Robot"
ALL: Final = f"/apis/{API_VERSION}/robots"
"""The path of all robots of all namespaces."""
DEFAULT_SIZE: Final = 1

_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "step": _INTEGER,
                "color": _STRING,
                "size": {"type": "integer", "default": DEFAULT_SIZE},
                "replicas": _INTEGER,
                "options": {"type": "object", "additionalProperties": _STRING},
                "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
            },
        },
        "status": {"type": "object", "properties": {"step": _INTEGER, "replicas": _INTEGER}},
    },
}

api = Api(
    Group(
        GROUP,
        Kind(
            KIND,
            storage="v1",
            versions={"v1": Version(SCHEMA)},
            scale=Scale(spec_replicas_path=".spec.replicas", status_replicas_path=".status.replicas"),
        ),
    )
)


def robots(namespace: str) -> str:
    """The path of the robots of a namespace."""
    return f"/apis/{API_VERSION}/namespaces/{namespace}/robots"
