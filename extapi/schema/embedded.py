"""Whole objects inside objects (``x-kubernetes-embedded-resource``): their apiVersion and kind have to make sense.

Source: ``apiextensions-apiserver/pkg/apiserver/schema/objectmeta``; the names in their metadata are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from extapi.errors import FieldError
from extapi.schema.structural import Structural, join

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND_RULE = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
    "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  "
    "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def validate_embedded(value: Any, node: Structural | None, path: str = "") -> Iterator[FieldError]:
    """The errors of every embedded object in ``value``."""
    if node is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from validate_embedded(item, node.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        if node.embedded_resource:
            yield from _identity(value, path)
        for key, sub in value.items():
            at = join(path, key) if key in node.properties else f"{path}[{key}]"
            yield from validate_embedded(sub, node.child(key), at)


def _identity(obj: dict[str, Any], path: str) -> Iterator[FieldError]:
    for key in ("apiVersion", "kind"):
        at = join(path, key)
        if key not in obj:
            yield FieldError.required(at)
            continue
        value = obj[key]
        if not isinstance(value, str):
            yield FieldError.invalid(at, value, "must be a string")
        elif not value:
            yield FieldError.invalid(at, value, "must not be empty")
        elif key == "apiVersion" and value.count("/") > 1:
            yield FieldError.invalid(at, value, f"unexpected GroupVersion string: {value}")
        elif key == "kind" and not (_KIND.fullmatch(value.lower()) and len(value) <= 63):
            yield FieldError.invalid(at, value, _KIND_RULE)
