"""Which of many configurations are about a request: found out once per resource, version and operation, then looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from extapi.admission.matching.rules import Rule, Subject, matching_version

LARGEST: Final = 10_000
"""Answers that are kept. A server has some ten per resource; kinds that are replaced bring new ones."""


class Ruled(Protocol):
    """Something with rules."""

    @property
    def rules(self) -> Sequence[Rule]:
        """Its rules."""
        ...

    @property
    def equivalent(self) -> bool:
        """Whether other versions of a resource count as the resource (``matchPolicy``)."""
        ...


R = TypeVar("R", bound=Ruled)


class Match(NamedTuple, Generic[R]):
    """One of the configurations that are about a request."""

    found: R
    place: int
    """Its place among all."""
    version: str
    """The version in which it is shown the object."""


class RuleIndex(Generic[R]):
    """Configurations, in their order. Make a new one when they change."""

    def __init__(self, configurations: Sequence[R] = ()) -> None:
        self._configurations = tuple(configurations)
        self._matches: dict[Subject, tuple[Match[R], ...]] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._configurations)

    def matches(self, subject: Subject) -> tuple[Match[R], ...]:
        """Those whose rules match, in their order."""
        found = self._matches.get(subject)
        if found is None:
            if len(self._matches) >= LARGEST:
                self._matches.clear()
            found = self._matches[subject] = tuple(self._found(subject))
        return found

    def _found(self, subject: Subject) -> list[Match[R]]:
        found = []
        for index, each in enumerate(self._configurations):
            version = matching_version(each.rules, subject, equivalent=each.equivalent)
            if version is not None:
                found.append(Match(each, index, version))
        return found
