"""How conversations speak of the resources of a manifest: their paths, their objects, and a look at what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.cases import Case, Conversation
from tests.differential.side import JSON, MERGE, Step, apply, delete, get, json_patch, merge, post, put


@dataclass(frozen=True)
class Resource:
    """A resource in the group of a side. Objects of the cluster have the namespace of the conversation in their names."""

    plural: str
    kind: str
    cluster: bool = False
    version: str = "v1"

    def through(self, version: str) -> Resource:
        """The same in another version."""
        return Resource(self.plural, self.kind, self.cluster, version)

    @property
    def path(self) -> str:
        """Where its objects are; of the cluster: all there are."""
        return f"/apis/{{g}}/{self.version}/{'' if self.cluster else 'namespaces/{ns}/'}{self.plural}"

    def name(self, name: str) -> str:
        """The name of an object."""
        return f"{{ns}}-{name}" if self.cluster else name

    def at(self, name: str = "one", rest: str = "") -> str:
        """Where an object is; ``rest``: subresource and query."""
        return f"{self.path}/{self.name(name)}{rest}"

    def obj(self, name: str = "new", *, meta: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """An object."""
        mine = {"labels": {"space": "{ns}"}} if self.cluster else {}
        metadata = {"name": self.name(name), **mine, **(meta or {})}
        return {"apiVersion": f"{{g}}/{self.version}", "kind": self.kind, "metadata": metadata, **fields}

    def make(self, name: str = "one", query: str = "", *, meta: Mapping[str, Any] | None = None, **fields: Any) -> Step:
        """A create."""
        return post(self.obj(name, meta=meta, **fields), self.path + query)

    def change(self, patch: Any, name: str = "one", rest: str = "") -> Step:
        """A merge patch."""
        return merge(self.at(name, rest), patch)

    def edit(self, *operations: Any, name: str = "one", rest: str = "") -> Step:
        """A JSON patch."""
        return json_patch(self.at(name, rest), *operations)

    def replace(
        self, name: str = "one", rest: str = "", *, meta: Mapping[str, Any] | None = None, **fields: Any
    ) -> Step:
        """An update of what came back last."""
        return put(self.at(name, rest), self.obj(name, meta={"resourceVersion": "{rv}", **(meta or {})}, **fields))

    def applied(
        self, name: str = "one", manager: str = "m", *, force: bool = False, rest: str = "", **fields: Any
    ) -> Step:
        """A server-side apply."""
        return apply(self.at(name, rest), self.obj(name, **fields), manager, force=force)

    def drop(self, name: str = "one", query: str = "") -> Step:
        """A delete."""
        return delete(self.at(name, query))

    def see(self, name: str = "one", rest: str = "", accept: str = "") -> Step:
        """A read of an object."""
        return get(self.at(name, rest), accept)

    def all(self, query: str = "", accept: str = "") -> Step:
        """A read of all objects of the conversation; ``query`` starts with an ampersand."""
        selector = "labelSelector=space%3D{ns}" if self.cluster else ""
        return get(f"{self.path}?{selector}{query}".replace("?&", "?").rstrip("?"), accept)


def told(resource: Resource, talks: Mapping[str, Conversation]) -> dict[str, Case]:
    """Cases by their names; those that write end with a look at what there is."""
    return {name: _case(resource, [steps] if isinstance(steps, Step) else steps) for name, steps in talks.items()}


def _case(resource: Resource, steps: Iterable[Step]) -> Case:
    said = tuple(steps)
    return Case(said if all(step.method == "GET" for step in said) else (*said, resource.all()))


def fields(
    resource: Resource, values: Mapping[str, Iterable[Any]], *, inside: str = "spec", **given: Any
) -> dict[str, Case]:
    """For each value of each field: a create with it, and a merge patch of an object that has only what is ``given``."""

    def around(field: str, value: Any) -> dict[str, Any]:
        return {inside: {**given, field: value}} if inside else {**given, field: value}

    return {
        f"{field} {position}": _case(
            resource,
            (
                resource.make("new", "?fieldValidation=Strict", **around(field, value)),
                resource.make("one", **({inside: given} if inside else given)),
                resource.change({inside: {field: value}} if inside else {field: value}),
            ),
        )
        for field, each in values.items()
        for position, value in enumerate(each)
    }


__all__ = ["JSON", "MERGE", "Resource", "Step", "fields", "told"]
