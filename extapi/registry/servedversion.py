"""One version of a compiled kind: its schema, its columns, and what else it has of its own."""

from __future__ import annotations

from functools import cached_property

from extapi.api.definition import Kind
from extapi.api.versions import by_priority, group_version, version_priority
from extapi.codec.tables import Columns
from extapi.managedfields.atom import Atom, atom_of
from extapi.registry.scalepaths import ScalePaths
from extapi.registry.selectable import Selectable
from extapi.schema.default import Fill, has_default, null_keeping_defaulter
from extapi.schema.openapi import v3
from extapi.schema.openapi.model import TypeModel
from extapi.schema.schema import Schema
from extapi.schema.structural import Structural

_UNDECLARED = Structural()


class ServedVersion:
    """One version of a kind, with its schema, which has been checked, and its columns."""

    def __init__(self, kind: Kind, group: str, name: str, structural: Structural) -> None:
        self.name = name
        self.representation = name
        """The name of this version's representation in the cache."""
        self.api_version = group_version(group, name)
        self.structural = structural
        self._type = TypeModel(group=group, version=name, kind=kind.name, rules=kind.behaviour.openapi)
        self._defined = kind.behaviour.defined
        if not self._defined:
            self.schema = Schema(structural)
        self.selectable = Selectable(kind, name)
        self.columns = Columns(kind.columns_of(name), defined=kind.behaviour.defined)
        self.status = kind.status_of(name)
        """Whether there is a status subresource, so that other writes leave status alone."""
        self.defaults_status = self.status and has_default(structural.properties.get("status", _UNDECLARED))
        """Whether an object without status is read with one."""
        scale = kind.scale_of(name)
        self.scale = None if scale is None else ScalePaths(scale)
        self.warning = _deprecation(kind, group, name)

    @cached_property
    def schema(self) -> Schema:
        """Its operations. Those of a definition are compiled when they are first used: of a folder full, few are."""
        return Schema(self.structural, defined=self._defined)

    def atom(self) -> Atom:
        """The type along which its objects are merged: of the schema that clients see, with those that it refers to."""
        schema = v3.kind_schema(self.structural, self._type)
        further = self._type.rules.complete(schema, v3.reference)
        return atom_of(schema, {**v3.meta_schemas(), **further})

    @cached_property
    def default_applied(self) -> Fill:
        """Fills in defaults of an object that was applied, in place."""
        return null_keeping_defaulter(self.structural)


def _deprecation(kind: Kind, group: str, name: str) -> str:
    """The warning of a deprecated version, or the empty string (behaviour J43)."""
    deprecated = kind.versions[name].deprecated
    if not deprecated:
        return ""
    if isinstance(deprecated, str):
        return deprecated
    better = [
        other
        for other in by_priority(kind.served_versions())
        if not kind.versions[other].deprecated and version_priority(other) < version_priority(name)
    ]
    text = f"{group_version(group, name)} {kind.name} is deprecated"
    return f"{text}; use {group_version(group, better[0])} {kind.name}" if better else text
