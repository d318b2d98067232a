"""The requirements of selectors, compiled into one function that is called per object.

Knows what each operator means, and no grammar. Clients choose the number of requirements, and each object of a list and
each event of a watch is checked: with many requirements the cost depends on the object, not on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from extapi.api.strconv import parse_int

LabelOperator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
FieldOperator = Literal["=", "!="]
Matcher = Callable[[Mapping[str, str]], bool]

FEW = 8
"""Up to so many requirements are checked one by one, which is faster."""


class Requirement(NamedTuple):
    """One term of a label selector.

    ``=`` and ``==`` become ``In``, ``!=`` becomes ``NotIn``; values are sorted and unique.
    """

    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()


class FieldRequirement(NamedTuple):
    """One term of a field selector; ``==`` becomes ``=``."""

    key: str
    operator: FieldOperator
    value: str


def label_matcher(requirements: Sequence[Requirement]) -> Matcher:
    """A function that says whether labels meet all requirements."""
    if len(requirements) <= FEW:
        return _all_of([_one_label(requirement) for requirement in requirements])
    return _many_labels(requirements)


def field_matcher(requirements: Sequence[FieldRequirement]) -> Matcher:
    """A function that says whether fields meet all requirements; an absent field counts as ``""``."""
    if len(requirements) <= FEW:
        return _all_of([_one_field(requirement) for requirement in requirements])
    return _many_fields(requirements)


def _all_of(matchers: Sequence[Matcher]) -> Matcher:
    if not matchers:
        return _always
    if len(matchers) == 1:
        return matchers[0]
    if len(matchers) == 2:
        first, second = matchers
        return lambda labels: first(labels) and second(labels)

    def all_match(labels: Mapping[str, str]) -> bool:
        for matcher in matchers:  # noqa: SIM110 -- called per object of a list: a generator takes twice the time
            if not matcher(labels):
                return False
        return True

    return all_match


def _always(_labels: Mapping[str, str]) -> bool:
    return True


def _never(_labels: Mapping[str, str]) -> bool:
    return False


def _one_label(requirement: Requirement) -> Matcher:
    key, operator, values = requirement
    match operator:
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt" | "Lt":
            return _number(key, parse_int(values[0]), greater=operator == "Gt")
    if len(values) == 1:
        (value,) = values
        if operator == "In":
            return lambda labels: labels.get(key) == value
        return lambda labels: labels.get(key) != value
    allowed = frozenset(values)
    if operator == "In":
        return lambda labels: labels.get(key) in allowed
    return lambda labels: labels.get(key) not in allowed


def _number(key: str, bound: int, *, greater: bool) -> Matcher:
    def compare(labels: Mapping[str, str]) -> bool:
        value = integer(labels.get(key, ""))
        if value is None:
            return False
        return value > bound if greater else value < bound

    return compare


def integer(text: str) -> int | None:
    """The number that ``Gt`` and ``Lt`` compare, as ``strconv.ParseInt(text, 10, 64)`` reads it; None if it is none."""
    try:
        return parse_int(text)
    except ValueError:
        return None


class _Label:
    """All requirements on one label, combined."""

    __slots__ = ("above", "absent", "allowed", "below", "present", "refused")

    def __init__(self) -> None:
        self.present = False
        self.absent = False
        self.allowed: set[str] | None = None
        self.refused: set[str] = set()
        self.above: int | None = None
        self.below: int | None = None

    def add(self, operator: LabelOperator, values: tuple[str, ...]) -> None:
        match operator:
            case "DoesNotExist":
                self.absent = True
                return
            case "NotIn":
                self.refused.update(values)
                return
            case "In":
                self.allowed = set(values) if self.allowed is None else self.allowed.intersection(values)
            case "Gt":
                bound = parse_int(values[0])
                self.above = bound if self.above is None else max(bound, self.above)
            case "Lt":
                bound = parse_int(values[0])
                self.below = bound if self.below is None else min(bound, self.below)
        self.present = True

    def matches(self, value: str) -> bool:
        """Whether a label that is present meets them."""
        if self.absent or value in self.refused or (self.allowed is not None and value not in self.allowed):
            return False
        if self.above is None and self.below is None:
            return True
        number = integer(value)
        return (
            number is not None
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


def _many_labels(requirements: Sequence[Requirement]) -> Matcher:
    """A function that looks up each label of an object once, and not at the requirements one by one."""
    wanted: dict[str, _Label] = {}
    for key, operator, values in requirements:
        wanted.setdefault(key, _Label()).add(operator, values)
    present = {key for key, label in wanted.items() if label.present}

    def matches(labels: Mapping[str, str]) -> bool:
        # Comparing the sizes settles most cases: the object has fewer labels than must be present.
        if not labels.keys() >= present:
            return False
        for key, value in labels.items():
            label = wanted.get(key)
            if label is not None and not label.matches(value):
                return False
        return True

    return matches


def _one_field(requirement: FieldRequirement) -> Matcher:
    key, operator, value = requirement
    if operator == "=":
        return lambda fields: fields.get(key, "") == value
    return lambda fields: fields.get(key, "") != value


def _many_fields(requirements: Sequence[FieldRequirement]) -> Matcher:
    """A function that looks at each selectable field once; requirements on other fields were refused before."""
    equal: dict[str, str] = {}
    refused: dict[str, set[str]] = {}
    for key, operator, value in requirements:
        if operator == "!=":
            refused.setdefault(key, set()).add(value)
        elif equal.setdefault(key, value) != value:
            return _never
    return lambda fields: (
        all(fields.get(key, "") == value for key, value in equal.items())
        and all(fields.get(key, "") not in values for key, values in refused.items())
    )
