"""The nodes of a YAML document: what libyaml reads, before anything has a value.

Responsible for: the first document of a text, all of which must be YAML before any of it is judged; anchors; bounds of nodes, of
depth, and of what aliases stand for (330 bytes of nested ones can be gigabytes). Must not know what scalars, merge keys and
duplicate keys mean.

Source: ``go.yaml.in/yaml/v2`` decode.go, its ``parser``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from extapi.codec.yamlscalars import YAMLError

if TYPE_CHECKING:
    from collections.abc import Callable

    import yaml

__all__ = ["AliasNode", "ListNode", "MapNode", "Node", "ScalarNode", "parse"]

MAX_NODES = 200_000
"""Scalars, lists, maps and aliases of one document; reading so many takes half a second."""
MAX_ALIASED = 1_000_000
"""Bytes that the aliases of a document may add in total; each node counts with :data:`_NODE`."""
MAX_TAG_DIRECTIVES = 1000
"""``%TAG`` directives of a text: libyaml compares each with all before it."""
_NODE = 16
_SHARED = 64
"""Characters of a text of which a document keeps one copy: names and enumerated values come thousands of times."""


@dataclass(slots=True)
class ScalarNode:
    """A scalar. ``implicit``: it is plain, or has the tag ``!``, so that its text says what it is."""

    line: int
    tag: str
    implicit: bool
    text: str

    @property
    def size(self) -> int:
        """Bytes."""
        return _NODE + len(self.text)

    @property
    def height(self) -> int:
        """Lists and maps inside of each other: none."""
        return 0


@dataclass(slots=True)
class ListNode:
    """A list.

    ``size`` is its bytes with all that is in it, aliases read, and ``height`` so many lists and maps inside of each other, itself
    included. What an alias of itself would add is in neither.
    """

    line: int
    items: list[Node] = field(default_factory=list)
    size: int = 0
    height: int = 0


@dataclass(slots=True)
class MapNode:
    """A map: pairs of keys and values, as they are written; ``size`` and ``height`` as of a list."""

    line: int
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    size: int = 0
    height: int = 0


@dataclass(slots=True)
class AliasNode:
    """An alias, and the node that had its anchor at that place, and whether the alias is inside of it."""

    line: int
    name: str
    target: ScalarNode | ListNode | MapNode
    is_inside: bool

    @property
    def size(self) -> int:
        """Bytes of what it stands for, as far as that has been read."""
        return self.target.size

    @property
    def height(self) -> int:
        """Lists and maps inside of each other of what it stands for, as far as that has been read."""
        return self.target.height


Node = ScalarNode | ListNode | MapNode | AliasNode
"""A node; its line counts from 1."""


def parse(data: bytes, max_depth: int) -> Node | None:
    """The root of the first document; None if there is none.

    Args:
        data: The text, in UTF-8 or UTF-16.
        max_depth: Lists and maps inside of each other.

    Raises:
        YAMLError: The text is not YAML, or beyond the bounds.
    """
    import yaml  # noqa: PLC0415 - few requests bring YAML, and it costs start-up time

    # Counted anywhere in the text, and also in UTF-16, which libyaml reads.
    if b"%" in data and data.replace(b"\0", b"").count(b"%TAG") > MAX_TAG_DIRECTIVES:
        raise YAMLError(f"yaml: more than {MAX_TAG_DIRECTIVES} %TAG directives")
    try:
        return _Parser(yaml, data, max_depth).document()
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
class _Parser:
    yaml: Any
    data: bytes
    max_depth: int
    nodes: int = 0
    written: int = 0
    """Bytes of the nodes so far, each where it is written."""
    texts: dict[str, str] = field(default_factory=dict)
    """The short ones so far."""
    anchors: dict[str, ScalarNode | ListNode | MapNode] = field(default_factory=dict)
    _next: Callable[[], Any] = field(init=False)

    def __post_init__(self) -> None:
        # libyaml itself refuses bytes in a wrong encoding, in its own words.
        self._next = self.yaml.cyaml.CParser(self.data).get_event

    def document(self) -> Node | None:
        self._next()  # the start of the stream
        start = self._next()
        if not isinstance(start, self.yaml.DocumentStartEvent):
            return None
        if start.version not in (None, (1, 1)):
            raise YAMLError("yaml: found incompatible YAML document")  # the older libyaml in go-yaml knows no other
        root = self._node(self._next(), 1)
        self._next()  # the end of the document: what follows on its last line is read up to here
        return root

    def _node(self, event: Any, depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise YAMLError(f"yaml: document has more than {MAX_NODES} nodes")
        line = event.start_mark.line + 1
        if isinstance(event, self.yaml.AliasEvent):
            target = self.anchors.get(event.anchor)
            if target is None:
                raise YAMLError(f"yaml: unknown anchor '{event.anchor}' referenced")
            return AliasNode(line, event.anchor, target, isinstance(target, ListNode | MapNode) and not target.height)
        if isinstance(event, self.yaml.ScalarEvent):
            text = event.value if len(event.value) > _SHARED else self.texts.setdefault(event.value, event.value)
            scalar = ScalarNode(line, event.tag or "", event.implicit[0], text)
            self.written += scalar.size
            self._anchor(event, scalar)
            return scalar
        if depth > self.max_depth:
            raise YAMLError(f"yaml: exceeded max depth of {self.max_depth}")
        if isinstance(event, self.yaml.SequenceStartEvent):
            return self._list(event, ListNode(line), depth)
        return self._map(event, MapNode(line), depth)

    def _anchor(self, event: Any, node: ScalarNode | ListNode | MapNode) -> None:
        """Remember a node before what is in it is read, as go-yaml does."""
        if event.anchor:
            self.anchors[event.anchor] = node

    def _list(self, start: Any, node: ListNode, depth: int) -> ListNode:
        self._anchor(start, node)
        while not isinstance(event := self._next(), self.yaml.SequenceEndEvent):
            node.items.append(self._node(event, depth + 1))
        self._measure(node, node.items, depth)
        return node

    def _map(self, start: Any, node: MapNode, depth: int) -> MapNode:
        self._anchor(start, node)
        while not isinstance(event := self._next(), self.yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            node.pairs.append((key, self._node(self._next(), depth + 1)))
        self._measure(node, list(chain.from_iterable(node.pairs)), depth)
        return node

    def _measure(self, node: ListNode | MapNode, inner: list[Node], depth: int) -> None:
        """Measure a list or map at its end. One that is too large or too deep is refused before anything is read for its aliases."""
        self.written += _NODE
        node.size = _NODE + sum(each.size for each in inner)
        node.height = 1 + max((each.height for each in inner), default=0)
        if node.size > self.written + MAX_ALIASED:
            raise YAMLError("yaml: document contains excessive aliasing")
        if depth + node.height - 1 > self.max_depth:
            raise YAMLError(f"yaml: exceeded max depth of {self.max_depth}")
