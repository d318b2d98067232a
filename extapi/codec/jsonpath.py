"""JSONPath for printer columns and selectable fields, compiled once (behaviour J44).

Responsible for: the part of kubectl's JSONPath that these use: fields, quoted names, indexes, slices, wildcards,
recursive descent, unions, and filters with a comparison. Must not know tables.

As there, a path that does not fit an object finds nothing at all: an index beyond the end, or a comparison of values of
different types, also takes away what other items would have given.

Source: ``k8s.io/client-go/util/jsonpath``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

__all__ = ["JSONPath", "JSONPathError", "Step"]

_Find = Callable[[list[Any]], Iterable[Any]]
MAX_RESULTS = 1000
"""Results of one path on one object. Without a bound, recursive descent could find each node many times."""


class JSONPathError(ValueError):
    """The path is not valid, or not supported here."""


class _MisfitError(Exception):
    """The path does not fit the object."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path; also for code that follows a path through a schema."""

    find: _Find
    """Finds the results in values."""
    kind: Literal["field", "anywhere", "children", "items", "itself", "union"]
    """``items`` stands for indexes, slices and filters."""
    name: str = ""
    """The field's name, for ``field`` and ``anywhere``."""
    condition: JSONPath | None = None
    """The path inside a filter."""
    members: tuple[Step, ...] = ()
    """The steps of which a union has the results, one after the other."""


_NAME = re.compile(r"(?:[^\s.\[\]{}()'\"\\*]|\\.)+")
_QUOTED = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]")
_WILDCARD = re.compile(r"\.\*")
_ALL = re.compile(r"\[\s*\*\s*\]")
_UNION = re.compile(r"\[((?:[^\[\]'\",]|'[^']*'|\"[^\"]*\")+(?:,(?:[^\]'\",]|'[^']*'|\"[^\"]*\")+)+)\]")
_MEMBER = re.compile(r"(?:[^'\",]|'[^']*'|\"[^\"]*\")+")
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
_EQUALS = frozenset({"==", "!="})
"""The comparisons that booleans have."""


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
        """All results in order; none if something on the way is missing or does not fit."""
        found = [obj]
        try:
            for find in self._finds:
                found = list(islice(find(found), MAX_RESULTS))
                if not found:
                    break
        except _MisfitError:
            return []
        return found

    def first(self, obj: Any) -> Any:
        """The first result, or None."""
        found = self.find(obj)
        return found[0] if found else None


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
        return match.end(), Step(_each, "children")
    if match := _ALL.match(path, at):
        return match.end(), Step(_slice(None, None, None), "items")
    if match := _QUOTED.match(path, at):
        return match.end(), _field(_unescaped(match[1] if match[1] is not None else match[2]))
    if match := _INDEX.match(path, at):
        index = int(match[1])
        return match.end(), Step(_slice(index, index + 1 or None, None), "items")
    if match := _SLICE.match(path, at):
        start, stop, by = (int(part) if part is not None else None for part in match.groups())
        return match.end(), Step(_slice(start, stop, by), "items")
    if match := _UNION.match(path, at):
        return match.end(), _union(match[1], text)
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


def _itself(values: list[Any]) -> Iterable[Any]:
    return values


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _each(values: list[Any]) -> Iterator[Any]:
    for value in values:
        yield from _children(value)


def _field(name: str) -> Step:
    def step(values: list[Any]) -> Iterator[Any]:
        return (value[name] for value in values if isinstance(value, dict) and name in value)

    return Step(step, "field", name)


def _slice(start: int | None, stop: int | None, by: int | None) -> _Find:
    """An index, too, as the slice of one item: one without an end from the last item on."""

    def step(values: list[Any]) -> Iterator[Any]:
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise _MisfitError
            size = len(value)
            first = 0 if start is None else start + size if start < 0 else start
            end = size if stop is None else stop + size if stop < 0 else stop
            if first == end:
                return
            if not (0 <= first < size and first < end <= size) or by == 0:
                raise _MisfitError
            yield from value[first : end : by or 1]

    return step


def _union(inside: str, text: str) -> Step:
    """A union such as ``[0,2]`` or ``['a','b']``.

    Raises:
        JSONPathError: A member cannot be read.
    """
    members = []
    for member in _MEMBER.findall(inside):
        written = f"[{member.strip(' ')}]"
        end, step = _step(written, 0, text)
        if end != len(written):
            raise JSONPathError(f'unrecognized column definition "{text}"')
        members.append(step)

    def step_of_all(values: list[Any]) -> Iterator[Any]:
        for member in members:
            yield from member.find(values)

    return Step(step_of_all, "union", members=tuple(members))


def _anywhere(name: str) -> _Find:
    def below(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]
        for child in _children(value):
            yield from below(child)

    def step(values: list[Any]) -> Iterator[Any]:
        for value in values:
            yield from below(value)

    return step


def _filter(inner: str, compare: str | None, literal: str | None) -> Step:
    """A filter such as ``[?(@.type=="Ready")]``; without a comparison it keeps the items where the path has results."""
    path = JSONPath(inner) if inner else JSONPath("")
    matches = _COMPARE[compare] if compare else None
    wanted = _literal(literal) if literal else None

    def keep(item: Any) -> bool:
        found = path.find(item)
        if matches is None or not found:
            return bool(found)
        if (
            len(found) > 1
            or type(found[0]) is not type(wanted)
            or (isinstance(wanted, bool) and compare not in _EQUALS)
        ):
            raise _MisfitError
        return matches(found[0], wanted)

    def step(values: list[Any]) -> Iterator[Any]:
        for value in values:
            if not isinstance(value, list):
                raise _MisfitError
            yield from filter(keep, value)

    return Step(step, "items", condition=path)


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return _unescaped(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    raise JSONPathError(f"unrecognized literal {text} in a filter")
