"""Objects with mistakes: changed in one place or some, whatever their schema says."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final

_ODD: Final[tuple[Any, ...]] = (
    None, None, True, False, 0, -1, 1, 1.5, 2.0, 2**31, 2**53, -(2**63), 1e30, "", "a", "A b", "x" * 300, "-1", "1h", "ü☃😀",
    [], {}, [None], [1], ["a", "a"], [{}], [{}, {}], {"a": "b"}, {"a": None}, {"": 1}, [[]], {"name": "a", "namespace": "b"},
)  # fmt: skip
"""Values of every type: those at the edge of what schemas allow, and others."""
_META: Final = ("apiVersion", "kind", "metadata")


def mutated(obj: dict[str, Any], random: Random) -> dict[str, Any]:
    """A copy with one to three changes outside of its metadata."""
    found = copy.deepcopy(obj)
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(found))
        container, key = random.choice(places) if places else (found, "spec")
        _change(container, key, random)
    return found


def _places(value: Any, *, root: bool = True) -> Iterator[tuple[Any, Any]]:
    """Each member of each object and list, with what it is in."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        if not (root and key in _META):
            yield value, key
            yield from _places(inner, root=False)


def _change(container: Any, key: Any, random: Random) -> None:
    value = container.get(key) if isinstance(container, dict) else container[key]
    match random.randrange(9):
        case 3:
            container.pop(key, None) if isinstance(container, dict) else container.pop(key)
        case 4 if isinstance(container, list):
            container.append(copy.deepcopy(value))
        case 5 if isinstance(container, dict):
            name = random.choice(("unknown", "name", "a.b", "", "Spec", "metadata"))
            container[name] = copy.deepcopy(random.choice(_ODD))
        case 6 if isinstance(value, list):
            random.shuffle(value)
        case 7 if isinstance(value, str):
            container[key] = random.choice((value.upper(), value * 40, value[1:], f" {value}"))
        case 8 if isinstance(value, (int, float)) and not isinstance(value, bool):
            container[key] = random.choice((-value, value + 0.5, value * 1000, str(value)))
        case _:
            container[key] = copy.deepcopy(random.choice(_ODD))
