"""CustomResourceDefinitions, of which there are none here: clients look whether a kind is one of them.

kubectl does so before it validates what it cannot patch, such as a review. Reading works as everywhere; nothing can be
written, which says more clearly than a definition without effect that custom resources are not served.
"""

from __future__ import annotations

from extapi import CLUSTER, Object
from extapi.controlplane.kinds.parts import CREATED_AT, kind_of


class CustomResourceDefinition(Object):
    """Declares a kind. None can be declared on this control plane: serve it from an extension server instead."""


CUSTOM_RESOURCE_DEFINITION = kind_of(
    CustomResourceDefinition,
    scope=CLUSTER,
    status=False,
    short_names=["crd", "crds"],
    categories=["api-extensions"],
    columns=[CREATED_AT],
    native={"without": frozenset({"create", "update", "patch", "delete", "deletecollection"})},
)
