"""A kind of Python types with a hub, for :mod:`tests.differential.appliedversions`: served as it is, and as a definition.

As a definition its webhook is ``extapi webhooks``, in this process.
"""

from __future__ import annotations

import base64
from functools import cached_property
from typing import Annotated, Any

from msgspec import field

from extapi import Api, Group, Kind, ListMap, ListSet, Object, Struct, Version
from extapi.crd.export import export_kind
from extapi.registry.declared import compiled
from tests.differential.madeversions import GROUP, MadeKind
from tests.differential.verdicts import Definition
from tests.unit.webhooks.asking import Asked


class Bulb(Struct):
    """An item with a key and a field that is required beside it."""

    name: str
    socket: str
    watts: int | None = None


class Base(Struct):
    """An object that may be empty."""

    wood: str | None = None
    legs: int | None = None


class LampSpec(Struct):
    """The newer form."""

    title: str
    bulbs: Annotated[list[Bulb], ListMap("name")] = field(default_factory=list)
    tags: Annotated[list[str], ListSet()] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    base: Base | None = None
    height: int | None = None


class LampStatus(Struct):
    """What is seen of it."""

    lit: bool | None = None
    seen: dict[str, str] = field(default_factory=dict)


class Lamp(Object):
    """The hub, which is stored."""

    spec: LampSpec
    status: LampStatus = LampStatus()


class OldSpec(Struct):
    """The older form, in which two fields have other names."""

    name: str
    lights: Annotated[list[Bulb], ListMap("name")] = field(default_factory=list)
    tags: Annotated[list[str], ListSet()] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    base: Base | None = None
    height: int | None = None


class OldLamp(Object):
    """The older version."""

    spec: OldSpec
    status: LampStatus = LampStatus()


def newer(old: OldLamp) -> Lamp:
    """To the hub."""
    spec = old.spec
    made = LampSpec(title=spec.name, bulbs=spec.lights, tags=spec.tags, labels=spec.labels)
    made.base, made.height = spec.base, spec.height
    return Lamp(spec=made, status=old.status)


def older(lamp: Lamp) -> OldLamp:
    """From the hub."""
    spec = lamp.spec
    made = OldSpec(name=spec.title, lights=spec.bulbs, tags=spec.tags, labels=spec.labels)
    made.base, made.height = spec.base, spec.height
    return OldLamp(spec=made, status=lamp.status)


class TypedKind(MadeKind):
    """The kind, with a number of its own."""

    def __init__(self, number: int) -> None:
        name = f"Kind{number}"
        versions = {"v1": Version(Lamp), "v1alpha1": Version(OldLamp, to_hub=newer, from_hub=older)}
        self._typed = Kind(name, plural=f"kinds{number}", storage="v1", hub=Lamp, versions=versions)
        schemas = {version: structural.to_openapi() for version, structural in compiled(self._typed).items()}
        renamed = {"v1alpha1": {"title": "name", "bulbs": "lights"}}
        super().__init__(number, schemas, "v1", "", hooked=True, renamed=renamed)

    def served_kind(self, definition: Definition) -> Kind:
        """See :class:`MadeKind`. It is served as its types say."""
        del definition
        return self._typed

    def definition(self, url: str, ca: bytes) -> Definition:
        """See :class:`MadeKind`."""
        webhook = {"url": f"{url}{self.plural}", "caBundle": base64.b64encode(ca).decode()}
        manifest = export_kind(self._typed, GROUP, webhook).manifest
        assert manifest is not None
        return manifest

    def tidied(self, obj: Any) -> Any:
        """See :class:`MadeKind`. Types leave out empty lists and maps, which are their defaults, on the way to another version."""
        return {
            part: {name: each for name, each in value.items() if each not in ([], {}) or name == "base"}
            if part in {"spec", "status"} and isinstance(value, dict)
            else value
            for part, value in obj.items()
        }

    @cached_property
    def _webhooks(self) -> Asked:
        return Asked(Api(Group(GROUP, self._typed)))

    def review(self, review: Any) -> Any:
        """See :class:`MadeKind`."""
        return self._webhooks.send(f"/convert/v1/{self._typed.singular}", review).json
