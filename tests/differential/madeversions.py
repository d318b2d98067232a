"""Made-up definitions of kinds with one to three versions, and their conversion, for :mod:`tests.differential.appliedversions`.

The schemas of versions are equal, or differ in relations of lists and maps, in defaults, or in fields; a webhook may call fields
of spec otherwise, or lose some.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Final

from extapi.api.definition import Kind
from extapi.api.jsonvalue import json_copy
from extapi.crd.defaults import set_defaults
from extapi.crd.definition import Definition as ReadDefinition
from extapi.crd.kinds import kind_of
from extapi.managedfields.atom import Atom
from extapi.registry.served import ServedKind
from tests.differential import managedkinds
from tests.differential.verdicts import Definition

GROUP: Final = "versions.differential.test"
NAMES: Final = ("v1", "v2", "v3")
Schema = dict[str, Any]


@dataclass
class MadeKind:
    """A kind of several versions.

    ``renamed``: by version, what some fields of spec are called there; ``lost``: those that it has not. ``hooked``: whether a
    webhook converts.
    """

    number: int
    schemas: dict[str, Schema]
    storage: str
    unserved: str
    hooked: bool
    renamed: dict[str, dict[str, str]] = field(default_factory=dict)
    lost: dict[str, Sequence[str]] = field(default_factory=dict)
    scale: bool = False
    name: str = "the webhook"
    """As the in-process converter of a kind."""

    @property
    def plural(self) -> str:
        return f"kinds{self.number}"

    @property
    def kind(self) -> str:
        return f"Kind{self.number}"

    @cached_property
    def atoms(self) -> Mapping[str, Atom]:
        """The types of its versions, by apiVersion."""
        return ServedKind(self.served_kind(self.definition("https://127.0.0.1/", b"")), GROUP).atoms

    @property
    def served(self) -> list[str]:
        return [name for name in self.schemas if name != self.unserved]

    def converted(self, obj: dict[str, Any], api_version: str) -> dict[str, Any]:
        """The object in another version; what is not known of spec, and all else, stays as it is."""
        before, after = str(obj["apiVersion"]).rpartition("/")[2], api_version.rpartition("/")[2]
        spec = obj.get("spec")
        if isinstance(spec, dict):
            back = {own: hub for hub, own in self.renamed.get(before, {}).items()}
            names, lost = self.renamed.get(after, {}), self.lost.get(after, ())
            of_hub = {back.get(str(own), str(own)): item for own, item in spec.items()}
            made = {names.get(own, own): item for own, item in of_hub.items() if own not in lost}
            obj = {**obj, "spec": made}
        # kube-apiserver may send none, and refuses an answer without; programs in Go always have some.
        return {**obj, "metadata": obj.get("metadata") or {}, "apiVersion": api_version}

    def served_kind(self, definition: Definition) -> Kind:
        """The kind as we serve it in memory; what a webhook does, this object does."""
        read = json_copy(definition)
        set_defaults(read)
        return kind_of(ReadDefinition(read), lambda _: self)

    def tidied(self, obj: Any) -> Any:
        """What is sent, without what cannot be compared: nothing."""
        return obj

    def review(self, review: Any) -> Any:
        """The answer of its webhook."""
        request = review["request"]
        objects = [self.converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}

    async def convert(self, objects: Sequence[Any], api_version: str) -> Sequence[Any]:
        """See :class:`extapi.conversion.converter.Converter`."""
        return [json_copy(self.converted(obj, api_version)) for obj in objects]

    def definition(self, url: str, ca: bytes) -> Definition:
        """Its definition; ``url``: of the webhook, before the name of the kind."""
        conversion: dict[str, Any] = {"strategy": "None"}
        if self.hooked:
            client = {"url": f"{url}{self.plural}", "caBundle": base64.b64encode(ca).decode()}
            webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
            conversion = {"strategy": "Webhook", "webhook": webhook}
        subresources: dict[str, Any] = {"status": {}}
        if self.scale:
            paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
            subresources["scale"] = paths
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"plural": self.plural, "kind": self.kind},
                "conversion": conversion,
                "versions": [
                    {
                        "name": name,
                        "served": name != self.unserved,
                        "storage": name == self.storage,
                        "subresources": subresources,
                        "schema": {"openAPIV3Schema": schema},
                    }
                    for name, schema in self.schemas.items()
                ],
            },
        }


def kind(number: int, random: Random) -> MadeKind:
    """A kind; its definition may be refused."""
    names = NAMES[: random.choice((1, 2, 2, 2, 3, 3))]
    first = managedkinds.root(random)
    scale = random.random() < 0.3
    if scale:
        first["properties"]["spec"].setdefault("properties", {})["replicas"] = {"type": "integer"}
        first["properties"]["status"].setdefault("properties", {})["replicas"] = {"type": "integer"}
    _fill_in(first["properties"]["spec"], random)
    _fill_in(first["properties"]["status"], random)
    made = MadeKind(
        number, {names[0]: first}, random.choice(names), "", len(names) > 1 and random.random() < 0.4, scale=scale
    )
    for name in names[1:]:
        made.schemas[name] = _other(made, name, first, random, len(names) - 1)
    others = [name for name in names if name != made.storage]
    if len(others) == 2 and random.random() < 0.3:
        made.unserved = others[0]
    return made


def _other(made: MadeKind, name: str, first: Schema, random: Random, others: int) -> Schema:
    """The schema of a further version, one of ``others``.

    What is lost or atomic in one of three versions has results that depend on their order, which is random in Go.
    """
    schema: Schema = json_copy(first)
    spec = schema["properties"]["spec"]
    fields = [each for each in spec.get("properties", {}) if each != "replicas"]
    chance = random.random()
    if chance < 0.4:
        pass
    elif chance < 0.55 and others == 1:
        return managedkinds.flipped(schema, random)
    elif chance < 0.75:
        _without_defaults(spec)
        _fill_in(spec, random)
    elif made.hooked and fields:
        if random.random() < 0.5 or others > 1:
            names = {each: f"{each}x" for each in fields if random.random() < 0.5}
            made.renamed[name] = names
            spec["properties"] = {names.get(each, each): of for each, of in spec["properties"].items()}
        else:
            lost = made.lost[name] = random.sample(fields, 1)
            spec["properties"] = {each: of for each, of in spec["properties"].items() if each not in lost}
    return schema


def _fill_in(of: Schema, random: Random) -> None:
    """Add defaults to some fields; keys of lists keep theirs, since others would join items."""
    keys = of.get("x-kubernetes-list-map-keys", ())
    items = of.get("items", {})
    for name, each in of.get("properties", {}).items():
        if random.random() < 0.2 and "default" not in each and name != "replicas":
            made = _fit(managedkinds.value(each, random), each)
            if made is not None:
                each["default"] = made
        _fill_in(each, random)
    if isinstance(items, dict):
        fields = items.get("properties", {})
        for name, each in fields.items():
            if name not in keys:
                _fill_in(each, random)
    extra = of.get("additionalProperties")
    if isinstance(extra, dict):
        _fill_in(extra, random)


def _fit(value: Any, of: Schema) -> Any:
    """The value as a default: kube-apiserver refuses one that breaks its schema, and tidies nulls and embedded objects in it."""
    text = json.dumps(value)
    return None if of.get("format") or '"metadata"' in text or "null" in text else value


def _without_defaults(of: Schema) -> None:
    for each in of.get("properties", {}).values():
        each.pop("default", None)
        _without_defaults(each)
