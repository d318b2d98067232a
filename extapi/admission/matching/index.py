"""Which of many configurations are about a request: found out once per resource, version and operation, then looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from extapi.admission.matching.rules import RuleWithOperations, Subject, matching_version

LARGEST: Final = 10_000
"""Answers that are kept. A server has some ten per resource; kinds that are replaced bring new ones."""


class Ruled(Protocol):
    """Something with rules."""

    @property
    def rules(self) -> Sequence[RuleWithOperations]:
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


Key = tuple[str, ...]
"""What tells one kind of request from another; see :meth:`RuleIndex.known`."""


class RuleIndex(Generic[R]):
    """Configurations, in their order. Make a new one when they change."""

    def __init__(self, configurations: Sequence[R] = ()) -> None:
        self._configurations = tuple(configurations)
        self._known: dict[Key, tuple[object, tuple[Match[R], ...]]] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._configurations)

    def known(self, key: Key, kind: object) -> tuple[Match[R], ...] | None:
        """Those whose rules match a request, in their order; None: to be found first.

        Args:
            key: All that rules look at, but for the versions that are equivalent.
            kind: What says which these are: an object that is another one once they change.
        """
        found = self._known.get(key)
        return found[1] if found is not None and found[0] is kind else None

    def found(self, key: Key, kind: object, subject: Subject) -> tuple[Match[R], ...]:
        """Those whose rules match a request; the answer is kept."""
        if len(self._known) >= LARGEST:
            self._known.clear()
        matches = []
        for index, each in enumerate(self._configurations):
            version = matching_version(each.rules, subject, equivalent=each.equivalent)
            if version is not None:
                matches.append(Match(each, index, version))
        self._known[key] = kind, tuple(matches)
        return tuple(matches)
