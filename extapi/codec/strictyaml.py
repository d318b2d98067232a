"""YAML to objects and back, as kube-apiserver reads and writes it (behaviour E21, N3).

Responsible for: one document, built from libyaml's events by code that bounds depth, size and the work that aliases
cause (330 bytes of nested aliases can stand for gigabytes); duplicate keys; output in kubectl's style. Must not know
what an object means.

Source: ``sigs.k8s.io/yaml`` and ``go.yaml.in/yaml/v2``.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from extapi.api.jsonvalue import INT64, go_json, json_copy, read_float
from extapi.codec.strictjson import MAX_DEPTH, Decoded, is_deeper
from extapi.codec.yamlscalars import MERGE, Scalar, is_ambiguous, resolve
from extapi.errors import go_float

if TYPE_CHECKING:
    from collections.abc import Callable

    import yaml

__all__ = ["YAMLError", "decode", "encode_yaml"]

MAX_NODES = 200_000
"""Scalars, lists and maps of one document; reading so many takes a third of a second."""
MAX_ALIASED = 1_000_000
"""Bytes that the aliases of a document may add in total; each node counts with :data:`_NODE`."""
MAX_TAG_DIRECTIVES = 1000
"""``%TAG`` directives of a text: libyaml compares each with all before it."""
_NODE = 16
_TAG = "tag:yaml.org,2002:"


class YAMLError(ValueError):
    """The text is not YAML, or beyond the bounds; the message is go-yaml's, with its prefix ``yaml: ``."""


def decode(data: bytes, *, max_depth: int = MAX_DEPTH) -> Decoded:
    """The first document of ``data`` (None if there is none), and texts about its duplicate keys; the last one wins.

    The texts are like ``line 8: key "size" already set in map``.

    Raises:
        YAMLError: The text is not YAML, or beyond the bounds.
    """
    import yaml  # noqa: PLC0415 - few requests bring YAML, and it costs start-up time

    # Counted anywhere in the text, and also in UTF-16, which libyaml reads.
    if b"%" in data and data.replace(b"\0", b"").count(b"%TAG") > MAX_TAG_DIRECTIVES:
        raise YAMLError(f"yaml: more than {MAX_TAG_DIRECTIVES} %TAG directives")
    try:
        return _Reader(yaml, data, max_depth).document()
    except yaml.MarkedYAMLError as error:
        raise YAMLError(f"yaml: {_located(error, scanner=isinstance(error, yaml.scanner.ScannerError))}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = getattr(error, "reason", "") or "unknown problem parsing YAML content"
        raise YAMLError(f"yaml: {reason}") from None


def _located(error: yaml.MarkedYAMLError, *, scanner: bool) -> str:
    """The parser's problem, with the line as go-yaml counts it: from 0, but from 1 for errors of the scanner."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + int(scanner)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return (f"line {line}: " if line else "") + (error.problem or "unknown problem parsing YAML content")


@dataclass(slots=True)
class _Anchored:
    """A node with an anchor: its value, and the cost of an alias. It is open while it is being read."""

    value: Any = None
    cost: int = 0
    open: bool = True


@dataclass(slots=True)
class _Reader:
    """Reads one document. ``spent`` counts everything built so far, ``aliased`` the part due to aliases."""

    yaml: Any
    data: bytes
    max_depth: int
    nodes: int = 0
    spent: int = 0
    aliased: int = 0
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    _next: Callable[[], Any] = field(init=False)

    def __post_init__(self) -> None:
        # libyaml itself refuses bytes in a wrong encoding, in its own words.
        self._next = self.yaml.cyaml.CParser(self.data).get_event

    def document(self) -> Decoded:
        self._next()  # the start of the stream
        if not isinstance(self._next(), self.yaml.DocumentStartEvent):
            return Decoded(None)
        value = self._node(self._next(), 1)
        return Decoded(value, self.duplicates)

    def _node(self, event: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise YAMLError(f"yaml: document has more than {MAX_NODES} nodes")
        if isinstance(event, self.yaml.AliasEvent):
            return self._alias(event.anchor, depth)
        anchored = None
        if event.anchor:
            anchored = self.anchors[event.anchor] = _Anchored()
        before = self.spent
        self.spent += _NODE
        value: Any
        if isinstance(event, self.yaml.ScalarEvent):
            self.spent += len(event.value)
            value = _scalar(event)
        elif depth > self.max_depth:
            raise YAMLError(f"yaml: exceeded max depth of {self.max_depth}")
        elif isinstance(event, self.yaml.SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = self._mapping(depth)
        if anchored is not None:
            anchored.value, anchored.cost, anchored.open = value, self.spent - before, False
        return value

    def _alias(self, name: str, depth: int) -> Any:
        anchored = self.anchors.get(name)
        if anchored is None:
            raise YAMLError(f"yaml: unknown anchor '{name}' referenced")
        if anchored.open:
            raise YAMLError(f"yaml: anchor '{name}' value contains itself")
        self.aliased += anchored.cost
        self.spent += anchored.cost
        if self.aliased > MAX_ALIASED:
            raise YAMLError("yaml: document contains excessive aliasing")
        if is_deeper(anchored.value, self.max_depth - depth + 1):
            raise YAMLError(f"yaml: exceeded max depth of {self.max_depth}")
        return json_copy(anchored.value)  # objects are changed in place later, so no two parts may be shared

    def _sequence(self, depth: int) -> list[Any]:
        items = []
        while not isinstance(event := self._next(), self.yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self._next(), self.yaml.MappingEndEvent):
            plain = isinstance(event, self.yaml.ScalarEvent) and event.implicit[0]
            is_merge = plain and event.value == MERGE
            key = "" if is_merge else _key(self._node(event, depth + 1))
            following = self._next()
            value = self._node(following, depth + 1)
            if is_merge:
                _merge(merged, value)
                continue
            if key in own:
                line = following.start_mark.line + 1
                self.duplicates.append(f"line {line}: key {_go_quoted(key)} already set in map")
            own[key] = value
        return {**merged, **own} if merged else own


def _merge(into: dict[str, Any], value: Any) -> None:
    """Apply a merge key: a map, or a list of maps of which earlier ones win. The map's own keys win over all."""
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise YAMLError("yaml: map merge requires map or sequence of maps as the value")
    for source in sources:
        for key, item in source.items():
            into.setdefault(key, item)


def _go_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _key(value: Any) -> str:
    """A key as the string that ``sigs.k8s.io/yaml`` makes of it; null, lists and maps cannot be keys in JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if 2**63 <= value <= 2**64 and value.is_integer():
            raise YAMLError("yaml: unsupported map key of type: uint64")
        return f"{value:.8g}"
    kind = "<nil>" if value is None else "list" if isinstance(value, list) else "map"
    raise YAMLError(f"yaml: unsupported map key of type: {kind}")


def _scalar(event: Any) -> Scalar:
    """The value of a scalar: by its tag if it has one, by its text if it is plain, otherwise a string."""
    text: str = event.value
    tag: str = (event.tag or "").removeprefix(_TAG)
    value: Scalar
    if tag == "binary":
        value = _binary(text)
    elif tag in ("int", "float", "bool", "null", "timestamp"):
        value = _tagged(tag, text)
    elif tag or not event.implicit[0]:
        value = text
    else:
        value = resolve(text)
    if isinstance(value, float):
        return _json_number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        # It has 64 bits at most. On its way through JSON, what is not an int64 becomes a float.
        return value if value in INT64 else float(value)
    return value


_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}


def _tagged(tag: str, text: str) -> Scalar:
    value = resolve(text)
    if tag == "timestamp":
        return text
    if not isinstance(value, _TYPES[tag]) or (tag in ("int", "float") and isinstance(value, bool)):
        found = "float" if isinstance(value, float) else "str"
        raise YAMLError(f"yaml: cannot decode !!{found} `{text[:64]}` as a !!{tag}")
    return value


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise YAMLError("yaml: !!binary value contains invalid base64 data") from None


def _json_number(value: float) -> int | float:
    """A float after a round trip through JSON, which has no infinities."""
    if not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise YAMLError(f"json: unsupported value: {text}")
    return read_float(repr(value))


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
        return yaml.MappingNode(_TAG + "map", items, flow_style=not items)
    if isinstance(value, list | tuple):
        items = [_yaml_node(yaml, item) for item in value]
        return yaml.SequenceNode(_TAG + "seq", items, flow_style=not items)
    if isinstance(value, str):
        style = "|" if "\n" in value else '"' if is_ambiguous(value) else None
        return yaml.ScalarNode(_TAG + "str", value, style=style)
    if value is None:
        return yaml.ScalarNode(_TAG + "null", "null")
    if isinstance(value, bool):
        return yaml.ScalarNode(_TAG + "bool", "true" if value else "false")
    # As when Go turns JSON into YAML: a number that is written as an integer and fits int64 or uint64 stays one.
    text = go_json(value)
    if -(2**63) <= value < 2**64 and not set(text) & {".", "e"}:
        return yaml.ScalarNode(_TAG + "int", text)
    return yaml.ScalarNode(_TAG + "float", go_float(value))
