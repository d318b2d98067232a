"""Lists that stand for two others, one after the other.

``+`` on lists costs one unit in CEL, whatever their size, so it must not copy: an expression that doubles a list 40 times
costs less than a hundred.

Source: ``github.com/google/cel-go/common/types`` concatList.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, SupportsIndex, overload

from extapi.schema.cel.errors import EvaluationError

_COPIED: Final = 64
"""Up to this size a copy is cheaper than a view."""
_LONGEST: Final = 2**62
"""A list that is longer has no ``len`` in Python."""


def concatenate(left: list[Any], right: list[Any]) -> list[Any]:
    """The elements of both lists. Neither list may change afterwards."""
    length = len(left) + len(right)
    if length <= _COPIED:
        return [*left, *right]
    if length > _LONGEST:
        raise EvaluationError("integer overflow")
    return ConcatList(left, right, length)


class ConcatList(list[Any]):
    """A view of two lists. It is a list for ``isinstance``, but its elements are in the other two.

    Attributes:
        left: The list that comes first.
        right: The list that comes second.
    """

    __slots__ = ("_length", "left", "right")

    def __init__(self, left: list[Any], right: list[Any], length: int) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return self._length > 0

    def __iter__(self) -> Iterator[Any]:
        rest: list[list[Any]] = [self]
        while rest:
            part = rest.pop()
            while isinstance(part, ConcatList):
                rest.append(part.right)
                part = part.left
            yield from part

    def __reversed__(self) -> Iterator[Any]:
        rest: list[list[Any]] = [self]
        while rest:
            part = rest.pop()
            while isinstance(part, ConcatList):
                rest.append(part.left)
                part = part.right
            yield from reversed(part)

    def __contains__(self, element: object) -> bool:
        return any(each is element or each == element for each in self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._length))]
        at = index.__index__()
        if at < 0:
            at += self._length
        if not 0 <= at < self._length:
            raise IndexError("list index out of range")
        part: list[Any] = self
        while isinstance(part, ConcatList):
            size = len(part.left)
            if at < size:
                part = part.left
            else:
                at -= size
                part = part.right
        return part[at]

    def __add__(self, other: list[Any]) -> list[Any]:
        return concatenate(self, other)

    def __radd__(self, other: list[Any]) -> list[Any]:
        return concatenate(other, self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, list)
            and len(other) == self._length
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return f"ConcatList({self._length} elements)"
