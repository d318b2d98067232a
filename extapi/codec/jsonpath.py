"""JSONPath for printer columns and selectable fields, compiled once (behaviour J44).

Responsible for: the part of kubectl's JSONPath that these use: fields, quoted names, indexes, slices, wildcards,
recursive descent, and filters with a comparison. Must not know tables.

Source: ``k8s.io/client-go/util/jsonpath``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["JSONPath", "JSONPathError", "Step"]

_Find = Callable[[Any], Iterable[Any]]
MAX_RESULTS = 1000
"""Results of one path on one object. Without a bound, recursive descent could find each node many times."""


class JSONPathError(ValueError):
    """The path is not valid, or not supported here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path; also for code that follows a path through a schema."""

    find: _Find
    """Finds the results in a value."""
    kind: Literal["field", "anywhere", "children", "items", "itself"]
    """``items`` stands for indexes, slices and filters."""
    name: str = ""
    """The field's name, for ``field`` and ``anywhere``."""
    condition: JSONPath | None = None
    """The path inside a filter."""


_NAME = re.compile(r"(?:[^\s.\[\]{}()'\"\\*]|\\.)+")
_QUOTED = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]")
_WILDCARD = re.compile(r"\.?\[\s*\*\s*\]|\.\*")
_INDEX = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
_SLICE = re.compile(r"\[\s*(-?[0-9]{1,9})?\s*:\s*(-?[0-9]{1,9})?\s*(?::\s*([0-9]{1,9}))?\s*\]")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:[^=!<>()'\"\s]|'[^']*'|\"[^\"]*\")*)\s*"
    r"(?:(==|!=|<=|>=|<|>)\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s()'\"]+)\s*)?\)\]"
)
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPath:
    """A compiled path such as ``.spec.toppings[*].name``, with or without braces around it.

    Raises:
        JSONPathError: The path cannot be read.
    """

    __slots__ = ("_finds", "steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = tuple(_compile(text))
        self._finds = tuple(step.find for step in self.steps)

    def find(self, obj: Any) -> list[Any]:
        """All results in order; none if something on the way is missing."""
        found = [obj]
        for find in self._finds:
            found = _bounded(result for item in found for result in find(item))
            if not found:
                break
        return found

    def first(self, obj: Any) -> Any:
        """The first result, or None."""
        found = self.find(obj)
        return found[0] if found else None


def _bounded(results: Iterator[Any]) -> list[Any]:
    return [result for _, result in zip(range(MAX_RESULTS), results, strict=False)]


def _compile(text: str) -> Iterator[Step]:
    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    path = path.removeprefix("$")
    at = 0
    while at < len(path):
        at, step = _step(path, at, text)
        yield step


def _step(path: str, at: int, text: str) -> tuple[int, Step]:
    """The step that begins at ``at``, and where the next one begins."""
    if match := _WILDCARD.match(path, at):
        return match.end(), Step(_children, "children")
    if match := _QUOTED.match(path, at):
        return match.end(), _field(_unescaped(match[1] if match[1] is not None else match[2]))
    if match := _INDEX.match(path, at):
        return match.end(), Step(_item(int(match[1])), "items")
    if match := _SLICE.match(path, at):
        start, stop, by = (int(part) if part is not None else None for part in match.groups())
        return match.end(), Step(_slice(slice(start, stop, by or 1)), "items")
    if match := _FILTER.match(path, at):
        return match.end(), _filter(*match.groups())
    if path.startswith("..", at):
        match = _NAME.match(path, at + 2)
        if match:
            name = _unescaped(match[0])
            return match.end(), Step(_anywhere(name), "anywhere", name)
    elif path.startswith(".", at):
        if at + 1 == len(path):
            return at + 1, Step(_itself, "itself")
        if path[at + 1] == "[":
            return at + 1, Step(_itself, "itself")
        match = _NAME.match(path, at + 1)
        if match:
            return match.end(), _field(_unescaped(match[0]))
    raise JSONPathError(f'unrecognized column definition "{text}"')


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _itself(value: Any) -> Iterable[Any]:
    return (value,)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _field(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return Step(step, "field", name)


def _item(index: int) -> _Find:
    def step(value: Any) -> Iterable[Any]:
        return (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()

    return step


def _slice(part: slice) -> _Find:
    def step(value: Any) -> Iterable[Any]:
        return value[part] if isinstance(value, list) else ()

    return step


def _anywhere(name: str) -> _Find:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]
        for child in _children(value):
            yield from step(child)

    return step


def _filter(inner: str, compare: str | None, literal: str | None) -> Step:
    """A filter such as ``[?(@.type=="Ready")]``; without a comparison it keeps the items where the path has results."""
    path = JSONPath(inner) if inner else None
    matches = _COMPARE[compare] if compare else None
    wanted = _literal(literal) if literal else None

    def keep(item: Any) -> bool:
        found = path.find(item) if path is not None else [item]
        if matches is None or not found:
            return bool(found)
        try:
            return isinstance(found[0], bool) == isinstance(wanted, bool) and matches(found[0], wanted)
        except TypeError:  # values of different types have no order
            return False

    def step(value: Any) -> Iterable[Any]:
        return [item for item in value if keep(item)] if isinstance(value, list) else ()

    return Step(step, "items", condition=path)


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return _unescaped(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    raise JSONPathError(f"unrecognized literal {text} in a filter")
