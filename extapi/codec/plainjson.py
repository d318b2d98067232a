"""JSON where YAML is read: as C reads it, if the value is the one that the YAML reader would make of it.

Reading JSON as YAML takes ten times as long, and generated manifests are JSON. Must not know what an object means.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.api.jsonvalue import INT64
from extapi.codec import strictjson
from extapi.codec.strictjson import Decoded
from extapi.codec.yamlnodes import MAX_NODES

__all__ = ["decode"]

_MARKS: Final = (b",", b"[", b"{", b":")
"""There are at least as many of these as nodes, but for one."""


def decode(data: bytes) -> Decoded | None:
    """The value of a document that is a JSON object.

    None if the YAML reader has to look at it: if it is not such a document, has keys twice, which YAML tells with their lines, has
    numbers that are no integers, or is larger than a YAML document may be. Like kubectl this takes JSON
    that is not YAML, as with a character written as two escapes.

    Args:
        data: The text.

    Source: ``k8s.io/apimachinery/pkg/util/yaml`` YAMLOrJSONDecoder, which tries JSON first.
    """
    if not data.lstrip(b" \t\r\n").startswith(b"{") or sum(map(data.count, _MARKS)) > MAX_NODES:
        return None
    try:
        data.decode()
        decoded = strictjson.decode(data)
    except ValueError:
        return None
    return None if decoded.duplicates or not _is_same_in_yaml(decoded.value) else decoded


def _is_same_in_yaml(value: Any) -> bool:
    """Whether all numbers are integers of 64 bits."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        for inner in each.values() if each.__class__ is dict else each:
            kind = inner.__class__
            if kind is dict or kind is list:
                waiting.append(inner)
            elif kind is float or (kind is int and inner not in INT64):
                return False
    return True
