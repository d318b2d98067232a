"""YAML to objects and back, as kube-apiserver reads and writes it (behaviour E21, N3).

Responsible for: the value of a document, of nodes whose depth and whose aliases are bounded; merge keys; duplicate keys; output in
kubectl's style. Must not know what an object means.

Source: ``sigs.k8s.io/yaml`` and ``go.yaml.in/yaml/v2``.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from extapi.api.jsonvalue import INT64, go_json
from extapi.codec.strictjson import MAX_DEPTH, Decoded
from extapi.codec.yamlnodes import AliasNode, ListNode, MapNode, Node, ScalarNode, parse
from extapi.codec.yamlscalars import (
    MERGE,
    TAG,
    YAMLError,
    is_ambiguous,
    scalar_key,
    scalar_value,
    shown_key,
)
from extapi.errors import go_float

__all__ = ["YAMLError", "decode", "encode_yaml", "is_merge"]


def decode(data: bytes, *, max_depth: int = MAX_DEPTH, overriding: bool = True) -> Decoded:
    """The first document of ``data`` (None if there is none), and texts about its duplicate keys; the last one wins.

    The texts are like ``line 8: key "size" already set in map``.

    Args:
        data: The text, in UTF-8 or UTF-16.
        max_depth: Lists and maps inside of each other.
        overriding: Whether a key that a map has of a merge, and that it has once more, is a duplicate. It is one to
            kube-apiserver. To kubectl it is not, which merges before it sends.

    Raises:
        YAMLError: The text is not YAML, or beyond the bounds.
    """
    root = parse(data, max_depth)
    if root is None:
        return Decoded(None)
    decoder = _Decoder(overriding)
    value = _json(decoder.value(root))
    if decoder.is_infinite:
        _refuse_infinite(value)
    return Decoded(value, decoder.duplicates)


@dataclass(slots=True)
class _Map:
    """A map that is being read. ``keys`` are those of YAML, where 1 and "1" differ, and whether the map itself has them."""

    values: dict[str, Any] = field(default_factory=dict)
    keys: dict[object, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Decoder:
    """Makes values of nodes; an alias is read where it stands, as if its node were written there.

    Source: ``go.yaml.in/yaml/v2`` decode.go, its ``decoder``.
    """

    overriding: bool
    is_infinite: bool = False
    """Whether some float is, though it may have been overridden."""
    duplicates: list[str] = field(default_factory=list)

    def value(self, node: Node) -> Any:
        """The value of a node: JSON, but for the numbers of a scalar, which are still those of YAML."""
        if isinstance(node, AliasNode):
            _check_alias(node)
            return self.value(node.target)
        if isinstance(node, ScalarNode):
            value = scalar_value(node.tag, node.text, implicit=node.implicit)
            self.is_infinite |= isinstance(value, float) and not math.isfinite(value)
            return value
        if isinstance(node, MapNode):
            made = _Map()
            self._fill(made, node, merging=False)
            return made.values
        items = []
        for item in node.items:
            items.append(_json(self.value(item)))  # noqa: PERF401 - a comprehension is a frame more
        return items

    def _fill(self, into: _Map, node: MapNode, *, merging: bool) -> None:
        """Add the pairs of a map. Merged ones count where they are written: a later key wins, whose ever it is."""
        for key, item in node.pairs:
            if is_merge(key):
                self._merge(into, item)
                continue
            found = self.value(key)
            text = scalar_key(found)
            value = _json(self.value(item))
            # No NaN is equal to another; Python takes one object to be equal to itself.
            identity = (type(found), found) if found == found else object()  # noqa: PLR0124
            before = into.keys.get(identity)
            if before is not None and (self.overriding or (before and not merging)):
                self.duplicates.append(f"line {item.line}: key {shown_key(found)} already set in map")
            into.keys[identity] = bool(before) or not merging
            into.values[text] = value

    def _merge(self, into: _Map, node: Node) -> None:
        """Apply a merge key: a map, or a list of maps, of which earlier ones win."""
        sources = node.items[::-1] if isinstance(node, ListNode) else [node]
        for source in sources:
            target = source.target if isinstance(source, AliasNode) else source
            if not isinstance(target, MapNode):
                raise YAMLError("yaml: map merge requires map or sequence of maps as the value")
            _check_alias(source)
            self._fill(into, target, merging=True)


def _check_alias(node: Node) -> None:
    """Refuse an alias inside of what it stands for."""
    if isinstance(node, AliasNode) and node.is_inside:
        raise YAMLError(f"yaml: anchor '{node.name}' value contains itself")


def is_merge(key: Node) -> bool:
    """Whether a key merges the maps that are its value. ``!!merge`` is what go-yaml and yq write.

    Args:
        key: The key.

    Source: ``go.yaml.in/yaml/v2`` isMerge.
    """
    return isinstance(key, ScalarNode) and key.text == MERGE and (key.implicit or key.tag == f"{TAG}merge")


def _json(value: Any) -> Any:
    """A value after a round trip through JSON; what JSON cannot say is left as it is."""
    if isinstance(value, float):
        # Go's JSON has no exponent below 1e21, so that what looks like an int64 is read as one.
        whole = int(Decimal(repr(value))) if abs(value) < 2**63 and value.is_integer() else None
        return whole if whole is not None and whole in INT64 else value
    if isinstance(value, int) and not isinstance(value, bool):
        # It has 64 bits at most. On its way through JSON, what is not an int64 becomes a float.
        return value if value in INT64 else float(value)
    return value


def _refuse_infinite(value: Any) -> None:
    """Refuse a float without a form in JSON, wherever it is.

    Raises:
        YAMLError: There is one.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise YAMLError(f"json: unsupported value: {go_float(value)}")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_infinite(each)


def encode_yaml(obj: Any) -> bytes:
    """Encode as kubectl prints: block style, sorted keys, lists not indented, ambiguous strings in double quotes."""
    import yaml  # noqa: PLC0415 - as above

    out = io.BytesIO()
    dumper = yaml.CSafeDumper(out, allow_unicode=True, encoding="utf-8", width=2**30)
    try:
        dumper.open()
        dumper.serialize(_yaml_node(yaml, obj))
        dumper.close()
    finally:
        dumper.dispose()
    return out.getvalue()


def _yaml_node(yaml: Any, value: Any) -> Any:
    """The node of a value, with the style that go-yaml gives it."""
    if isinstance(value, dict):
        items = [(_yaml_node(yaml, key), _yaml_node(yaml, value[key])) for key in sorted(value)]
        return yaml.MappingNode(TAG + "map", items, flow_style=not items)
    if isinstance(value, list | tuple):
        items = [_yaml_node(yaml, item) for item in value]
        return yaml.SequenceNode(TAG + "seq", items, flow_style=not items)
    if isinstance(value, str):
        style = "|" if "\n" in value else '"' if is_ambiguous(value) else None
        return yaml.ScalarNode(TAG + "str", value, style=style)
    if value is None:
        return yaml.ScalarNode(TAG + "null", "null")
    if isinstance(value, bool):
        return yaml.ScalarNode(TAG + "bool", "true" if value else "false")
    # As when Go turns JSON into YAML: a number that is written as an integer and fits int64 or uint64 stays one.
    text = go_json(value)
    if -(2**63) <= value < 2**64 and not set(text) & {".", "e"}:
        return yaml.ScalarNode(TAG + "int", text)
    return yaml.ScalarNode(TAG + "float", go_float(value))
