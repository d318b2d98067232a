"""Updates and applies, as in structured-merge-diff's own tests: the object, the managers and the conflicts."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

import pytest

from extapi.errors import RequestTooLarge
from extapi.managedfields.atom import DEDUCED, Atom, MapType
from extapi.managedfields.fieldset import EMPTY, FieldSet, shown
from extapi.managedfields.managers import APPLY, UPDATE, Manager, VersionedSet
from extapi.managedfields.updater import MOST_SETS, ConflictsError, Conversion, Types, applied, updated
from tests.unit.managedfields.smdcases import Case, cases

TYPE_META = FieldSet.of(("f:apiVersion",), ("f:kind",))
SCALAR = Atom(scalar="string")


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class Relabelling(Conversion):
    """As the converter of those tests: nothing changes."""

    async def whole(self, obj: dict[str, Any], api_version: str) -> dict[str, Any]:
        return {**obj, "apiVersion": api_version}


def types_of(atom: Atom, case: Case) -> Types:
    """The type with version and kind, which the objects of those tests do without."""
    assert atom.map is not None
    fields = {**atom.map.fields, "apiVersion": SCALAR, "kind": SCALAR}
    root = Atom(map_=MapType(fields, atom.map.element, atomic=atom.map.atomic, defaults=atom.map.defaults))
    versions = {case["version"], *(version for version, _, _ in (case["before"] or {}).values())}
    reset = {version: FieldSet.from_json(fields) for version, fields in case.get("reset", {}).items()}
    return Types(dict.fromkeys(versions, root), Relabelling(), reset)


def sets_of(managers: Mapping[str, Any] | None) -> dict[Manager, VersionedSet]:
    return {
        Manager(name, UPDATE): VersionedSet(FieldSet.from_json(fields), version)
        for name, (version, _, fields) in (managers or {}).items()
    }


def written(sets: Mapping[Manager, VersionedSet]) -> dict[str, Any]:
    return {manager.name: [own.api_version, (own.fields - TYPE_META).to_json()] for manager, own in sets.items()}


def expected(case: Case) -> dict[str, Any]:
    return {name: [version, fields] for name, (version, _, fields) in case["after"].items()}


def obj(value: Any, case: Case) -> dict[str, Any]:
    return {**(value or {}), "apiVersion": case["version"], "kind": "Thing"}


def objects(kind: str) -> list[tuple[Atom, Case]]:
    """Cases about objects; some of those tests have lists."""
    return [(atom, case) for atom, case in cases(kind) if isinstance(case.get("object"), dict) and atom.map is not None]


def test_updates_leave_the_same_managers() -> None:
    wrong = []
    for atom, case in objects("update"):
        types, sets = types_of(atom, case), sets_of(case["before"])
        live, new = obj(case.get("live"), case), obj(case["object"], case)
        after = written(finished(updated(types, live, new, sets, Manager(case["manager"], UPDATE), EMPTY))[0])
        if after != expected(case):
            wrong.append((case, after))
    assert wrong == []


def test_applies_make_the_same_objects_managers_and_conflicts() -> None:
    wrong: list[Any] = []
    conflicts = 0
    for atom, case in objects("apply"):
        types, sets = types_of(atom, case), sets_of(case["before"])
        live, config = obj(case.get("live"), case), obj(case["object"], case)
        manager = Manager(case["manager"], UPDATE)
        try:
            merged, after = finished(applied(types, live, config, sets, manager, EMPTY, force=case["force"]))
        except ConflictsError as error:
            conflicts += 1
            found = [[of.name, shown(path)] for of, path in error.paths()]
            if sorted(found) != sorted(case.get("conflicts", [])):
                wrong.append((case, found))
            continue
        value = {name: item for name, item in (merged or live).items() if name not in {"apiVersion", "kind"}}
        unchanged = case.get("value") is None
        if (
            "conflicts" in case
            or written(after) != expected(case)
            or value != (case["live"] if unchanged else case["value"])
        ):
            wrong.append((case, value, written(after)))
    assert wrong == []
    assert conflicts > 10


@pytest.mark.parametrize("fields", [{"f:apiVersion": {}, "f:kind": {}, "f:a": {}}, {"f:a": {}}])
def test_an_applier_cannot_give_up_the_version(fields: dict[str, Any]) -> None:
    types = Types({"g/v1": DEDUCED}, Relabelling())
    manager = Manager("a", "Apply")
    live = {"apiVersion": "g/v1", "kind": "K", "a": 1}
    sets = {manager: VersionedSet(FieldSet.from_json(fields), "g/v1")}
    config = {"apiVersion": "g/v1", "kind": "K", "b": 1}
    merged, _ = finished(applied(types, live, config, sets, manager, EMPTY, force=False))
    assert merged == config


def test_managers_of_versions_that_are_gone_neither_stay_nor_block() -> None:
    types = Types({"g/v1": DEDUCED}, Relabelling())
    gone, manager = Manager("a", UPDATE, "g/v0"), Manager("b", UPDATE, "g/v1")
    sets = {gone: VersionedSet(FieldSet.of(("f:a",)), "g/v0")}
    live, new = ({"apiVersion": "g/v1", "kind": "K", "a": value} for value in (1, 2))
    merged, after = finished(applied(types, live, new, sets, manager, EMPTY, force=False))
    assert (merged, list(after)) == (new, [manager])


def test_a_configuration_of_too_many_objects_is_refused() -> None:
    root = Atom(map_=MapType({"apiVersion": SCALAR, "kind": SCALAR}, DEDUCED))
    types = Types({"v1": root}, Relabelling())
    live = {"apiVersion": "v1", "kind": "Thing"}

    def apply(objects: int) -> Any:
        config = {**live, "spec": {f"k{number}": {"a": 1} for number in range(objects - 2)}}
        return finished(applied(types, live, config, {}, Manager("one", APPLY), EMPTY, force=False))

    assert apply(MOST_SETS)[0] is not None
    with pytest.raises(RequestTooLarge, match="more than 30000 objects and items"):
        apply(MOST_SETS + 1)
