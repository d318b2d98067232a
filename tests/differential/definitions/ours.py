"""How our validation answers: the Status of a definition that is created or changed, without a server."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from extapi.api.metadata import coerce
from extapi.api.metadata_rules import validate_object_meta
from extapi.api.names import object_name
from extapi.crd.defaults import set_defaults
from extapi.crd.validation import validate_create, validate_update
from extapi.errors import FieldError, Invalid
from tests.differential.definitions.building import Manifest

GROUP, KIND = "apiextensions.k8s.io", "CustomResourceDefinition"


def created(manifest: Manifest) -> dict[str, Any] | None:
    """The Status that refuses a new definition; None if it is accepted."""
    obj = _decoded(manifest)
    obj["metadata"]["generation"] = 1
    of_metadata = validate_object_meta(obj, namespaced=False, name_rule=object_name)
    found = validate_create(obj)
    # The name's own rule stands beside those of all names.
    named = [error for error in found if error.path.startswith("metadata.") and "annotations[" not in error.path]
    before = [error for error in of_metadata if error.path in {each.path for each in named}]
    rest = [error for error in of_metadata if error not in before]
    return _status(obj, [*before, *named, *rest, *(error for error in found if error not in named)])


def updated(manifest: Manifest, stored: Mapping[str, Any]) -> dict[str, Any] | None:
    """The Status that refuses a change of a stored definition; None if it is accepted."""
    obj = _decoded(manifest)
    obj["status"] = copy.deepcopy(stored["status"])
    for version in obj["spec"].get("versions") or ():
        if version.get("storage"):
            if version["name"] not in obj["status"]["storedVersions"]:
                obj["status"]["storedVersions"].append(version["name"])
            break
    return _status(obj, validate_update(obj, stored))


def _decoded(manifest: Manifest) -> dict[str, Any]:
    obj = copy.deepcopy(manifest)
    obj["metadata"] = coerce(obj["metadata"]).metadata
    obj.pop("status", None)
    set_defaults(obj)
    return obj


def _status(obj: Mapping[str, Any], errors: list[FieldError]) -> dict[str, Any] | None:
    return Invalid.of(KIND, GROUP, obj["metadata"].get("name", ""), errors).status() if errors else None


def neutral(status: Any) -> Any:
    """A Status without the numbers that the compiler of rules gives to types."""
    if isinstance(status, str):
        return re.sub(r"selfType\d+", "selfType", status)
    if isinstance(status, dict):
        return {key: neutral(value) for key, value in status.items()}
    return [neutral(each) for each in status] if isinstance(status, list) else status
