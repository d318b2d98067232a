"""All configurations of a cluster together: most writes are about none of them, which is found out once for each kind of write."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from extapi.admission.base import Review
from extapi.admission.matching.index import LARGEST, Key, Match, Ruled, RuleIndex
from extapi.admission.shown import subject

R = TypeVar("R", bound=Ruled)


class RuleSource(Protocol[R]):
    """Configurations of one kind that are followed."""

    @property
    def idle(self) -> bool:
        """Whether it is known that there are none."""
        ...

    @property
    def index(self) -> RuleIndex[R] | None:
        """They, in their order; None: they are not known yet."""
        ...


def key_of(review: Review) -> Key:
    """All of a write that rules look at, but for the versions that are equivalent."""
    name = review.resource
    return review.group, review.path_version, name, review.subresource, review.operation, review.namespace and name


def matches_of(source: RuleSource[R], review: Review, key: Key) -> tuple[Match[R], ...] | None:
    """The configurations whose rules match a write; None: they are not known yet."""
    index = source.index
    if index is None:
        return None
    found = index.known(key, review.kind)
    return index.found(key, review.kind, subject(review)) if found is None else found


class RuleSources:
    """Whether any configuration may be about a write, whichever plugin it is for. Plugins that share it name it as ``rules``."""

    def __init__(self) -> None:
        self._sources: list[RuleSource[Any]] = []
        self._silent: dict[Key, object] = {}
        """Of each kind of write that none is about: the kind of its object, which is another one once its versions change."""
        self._idle = False
        self.generation = 1
        """Rises with each change; greater than 0."""

    def add(self, source: RuleSource[Any]) -> None:
        """Look at these configurations, too. They have to call :meth:`changed`."""
        self._sources.append(source)
        self.changed()

    def changed(self) -> None:
        """Forget everything: configurations have changed."""
        self.generation += 1
        self._silent.clear()
        self._idle = False

    def concern(self, review: Review) -> bool:
        """Whether a configuration may be about a write; also while they are not known."""
        if self._idle:
            return False
        key = key_of(review)
        if self._silent.get(key) is review.kind:
            return False
        try:
            return self._look(review, key)
        except Exception:  # noqa: BLE001 - whoever follows them raises it again, with its own name
            return True

    def _look(self, review: Review, key: Key) -> bool:
        if any(matches_of(source, review, key) != () for source in self._sources):
            return True
        self._idle = all(source.idle for source in self._sources)
        if len(self._silent) >= LARGEST:
            self._silent.clear()
        self._silent[key] = review.kind
        return False
