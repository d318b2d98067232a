"""What custom resources answer; what built-in kinds do is in ``controlplane/builtin``. The texts are those of 1.36.3."""

from __future__ import annotations

import pytest

from extapi.api.behaviour import CUSTOM_RESOURCE
from extapi.api.names import object_name


def test_verbs_are_listed_in_the_order_of_apiextensions() -> None:
    assert CUSTOM_RESOURCE.routing.discovery_order == (
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    )


def test_refusals_name_the_resource() -> None:
    routing = CUSTOM_RESOURCE.routing
    assert str(routing.no_subresource("example.com", "toppings", "ham")) == 'toppings.example.com "ham" not found'
    assert str(routing.no_verb("example.com", "toppings", "deletecollection")) == (
        'deletecollection is not supported on resources of kind "toppings.example.com"'
    )


@pytest.mark.parametrize(
    ("namespaced", "fields"), [(True, ("metadata.name", "metadata.namespace")), (False, ("metadata.name",))]
)
def test_fields_that_selectors_can_name(namespaced: bool, fields: tuple[str, ...]) -> None:
    selecting = CUSTOM_RESOURCE.selecting
    assert selecting.common((), namespaced=namespaced) == fields
    assert selecting.common(("spec.color",), namespaced=namespaced) == fields
    assert selecting.refusal("spec.size", fields) == "field label not supported: spec.size"


@pytest.mark.parametrize(
    ("group", "name"), [("stable.example.com", "com.example.stable.v1.CronTab"), ("", "io.k8s.api.core.v1.CronTab")]
)
def test_schemas_are_named_after_the_reversed_group(group: str, name: str) -> None:
    assert CUSTOM_RESOURCE.openapi.model_name(group, "v1", "CronTab") == name


def test_a_write_is_stored_as_it_is() -> None:
    storing = CUSTOM_RESOURCE.storing
    obj = {"metadata": {"name": "a", "finalizers": ["unqualified"]}}
    storing.canonicalize(obj)
    assert obj == {"metadata": {"name": "a", "finalizers": ["unqualified"]}}
    assert (storing.finalizer_errors(obj), storing.names) == ((), object_name)
