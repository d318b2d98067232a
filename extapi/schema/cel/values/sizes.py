"""How large a value is to those who count costs.

Source: ``cel-go/interpreter`` actualSize, ``k8s.io/apiserver/pkg/cel/library`` actualSize and traversalCost.
"""

from __future__ import annotations

import math
from typing import Any, Final

from extapi.schema.cel.values.values import OptionalValue

LONGEST_TEXT: Final = 1 << 25
"""How long a text can be that a call makes, in code points. Go has no such bound: there, the memory ends first."""


def size_of(value: Any) -> int:
    """Code points of a string, bytes, elements, entries; the size that a value declares; 1 for all others."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, OptionalValue):
        return size_of(value.value) if value.present else 1
    size = getattr(value, "cel_size", None)
    return 1 if size is None else int(size())


def tenth(number: int) -> int:
    """What it costs to walk through that many characters: a tenth, rounded up as Go's floats are."""
    return math.ceil(number * 0.1)


def traversal(value: Any) -> int:
    """What it costs to walk through a whole value: a tenth of the bytes of each string, and 1 for each scalar."""
    if isinstance(value, str):
        return int(len(value.encode(errors="surrogatepass")) * 0.1)
    if isinstance(value, bytes):
        return int(len(value) * 0.1)
    if isinstance(value, list):
        return sum(map(traversal, value))
    if isinstance(value, dict):
        return sum(traversal(key) + traversal(each) for key, each in value.items())
    return 1
