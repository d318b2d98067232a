"""The options of a delete.

Responsible for: DeleteOptions from the body or, without a body, from the query (behaviour E45, E46, E50, E51). Must not know
how objects are deleted. Source: ``apimachinery/pkg/apis/meta/v1/validation/validation.go`` ValidateDeleteOptions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from extapi.api.behaviour import Serializer
from extapi.api.jsonvalue import go_json
from extapi.codec import strictjson, strictyaml
from extapi.codec.body import json_type, not_registered
from extapi.codec.negotiation import Format
from extapi.codec.options import GROUP, Query, dry_run_errors, first_value, parse_bool, parse_int64
from extapi.errors import BadRequest, FieldError, Invalid

__all__ = ["DeleteOptions", "delete_options"]

META_VERSION = "meta.k8s.io/v1"
"""The group and version of options that name none."""
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of DELETE and deletecollection.

    None stands for "not given". A ``precondition_resource_version`` of "" is given, and no object has it.
    ``grace_period_seconds`` is never negative (behaviour E51).
    """

    dry_run: bool = False
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    precondition_uid: str | None = None
    precondition_resource_version: str | None = None


def delete_options(
    query: Query, data: bytes = b"", body_format: Format = "json", serializer: Serializer | None = None
) -> DeleteOptions:
    """The options in the body, or without a body those of the query (behaviour E45).

    Args:
        query: The query of the request.
        data: The body.
        body_format: Of the body.
        serializer: Reads a body in protobuf.

    Raises:
        BadRequest: The options cannot be read.
        Invalid: They contradict each other, or have unknown values (behaviour E46).
    """
    found = _from_body(data, body_format, serializer) if data else _from_query(query)
    dry_run = found.get("dryRun") or []
    grace, policy, orphan = (
        found.get(name) for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents")
    )
    errors = []
    if orphan is not None and policy is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        errors.append(FieldError.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += dry_run_errors(dry_run)
    if errors:
        raise Invalid.of("DeleteOptions", GROUP, "", errors)
    preconditions = found.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_period_seconds=1 if grace is not None and grace < 0 else grace,
        propagation_policy=policy,
        orphan_dependents=orphan,
        precondition_uid=preconditions.get("uid"),
        precondition_resource_version=preconditions.get("resourceVersion"),
    )


def _from_query(query: Query) -> dict[str, Any]:
    # In the query, preconditions are parameters of their own, and empty ones do not count.
    preconditions = {name: first_value(query, name) or None for name in ("uid", "resourceVersion")}
    return {
        "preconditions": preconditions,
        "dryRun": list(query.get("dryRun", ())),
        "gracePeriodSeconds": parse_int64(query, "gracePeriodSeconds"),
        "propagationPolicy": first_value(query, "propagationPolicy") if "propagationPolicy" in query else None,
        "orphanDependents": parse_bool(query, "orphanDependents"),
    }


def _from_body(data: bytes, body_format: Format, serializer: Serializer | None) -> dict[str, Any]:
    if body_format == "protobuf" and serializer is not None:
        return _from_envelope(data, serializer)
    out_of_range = ""
    try:
        value = (strictyaml if body_format == "yaml" else strictjson).decode(data).value
    except (
        strictjson.NumberRangeError
    ) as error:  # reported for gracePeriodSeconds alone: other fields are not read as numbers
        value, out_of_range = error.value, error.number
    except ValueError as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from None
    if value is None:
        return {}
    _expect(value, "object", "v1.DeleteOptions")
    kind, api_version = value.get("kind") or "DeleteOptions", value.get("apiVersion") or META_VERSION
    if kind != "DeleteOptions":
        raise BadRequest(not_registered(kind, api_version))
    _expect_field(value, "dryRun", "array", "[]string")
    for item in value.get("dryRun") or []:
        _expect(item, "string", "Go struct field DeleteOptions.dryRun of type string")
    _expect_field(value, "gracePeriodSeconds", "number", "int64")
    _expect_field(value, "propagationPolicy", "string", "v1.DeletionPropagation")
    _expect_field(value, "orphanDependents", "bool", "bool")
    # Accepted without effect: it concerns objects that a store cannot read.
    _expect_field(value, "ignoreStoreReadErrorWithClusterBreakingPotential", "bool", "bool")
    _expect_field(value, "preconditions", "object", "v1.Preconditions")
    preconditions = value.get("preconditions") or {}
    _expect_field(preconditions, "uid", "string", "types.UID", owner="Preconditions.preconditions")
    _expect_field(preconditions, "resourceVersion", "string", "string", owner="Preconditions.preconditions")
    grace = value.get("gracePeriodSeconds")
    if isinstance(grace, float):
        number = go_json(grace) if math.isfinite(grace) else out_of_range
        raise BadRequest(
            f"json: cannot unmarshal number {number} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        )
    found: dict[str, Any] = value
    return found


def _from_envelope(data: bytes, serializer: Serializer) -> dict[str, Any]:
    try:
        api_version, kind, content = serializer.unwrap(data)
        if kind not in ("", "DeleteOptions"):
            raise BadRequest(not_registered(kind, api_version or META_VERSION))
        return serializer.decode("DeleteOptions", content)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _expect_field(value: dict[str, Any], name: str, wanted: str, go_type: str, *, owner: str = "DeleteOptions") -> None:
    """Refuse a member of the wrong type; it may be missing or null."""
    found = value.get(name)
    if found is not None:
        _expect(found, wanted, f"Go struct field {owner}.{name} of type {go_type}")


def _expect(value: Any, wanted: str, go_type: str) -> None:
    actual = json_type(value)
    if actual != wanted:
        raise BadRequest(f"json: cannot unmarshal {actual} into {go_type}")
