"""Sets of fields, and their form in ``fieldsV1``.

A set is a tree. Each edge is a path element, written as in FieldsV1: ``f:name`` for a field, ``k:{"name":"x"}`` for an
item of a map list, ``v:"x"`` for an item of a set, ``i:0`` for an index. Two elements are equal if their texts are, so the
texts are canonical: keys sorted, numbers as Go writes them.

Responsible for: the operations on sets, and both directions of FieldsV1. Knows nothing of objects and types.
Source: ``structured-merge-diff/v6/fieldpath``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from extapi.api.jsonvalue import go_json
from extapi.api.strconv import only_digits
from extapi.errors import go_quote

MAX_DEPTH: Final = 200
"""Levels of a set that a client sends. Objects are less deep: see :data:`extapi.codec.strictjson.MAX_DEPTH`."""

SELF: Final = "."
"""Stands for the member itself, beside what is below it."""
_ESCAPED: Final = str.maketrans(
    {chr(code): f"\\u{code:04x}" for code in range(0x20)}
    | {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}
)
_HTML: Final = _ESCAPED | {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""In values; not in the names of keys."""
_LONGEST_RECENT: Final = 4096
"""Bytes of a set that is kept in memory after it was read; all that are kept take some megabytes at most."""
_LONGEST_INDEX: Final = 19
"""Digits of an index."""

Path = tuple[str, ...]
"""Path elements, from the root of an object."""


class FieldSet:
    """A set of fields; never changed once another object can see it.

    ``members``: the elements here that are in the set. ``children``: what of the set is below each element; no child is
    empty. An element can be one, the other, or both.
    """

    __slots__ = ("_json", "children", "members", "reconciled")

    def __init__(self, members: Iterable[str] = (), children: Mapping[str, FieldSet] | None = None) -> None:
        self.members: set[str] = set(members)
        self.children: dict[str, FieldSet] = dict(children) if children else {}
        self._json: dict[str, Any] | None = None
        self.reconciled: tuple[object, FieldSet | None] | None = None
        """What :func:`extapi.managedfields.typedsets.reconcile` has found: the type, and the other set if it is not this one."""

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """The set of these paths; an empty one adds nothing, since nobody manages a whole object."""
        found = cls()
        for path in paths:
            found.add(path)
        return found

    @classmethod
    def _made(cls, members: set[str], children: dict[str, FieldSet]) -> FieldSet:
        """A set of parts that nobody else has: without copies."""
        found = cls.__new__(cls)
        found.members, found.children, found._json, found.reconciled = members, children, None, None  # noqa: SLF001 - of this class
        return found

    @classmethod
    def union(cls, sets: Sequence[FieldSet]) -> FieldSet:
        """All of them together, in linear time: ``|`` one after the other copies the result each time."""
        if len(sets) == 1:
            return sets[0]
        below: dict[str, list[FieldSet]] = {}
        for each in sets:
            for element, children in each.children.items():
                below.setdefault(element, []).append(children)
        members = {element for each in sets for element in each.members}
        return cls._made(members, {element: cls.union(found) for element, found in below.items()})

    def add(self, path: Path) -> None:
        """Add a path, while the set is being built."""
        at = self
        for element in path[:-1]:
            at = at.children.setdefault(element, FieldSet())
        if path:
            at.members.add(path[-1])

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return self is other or (self.members == other.members and self.children == other.children)

    __hash__ = None  # type: ignore[assignment]  # filled in after it is made

    def __repr__(self) -> str:
        return f"FieldSet({self.to_json()!r})"

    def __contains__(self, path: Path) -> bool:
        at = self
        for element in path[:-1]:
            below = at.children.get(element)
            if below is None:
                return False
            at = below
        return bool(path) and path[-1] in at.members

    def __or__(self, other: FieldSet) -> FieldSet:
        if other is EMPTY or self is other:
            return self
        if not (self.members or self.children):
            return other
        grown: dict[str, FieldSet] = {}
        for element, theirs in other.children.items():
            ours = self.children.get(element)
            both = theirs if ours is None else ours | theirs
            if both is not ours:
                grown[element] = both
        if not grown and other.members <= self.members:
            return self
        return FieldSet._made(self.members | other.members, {**self.children, **grown} if grown else self.children)

    def __and__(self, other: FieldSet) -> FieldSet:
        if self is EMPTY or other is EMPTY:
            return EMPTY
        children = {}
        if self.children and other.children:
            few, many = (self, other) if len(self.children) < len(other.children) else (other, self)
            for element, ours in few.children.items():
                theirs = many.children.get(element)
                if theirs is not None and (both := ours & theirs) is not EMPTY:
                    children[element] = both
        members = self.members & other.members
        return FieldSet._made(members, children) if members or children else EMPTY

    def __sub__(self, other: FieldSet) -> FieldSet:
        """Without the members of ``other``. What is below a removed member stays."""
        if other is EMPTY or self is EMPTY:
            return self
        changed: dict[str, FieldSet] = {}
        if self.children and other.children:
            # Through the smaller of the two: one large change meets the small sets of many managers.
            for element in self.children if len(self.children) < len(other.children) else other.children:
                ours, theirs = self.children.get(element), other.children.get(element)
                if ours is not None and theirs is not None and (left := ours - theirs) is not ours:
                    changed[element] = left
        return self._without(other.members, changed)

    def _without(self, removed: set[str], changed: Mapping[str, FieldSet]) -> FieldSet:
        """The set without these members, and with other children, which may be empty; itself if nothing is different."""
        members = self.members if self.members.isdisjoint(removed) else self.members - removed
        if not changed:
            return self if members is self.members else FieldSet._made(members, self.children)
        children = {**self.children, **changed}
        for element, left in changed.items():
            if not left:
                del children[element]
        return FieldSet._made(members, children)

    def without_subtrees(self, other: FieldSet) -> FieldSet:
        """Without the members of ``other``, and whatever is below them: SMD's RecursiveDifference."""
        if other is EMPTY or self is EMPTY:
            return self
        changed: dict[str, FieldSet] = {}
        for element, ours in self.children.items():
            if element in other.members:
                changed[element] = EMPTY
            elif (theirs := other.children.get(element)) is not None:
                left = ours.without_subtrees(theirs)
                if left is not ours:
                    changed[element] = left
        return self._without(other.members, changed)

    def paths(self) -> Iterator[Path]:
        """All members: those of each level before what is below it, in the order of :func:`in_order`."""
        members = in_order(self.members)
        yield from ((element,) for element in members)
        for element in in_order(self.children):
            for path in self.children[element].paths():
                yield (element, *path)

    def to_json(self) -> dict[str, Any]:
        """The value of ``fieldsV1``, in its order; made once, so it must not be changed."""
        if self._json is None:
            self._json = self._written()
        return self._json

    def _written(self) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for element in in_order(self.members | self.children.keys()):
            below = self.children.get(element)
            if below is None:
                written[element] = {}
            elif element in self.members:
                written[element] = {SELF: {}, **below._written()}  # noqa: SLF001 - of this class
            else:
                written[element] = below._written()  # noqa: SLF001 - as above
        return written

    @classmethod
    def from_json(cls, fields: Any) -> FieldSet:
        """Read the value of ``fieldsV1``; what was read lately is the same object, since most writes change nothing of it.

        Raises:
            ValueError: It is not a set of fields.
        """
        if fields is None:
            return EMPTY
        try:
            packed = _pack(fields)
        except (ValueError, OverflowError, RecursionError):  # half of a surrogate pair; wrong, which is told below
            return cls._read(fields, 0)
        return _recent(packed) if len(packed) <= _LONGEST_RECENT else cls._read(fields, 0)

    @classmethod
    def _read(cls, fields: Any, depth: int) -> FieldSet:
        if not isinstance(fields, dict):
            raise ValueError("a set of fields must be an object")  # noqa: TRY004 - malformed input, as the others
        if depth > MAX_DEPTH:
            raise ValueError(f"a set of fields must not nest deeper than {MAX_DEPTH} levels")
        found = cls()
        for text, below in fields.items():
            if text == SELF:
                continue
            element = read_element(text)
            if element is None:
                continue
            if below is not None and not isinstance(below, dict):
                raise ValueError(f"what is below {text!r} must be an object")
            if not below or SELF in below:
                found.members.add(element)
            if below:
                children = cls._read(below, depth + 1)
                if children:
                    found.children[element] = children
                else:
                    found.members.add(element)
        return found


EMPTY: Final = FieldSet()


_pack: Final = msgspec.msgpack.Encoder().encode
"""Only to recognise what was read before: it takes half of the time of JSON."""


@lru_cache(maxsize=256)
def _recent(packed: bytes) -> FieldSet:
    return FieldSet._read(msgspec.msgpack.decode(packed), 0)  # noqa: SLF001 - a part of from_json


def field_element(name: str) -> str:
    """The element of a field."""
    return f"f:{name}"


def key_element(keys: Mapping[str, Any]) -> str:
    """The element of an item of a map list; ``keys``: those that it has."""
    return "k:{" + ",".join([f"{key_label(name)}{scalar_text(keys[name])}" for name in sorted(keys)]) + "}"


def key_label(name: str) -> str:
    """The name of a key as it begins its part of an element."""
    return f'"{name.translate(_ESCAPED)}":'


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{scalar_text(value)}"


def json_text(text: str) -> str:
    """A string as Go writes it in managed fields: the encoder of paths is json-iterator."""
    # One by one: a loop over them takes as long as all else that is done with an item of a large set.
    if text.isprintable() and not ('"' in text or "\\" in text or "<" in text or ">" in text or "&" in text):
        return f'"{text}"'
    return f'"{text.translate(_HTML)}"'


def read_element(text: str) -> str | None:
    """The canonical form of an element; None for one of a type that is not known, which is to be ignored.

    Raises:
        ValueError: It is malformed.
    """
    kind, rest = text[:2], text[2:]
    if kind == "f:":
        return text
    if len(kind) < 2:
        raise ValueError("key must be 2 characters long:")
    if kind[1] != ":":
        raise ValueError(f"missing colon: {text}")
    if kind == "i:":
        digits = rest[1:] if rest[:1] in {"+", "-"} else rest
        if len(digits) > _LONGEST_INDEX or not only_digits(digits):
            raise ValueError(f"no index: {text}")
        return f"i:{int(rest)}"
    if kind not in {"k:", "v:"}:
        return None
    try:
        value = msgspec.json.decode(rest)
        if kind == "v:":
            return value_element(value)
        if not isinstance(value, dict):
            raise ValueError(f"the keys of an item must be an object: {text}")  # noqa: TRY004 - as above
        return key_element(value)
    except RecursionError:
        raise ValueError("the value of a path element is nested too deeply") from None


def in_order(elements: Collection[str]) -> list[str]:
    """Elements in the order of kube-apiserver: fields, then map list items, items of sets, indices, each by value."""
    fields: list[str] = []
    values: list[str] = []
    indices: list[str] = []
    for element in elements:
        kind = element[0]
        (fields if kind == "f" else indices if kind == "i" else values).append(element)
    fields.sort()
    if values:
        # One text for all: decoding them one by one costs more than sorting them.
        decoded = msgspec.json.decode(f"[{','.join([element[2:] for element in values])}]")
        if not all(value.__class__ is str for value in decoded):
            decoded = map(_rank, values, decoded)  # texts alone compare by themselves
        ranked = sorted(zip(decoded, values, strict=True))
        fields += [element for _, element in ranked]
    indices.sort(key=lambda element: int(element[2:]))
    return fields + indices


def _rank(element: str, value: Any) -> tuple[Any, ...]:
    """The sort key of an item; the keys of an element are in order already. Flat: nested ones compare slowly."""
    if element[0] == "v":
        return (1, *_comparable(value))
    rank: list[Any] = [0]
    for name, item in value.items():
        rank.append(name)
        rank += _comparable(item)
    return tuple(rank)


def shown(path: Path) -> str:
    """The path as errors show it: ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(shown_element, path))


def shown_element(element: str) -> str:
    """One element, as errors show it."""
    rest = element[2:]
    match element[0]:
        case "f":
            return f".{rest}"
        case "i":
            return f"[{rest}]"
        case "v":
            return f"[={_plain(rest)}]"
        case _:
            keys = msgspec.json.decode(rest)
            return "[" + ",".join(f"{name}={_shown_value(value)}" for name, value in sorted(keys.items())) + "]"


def _plain(text: str) -> str:
    return _shown_value(msgspec.json.decode(text))


def _shown_value(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else scalar_text(value)


def scalar_text(value: Any) -> str:
    """A JSON value as Go writes it; most are scalars."""
    kind = value.__class__
    if kind is str:
        return json_text(value)
    if kind is int or kind is float:
        return go_json(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is list:
        return "[" + ",".join(map(scalar_text, value)) + "]"
    return "{" + ",".join(f"{json_text(name)}:{scalar_text(item)}" for name, item in sorted(value.items())) + "}"


def _comparable(value: Any) -> tuple[int, Any]:
    """Values of any types in one order: numbers, texts, booleans, the rest."""
    kind = value.__class__
    if kind is str:
        return (1, value)
    if kind is int or kind is float:
        return (0, value)
    return (2, value) if kind is bool else (3, scalar_text(value))
