"""CustomResourceDefinitions, of which there are none here: clients look up whether a kind is one of them.

kubectl does so before it validates a kind that it cannot patch, such as a review. They can be read, but not written: a
refusal is clearer than a definition without effect.
"""

from __future__ import annotations

from extapi import CLUSTER, Object
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
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
    behaviour=built_in(MESSAGES, without=frozenset({"create", "update", "patch", "delete", "deletecollection"})),
)
