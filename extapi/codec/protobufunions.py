"""Messages that JSON shows as one of several values, such as a schema or a truth value.

Responsible for: which of a message's members JSON shows, and the reverse. Must not know the wire format.
Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` marshal.go.
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


UNIONS: Final[Mapping[str, Union]] = {
    "JSONSchemaPropsOrArray": _either("jSONSchemas"),
    "JSONSchemaPropsOrStringArray": _either("property"),
    "JSONSchemaPropsOrBool": Union(_read_bool, _write_bool),
}
"""By the names of messages."""
