"""Differences between two versions of a kind without a hub: fields that a change of ``apiVersion`` alone loses or misreads.

Compares schemas, not classes. Descriptions, defaults and limits may differ: an object keeps its data.
Source: ``apiextensions-apiserver/pkg/apiserver/conversion/nop_converter.go``, after which an object is pruned by the schema
of its new version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from extapi.api.jsonvalue import json_equal
from extapi.schema.default import has_default
from extapi.schema.structural import Structural

_ITEMS, _VALUES = "[]", "{}"


class Difference:
    """Compares the schemas of two versions, which have these names."""

    def __init__(self, one: str, other: str) -> None:
        self._one, self._other = one, other

    def between(self, one: Structural, other: Structural, path: str = "") -> Iterator[str]:
        """A text per field that differs, such as ``spec.mode is only in v1``."""
        kinds = _kind(one), _kind(other)
        if kinds[0] != kinds[1]:
            yield f"{path} is {kinds[0]} in {self._one} and {kinds[1]} in {self._other}"
            return
        if one.nullable != other.nullable:
            yield f"{path} may be null only in {self._only(one.nullable)}"
        yield from self._values(one, other, path)
        yield from self._members(one, other, path)
        for below, inner, outer in (
            (_ITEMS, one.items, other.items),
            (_VALUES, one.additional, other.additional),
        ):
            if inner is not None and outer is not None:
                yield from self.between(inner, outer, path + below)

    def _only(self, in_one: object) -> str:
        return self._one if in_one else self._other

    def _values(self, one: Structural, other: Structural, path: str) -> Iterator[str]:
        """Differences of enums: code that knows fewer values cannot read the others."""
        for name, mine, theirs in ((self._one, one.enum, other.enum), (self._other, other.enum, one.enum)):
            if not mine and theirs:
                yield f"{path} may have any value only in {name}"
            elif theirs and (own := [value for value in mine if not any(json_equal(value, each) for each in theirs)]):
                yield f"{path} may be {', '.join(map(json.dumps, own))} only in {name}"

    def _members(self, one: Structural, other: Structural, path: str) -> Iterator[str]:
        for name in dict.fromkeys([*one.properties, *other.properties]):
            if not path and name == "metadata":
                continue  # it has rules on names, and no data to lose
            at = f"{path}.{name}" if path else name
            mine, theirs = one.properties.get(name), other.properties.get(name)
            if mine is None or theirs is None:
                yield f"{at} is only in {self._only(mine is not None)}"
                continue
            for version, needs, may_lack in ((self._one, one, other), (self._other, other, one)):
                if name in needs.required and _may_lack(may_lack, name):
                    yield f"{at} is required only in {version}"
            yield from self.between(mine, theirs, at)


def _may_lack(node: Structural, name: str) -> bool:
    """Whether an object can lack a member: it is not required, and has no default."""
    return name not in node.required and not has_default(node.properties[name])


def _kind(node: Structural) -> str:
    """The type of a value in words, as far as it decides how the value is read and pruned."""
    if node.int_or_string:
        return "an integer or a string"
    if not node.type:
        return "anything"
    words = [f"{node.type} ({node.format})" if node.format else node.type]
    if node.additional_properties is not None:
        words.append("with any keys")
    if node.preserve_unknown:
        words.append("with unknown fields")
    if node.embedded_resource:
        words.append("that is a resource")
    return " ".join(words)
