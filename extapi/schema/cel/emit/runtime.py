"""What generated code may call, by the names that it uses. There is nothing else in its reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError
from extapi.schema.cel.evaluation.calling import call_dispatched
from extapi.schema.cel.evaluation.qualification import ABSENT, KEYS, find, qualify
from extapi.schema.cel.evaluation.reading import CONVERSIONS, equal_typed, native
from extapi.schema.cel.values.equality import compare, contains as _contains, equal
from extapi.schema.cel.values.values import NONE, OptionalValue, some

UNSET: Final = object()
"""The value of a lazy variable that has not been asked for."""
Bounds = tuple[int, int, Callable[[], bool] | None]
"""What an evaluation may cost, after how much cost the clock is looked at, and what to ask whether its time is up."""


def go_on(cost: int, bounds: Bounds) -> int:
    """The cost at which to ask again.

    Raises:
        CostLimitExceededError: It has cost too much.
        DeadlineExceededError: Its time is up.
    """
    limit, step, expired = bounds
    if cost > limit:
        raise CostLimitExceededError(cost)
    if expired is not None and expired():
        raise DeadlineExceededError
    return min(limit, cost + step)


def fail() -> None:
    """Give up, for the interpreter to say why.

    Raises:
        EvaluationError: Always.
    """
    raise EvaluationError("failed")


def truth(value: Any) -> bool:
    """A value that has to be a bool."""
    if value is True or value is False:
        return bool(value)
    raise EvaluationError("no such overload")


def element(items: list[Any], index: int) -> Any:
    """An element by its index, which does not count from the end."""
    if index < 0:
        fail()
    return items[index]


def present(obj: dict[str, Any], name: str) -> Any:
    """A member that counts as absent if it is null."""
    value = obj[name]
    if value is None:
        fail()
    return value


def step(value: Any, key: Any) -> Any:
    """A field, key or index of a value of any type."""
    if type(value) is OptionalValue or type(key) not in KEYS:
        fail()
    found = qualify(value, key)
    if found is ABSENT:
        fail()
    return found


def has_step(value: Any, key: Any) -> bool:
    """Whether a value of any type has a field."""
    if type(value) is OptionalValue:
        fail()
    return qualify(value, key) is not ABSENT


def optional_step(value: Any, key: Any, convert: Any, null_is_absent: bool) -> OptionalValue:
    """A field, key or index of a value that may be absent."""
    if type(value) is OptionalValue:
        if not value.present:
            return NONE
        value = value.value
    if type(key) not in KEYS:
        fail()
    found = qualify(value, key)
    if found is ABSENT or (found is None and null_is_absent):
        return NONE
    return some(found if convert is None else convert(found))


def equal_any(first: Any, second: Any) -> bool:
    """Whether two values are equal, the first of any type.

    A list or map of a schema cannot be compared with anything else, and here nobody knows any more where it has come from.
    """
    if second is not None and isinstance(first, list | dict) and type(first) is not type(second):
        fail()
    return equal(first, second)


def member(value: Any, members: list[Any]) -> bool:
    """Whether a value is one of some literals."""
    return find(dict.fromkeys(members, True), value) is True


def has_key(mapping: dict[Any, Any], key: Any) -> bool:
    """Whether a map has a key."""
    return find(mapping, key) is not ABSENT


def contains(items: list[Any], value: Any) -> bool:
    """Whether a list has an element."""
    return _contains(value, items)


def given(value: OptionalValue) -> tuple[Any, ...]:
    """The value of an optional element, if there is one."""
    return (value.value,) if value.present else ()


def turns(value: Any) -> Iterable[Any]:
    """What a loop over a value of any type sees."""
    if not isinstance(value, list | dict):
        fail()
    return list(value)


def pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a loop with two variables sees."""
    if isinstance(value, dict):
        return list(value.items())
    if not isinstance(value, list):
        fail()
    return enumerate(list(value))


def insert(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry that must be new."""
    if key in mapping:
        fail()
    mapping[key] = value


def insert_all(mapping: dict[Any, Any], entries: dict[Any, Any]) -> None:
    """Add entries that must be new."""
    for key, value in entries.items():
        insert(mapping, key, value)


NAMESPACE: Final[dict[str, Any]] = {
    "__builtins__": {},
    "UNSET": UNSET,
    "ceil": math.ceil,
    "compare": compare,
    "contains": contains,
    "dispatch": call_dispatched,
    "element": element,
    "enumerate": enumerate,
    "equal": equal,
    "equal_any": equal_any,
    "equal_typed": equal_typed,
    "fail": fail,
    "float": float,
    "given": given,
    "go_on": go_on,
    "has_key": has_key,
    "has_step": has_step,
    "insert": insert,
    "insert_all": insert_all,
    "len": len,
    "member": member,
    "min": min,
    "native": native,
    "optional_step": optional_step,
    "pairs": pairs,
    "present": present,
    "step": step,
    "truth": truth,
    "turns": turns,
    **{f"read_{name}": convert for name, convert in CONVERSIONS.items()},
}
"""The globals of all generated code."""
