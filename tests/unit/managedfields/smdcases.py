"""What structured-merge-diff answers in its own tests, as data: ``smd.jsonl``.

Each line is a type, or a question with its answer: the arguments and results of ``Validate``, ``ToFieldSet``, ``Merge``,
``Compare``, ``RemoveItems``, ``ReconcileFieldSetWithSchema``, ``Updater.Update`` and ``Updater.Apply`` while the tests of
``typed`` and ``merge`` of v6.3.3 ran and passed. Without long ones, and those that convert between versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from extapi.managedfields.atom import DEDUCED, UNTYPED_ATOMIC, Atom, ListType, MapType

Case = Mapping[str, Any]


@cache
def _lines() -> tuple[list[Atom], list[Case]]:
    types, cases = [], []
    with Path(__file__).with_name("smd.jsonl").open() as file:
        for line in map(json.loads, file):
            if line["kind"] == "type":
                types.append(atom_of_smd(line["types"], line["ref"]))
            else:
                cases.append(line)
    return types, cases


def cases(kind: str) -> Iterator[tuple[Atom, Case]]:
    """All questions of a kind, each with the type that it is about."""
    types, found = _lines()
    return ((types[case["type"]], case) for case in found if case["kind"] == kind)


def atom_of_smd(types: list[dict[str, Any]], reference: Mapping[str, Any]) -> Atom:
    """The type that structured-merge-diff's own schema language describes."""
    named = {"__untyped_deduced_": DEDUCED, "__untyped_atomic_": UNTYPED_ATOMIC}
    named |= {each["name"]: Atom(named=True) for each in types if each["name"] not in named}

    def filled(atom: Atom, of: Mapping[str, Any], relationship: str | None) -> Atom:
        atom.scalar = of.get("scalar") or ""
        if of.get("list"):
            own = of["list"]
            associative = (relationship or own.get("elementRelationship")) == "associative"
            atom.list = ListType(
                resolved(own["elementType"]), associative=associative, keys=tuple(own.get("keys") or ())
            )
        if of.get("map"):
            own = of["map"]
            fields = own.get("fields") or ()
            element = own.get("elementType")
            atom.map = MapType(
                {field["name"]: resolved(field["type"]) for field in fields},
                resolved(element) if element else None,
                atomic=(relationship or own.get("elementRelationship")) == "atomic",
                defaults={field["name"]: field["default"] for field in fields if field.get("default") is not None},
            )
        return atom

    definitions = {each["name"]: each for each in types}

    def resolved(of: Mapping[str, Any]) -> Atom:
        name, relationship = of.get("namedType"), of.get("elementRelationship")
        if name is None:
            return filled(Atom(), of, relationship)
        if relationship is None:
            return named[name]
        return filled(Atom(named=True), definitions[name], relationship)

    for name, atom in named.items():
        if atom is not DEDUCED and atom is not UNTYPED_ATOMIC:
            filled(atom, definitions[name], None)
    return resolved(reference)
