"""Which objects a request selects: a namespace, labels and fields, compiled to one predicate.

Knows cached objects and their keys; ``api/selectors`` parses selectors. Equal selections compare equal, so watchers with
the same selectors share one predicate and one sequence of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from extapi.api.selectors import FieldSelectorQuery, LabelSelectorQuery, parse_field_selector, parse_label_selector
from extapi.watch.cachedobject import CachedObject, CacheSource

Predicate = Callable[[CachedObject], bool]

_EVERY_LABEL = parse_label_selector("")
_COMMON = frozenset({"metadata.name", "metadata.namespace"})
_EVERY_FIELD = parse_field_selector("")


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a list or watch selects."""

    namespace: str = ""
    """Empty for all namespaces, and for cluster-scoped kinds."""
    labels: LabelSelectorQuery = _EVERY_LABEL
    fields: FieldSelectorQuery = _EVERY_FIELD
    version: str = ""
    """The version in which fields other than name and namespace are read."""

    @property
    def by_selector(self) -> bool:
        """Whether there is a label or field selector; such lists have no ``remainingItemCount`` (behaviour E31)."""
        return not (self.labels.empty and self.fields.empty)

    @property
    def name(self) -> str | None:
        """The name, if the field selector selects exactly one."""
        return self.fields.exact("metadata.name")

    @property
    def reads_fields(self) -> bool:
        """Whether the predicate reads fields of an object's version, so that this has to be prepared if conversion waits."""
        return any(requirement.key not in _COMMON for requirement in self.fields.requirements)

    def without_fields(self) -> Selection:
        """The selection by namespace and labels alone."""
        return replace(self, fields=_EVERY_FIELD)

    def predicate(self, source: CacheSource, *, within_namespace: bool = False) -> Predicate | None:
        """The predicate for objects of ``source``.

        Args:
            source: The cache of the objects.
            within_namespace: Whether all objects are known to be in the namespace.

        Returns:
            The predicate, or None if every object matches.
        """
        predicates = self._predicates(source, within_namespace=within_namespace)
        if not self.labels.empty:
            matches = self.labels.matches
            predicates.append(lambda cached: matches(cached.labels))
        if not predicates:
            return None
        if len(predicates) == 1:
            return predicates[0]
        return lambda cached: all(predicate(cached) for predicate in predicates)

    def select(
        self, objects: Iterable[CachedObject], source: CacheSource, *, within_namespace: bool = False
    ) -> Iterable[CachedObject]:
        """Those of ``objects`` that match, in their order: as the predicate says, with one call less per object."""
        for predicate in self._predicates(source, within_namespace=within_namespace):
            objects = filter(predicate, objects)
        if self.labels.empty:
            return objects
        matches = self.labels.matches
        return (cached for cached in objects if matches(cached.labels))

    def _predicates(self, source: CacheSource, *, within_namespace: bool) -> list[Predicate]:
        """What the namespace and the fields demand."""
        predicates: list[Predicate] = []
        if self.namespace and source.layout.namespaced and not within_namespace:
            predicates.append(_under(source.layout.namespace_prefix(self.namespace)))
        if not self.fields.empty:
            predicates.append(self._field_predicate(source))
        return predicates

    def _field_predicate(self, source: CacheSource) -> Predicate:
        """Compare names within the key: most watches with a field selector select one object by its name."""
        requirements = self.fields.requirements
        if len(requirements) == 1 and requirements[0].key == "metadata.name" and requirements[0].operator == "=":
            name = requirements[0].value
            if "/" not in name:
                if self.namespace or not source.layout.namespaced:
                    return _exactly(source.layout.key(self.namespace, name))
                return _ending(source.layout.name_suffix(name))
        matches, version = self.fields.matches, self.version
        if all(requirement.key in _COMMON for requirement in requirements):
            return lambda cached: matches(cached.fields())
        return lambda cached: matches(cached.fields_in(version))


def _under(prefix: bytes) -> Predicate:
    return lambda cached: cached.key.startswith(prefix)


def _exactly(key: bytes) -> Predicate:
    return lambda cached: cached.key == key


def _ending(suffix: bytes) -> Predicate:
    return lambda cached: cached.key.endswith(suffix)
