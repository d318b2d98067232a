"""Messages that JSON shows in another form: as one of several values, such as a schema or a truth value, or flat.

Responsible for: which of a message's members JSON shows, and the reverse. Must not know the wire format.
Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` marshal.go; the embedded types of
``k8s.io/api/admissionregistration/v1``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Union:
    """One such message."""

    read: Callable[[Mapping[str, Any]], Any]
    """The value in JSON of a message's members."""
    write: Callable[[Any], Mapping[str, Any]]
    """The members of the message for a value in JSON; None is the zero."""


def _either(listed: str) -> Union:
    """A schema, or a list of something."""

    def write(value: Any) -> Mapping[str, Any]:
        if isinstance(value, list):
            return {listed: value}
        return {} if value is None else {"schema": value}

    return Union(lambda members: members.get(listed) or members.get("schema"), write)


def _read_bool(members: Mapping[str, Any]) -> Any:
    schema = members.get("schema")
    return members.get("allows", False) if schema is None else schema


def _write_bool(value: Any) -> Mapping[str, Any]:
    return {"allows": True, "schema": value} if isinstance(value, dict) else {"allows": bool(value)}


def _inlined(name: str, fields: frozenset[str]) -> Union:
    """A message whose member ``name`` is embedded in Go: JSON shows its ``fields`` beside the other members."""

    def read(members: Mapping[str, Any]) -> Any:
        return {**{key: value for key, value in members.items() if key != name}, **members.get(name, {})}

    def write(value: Any) -> Mapping[str, Any]:
        given = value or {}
        inner = {key: each for key, each in given.items() if key in fields}
        return {**{key: each for key, each in given.items() if key not in fields}, name: inner}

    return Union(read, write)


_RULE: Final = frozenset({"apiGroups", "apiVersions", "resources", "scope"})

UNIONS: Final[Mapping[str, Union]] = {
    "JSONSchemaPropsOrArray": _either("jSONSchemas"),
    "JSONSchemaPropsOrStringArray": _either("property"),
    "JSONSchemaPropsOrBool": Union(_read_bool, _write_bool),
    "RuleWithOperations": _inlined("rule", _RULE),
    "NamedRuleWithOperations": _inlined("ruleWithOperations", _RULE | {"operations"}),
}
"""By the names of messages."""
