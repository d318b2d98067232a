"""What :mod:`tests.attack.replacements` replaces: kinds with their generations, and what a client may see of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from extapi import CLUSTER, NAMESPACED, Group, Kind
from extapi.api.definition import Scope
from tests.unit.server.generations import A, B, Echo, kind, twin

C = "c.example.com"
GENERATION = re.compile(r"gen(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Slot:
    """A kind that may be served."""

    group: str
    name: str
    scope: Scope = NAMESPACED
    base: str = ""
    """The slot that it is stored as."""
    virtual: bool = False

    @property
    def plural(self) -> str:
        """The name of its resource."""
        return f"{self.name.lower()}s"

    def path(self, version: str = "v1") -> str:
        """Where its objects are."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{root}/namespaces/default/{self.plural}" if self.scope is NAMESPACED else f"{root}/{self.plural}"


SLOTS: Mapping[str, Slot] = {
    "alpha": Slot(A, "Alpha"),
    "beta": Slot(A, "Beta", CLUSTER),
    "gamma": Slot(B, "Gamma"),
    "delta": Slot("", "Delta"),
    "twin": Slot(C, "Twin", base="gamma"),
    "ping": Slot(B, "Ping", virtual=True),
}
STORED = tuple(name for name, slot in SLOTS.items() if not slot.virtual)
VERSIONS = {"v1": (("v1",), "v1"), "both": (("v1", "v2"), "v1"), "second": (("v1", "v2"), "v2")}
"""The versions of a kind, and which of them is stored."""


@dataclass(frozen=True, eq=False)
class Declared:
    """One declaration of a slot's kind; no two have the same generation."""

    slot: str
    generation: int
    versions: tuple[str, ...]
    storage: str
    kind: Kind


def declare(name: str, generation: int, versions: str) -> Declared:
    """The slot's kind in a generation; a virtual one, and one that is stored as another, have one version."""
    slot = SLOTS[name]
    if slot.base:
        other = SLOTS[slot.base]
        made = twin(slot.name, generation, other.group, other.name)
        return Declared(name, generation, ("v1",), "v1", made)
    if slot.virtual:
        return Declared(name, generation, ("v1",), "v1", kind(slot.name, generation, rest=Echo()))
    served, storage = VERSIONS[versions]
    made = kind(slot.name, generation, versions=served, storage=storage, scope=slot.scope)
    return Declared(name, generation, served, storage, made)


Catalog = Mapping[str, Declared]
"""What is served, by slot."""


def groups_of(served: Catalog) -> list[Group]:
    """The declaration that a server gets."""
    found: dict[str, list[Kind]] = {}
    for name, declared in served.items():
        found.setdefault(SLOTS[name].group, []).append(declared.kind)
    return [Group(name, *kinds) for name, kinds in found.items()]


def storage_of(name: str) -> str:
    """The slot in whose storage its objects are."""
    return SLOTS[name].base or name


def together(name: str, served: Catalog) -> tuple[Declared, ...]:
    """All kinds of the storage: if one of them goes or changes, the watches of all end."""
    storage = storage_of(name)
    return tuple(served[each] for each in sorted(served) if storage_of(each) == storage)


def group_versions(served: Catalog) -> dict[tuple[str, str], tuple[Declared, ...]]:
    """The kinds of each group and version, with those that they are stored as: what their documents are made from."""
    found: dict[tuple[str, str], list[Declared]] = {}
    for name, declared in served.items():
        base = SLOTS[name].base
        for version in declared.versions:
            found.setdefault((SLOTS[name].group, version), []).extend([declared, *([served[base]] if base else [])])
    return {key: tuple(kinds) for key, kinds in found.items()}


def generations(text: str) -> set[int]:
    """The generations that a text mentions."""
    return {int(found) for found in GENERATION.findall(text)}


def declared_generations(served: Iterable[Declared]) -> set[int]:
    """Their generations."""
    return {declared.generation for declared in served}


def shown(declared: Declared, size: int) -> dict[str, Any]:
    """The spec of an object of this size, as this declaration shows it."""
    return {"size": size, f"gen{declared.generation}": declared.generation}
