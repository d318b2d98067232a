"""The number of replicas is one field under two names: ``managedfields/scalehandler_test.go`` in apimachinery."""

from __future__ import annotations

from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.managers import APPLY, UPDATE, Managed, Manager, VersionedSet
from extapi.managedfields.scale import REPLICAS, parent_managers, scale_managers

OWN = ("f:spec", "f:count")
PATHS = {"g/v1": OWN, "g/v2": None}
SCALE = "autoscaling/v1"
ONE, TWO, THREE = Manager("one", UPDATE, "g/v1"), Manager("two", APPLY), Manager("hpa", UPDATE, SCALE, "scale")


def of(*entries: tuple[Manager, str, FieldSet], times: dict[Manager, str] | None = None) -> Managed:
    return Managed({manager: VersionedSet(fields, version) for manager, version, fields in entries}, dict(times or {}))


def test_a_scale_shows_who_has_the_number() -> None:
    other = FieldSet.of(("f:spec", "f:other"))
    parent = of(
        (ONE, "g/v1", FieldSet.of(OWN, ("f:spec", "f:other"))), (TWO, "g/v1", other), (THREE, "g/v2", FieldSet.of(OWN)),
        times={ONE: "t"},
    )  # fmt: skip
    assert scale_managers(parent, PATHS, SCALE) == of((ONE, SCALE, FieldSet.of(REPLICAS)), times={ONE: "t"})


def test_who_keeps_the_number_keeps_its_entry() -> None:
    parent = of((ONE, "g/v1", FieldSet.of(OWN)), times={ONE: "t"})
    scale = of((ONE, SCALE, FieldSet.of(REPLICAS)), times={ONE: "later"})
    assert parent_managers(parent, scale, PATHS, "g/v1") == parent


def test_who_takes_the_number_takes_it_from_the_object() -> None:
    parent = of((ONE, "g/v1", FieldSet.of(OWN, ("f:spec", "f:other"))), (TWO, "g/v1", FieldSet.of(OWN)))
    scale = of((THREE, SCALE, FieldSet.of(REPLICAS)))
    after = parent_managers(parent, scale, PATHS, "g/v1")
    assert after == of((ONE, "g/v1", FieldSet.of(("f:spec", "f:other"))), (THREE, "g/v1", FieldSet.of(OWN)))


def test_versions_without_a_scale_stay_and_unknown_ones_go() -> None:
    kept = FieldSet.of(("f:spec", "f:other"))
    parent = of((ONE, "g/v2", kept), (TWO, "g/v9", kept))
    assert parent_managers(parent, Managed(), PATHS, "g/v1") == of((ONE, "g/v2", kept))
