"""The managed fields of an object as its ``scale`` subresource shows them, and back.

The wanted number of replicas is one field under two names: a path of the object, and ``spec.replicas`` of the Scale. Whoever
sets it through one of them gets it from those who have it through the other.
Source: ``k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extapi.managedfields.fieldset import FieldSet, Path
from extapi.managedfields.managers import Managed, VersionedSet

REPLICAS: Final[Path] = ("f:spec", "f:replicas")
"""In a Scale."""

ReplicasPaths = Mapping[str, Path | None]
"""The path of the number in an object, by apiVersion; None: the version has no scale."""


def scale_managers(parent: Managed, paths: ReplicasPaths, api_version: str) -> Managed:
    """Who manages the number; ``api_version``: of the Scale."""
    found = Managed()
    for manager, own in parent.sets.items():
        path = paths.get(own.api_version)
        if path is not None and path in own.fields:
            found.sets[manager] = VersionedSet(FieldSet.of(REPLICAS), api_version)
            if manager in parent.times:
                found.times[manager] = parent.times[manager]
    return found


def parent_managers(parent: Managed, scale: Managed, paths: ReplicasPaths, api_version: str) -> Managed:
    """Who manages the object after a write of its Scale.

    Args:
        parent: The managers of the object before.
        scale: The managers of the Scale after.
        paths: Of the object.
        api_version: Of the object, in the request.
    """
    found = Managed()
    taking = dict(scale.sets)
    for manager, own in parent.sets.items():
        if own.api_version not in paths:
            continue
        path = paths[own.api_version]
        left = own.fields
        if path is not None and path in left and taking.pop(manager, None) is None:
            left = left - FieldSet.of(path)
        if left:
            found.sets[manager] = own.having(left)
            if manager in parent.times:
                found.times[manager] = parent.times[manager]
    path = paths[api_version]
    for manager, own in taking.items():
        if path is not None and REPLICAS in own.fields:
            found.sets[manager] = VersionedSet(FieldSet.of(path), api_version)
            # The original forgets the time of who has just got the number.
            if manager in parent.times:
                found.times[manager] = parent.times[manager]
    return found
