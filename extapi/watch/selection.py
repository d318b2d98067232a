"""Which objects a reader wants: a namespace, labels and fields, compiled to one test.

Knows entries and keys; the grammar of selectors is ``api/selectors``'s. Equal selections are equal values, so that
watchers that want the same share one test and one stream of bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from extapi.api.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from extapi.watch.entry import Entry, Source

Test = Callable[[Entry], bool]

_EVERY_LABEL = parse_label_selector("")
_COMMON = frozenset({"metadata.name", "metadata.namespace"})
_EVERY_FIELD = parse_field_selector("")


@dataclass(frozen=True, slots=True)
class Selection:
    """``namespace``: the empty string selects all, and is what cluster-scoped kinds have."""

    namespace: str = ""
    labels: LabelSelector = _EVERY_LABEL
    fields: FieldSelector = _EVERY_FIELD
    version: str = ""
    """Where fields besides name and namespace are read."""

    @property
    def by_selector(self) -> bool:
        """Whether labels or fields are asked for; such lists say nothing about what remains (spec E31)."""
        return not (self.labels.empty and self.fields.empty)

    @property
    def name(self) -> str | None:
        """The one name that is selected, if there is one."""
        return self.fields.exact("metadata.name")

    def test(self, source: Source, *, within_namespace: bool = False) -> Test | None:
        """The test of an entry of ``source``; ``None``: all pass.

        ``within_namespace``: the entries come from the namespace already.
        """
        tests: list[Test] = []
        if self.namespace and source.namespaced and not within_namespace:
            tests.append(_under(source.prefix + f"{self.namespace}/".encode()))
        if not self.fields.empty:
            tests.append(self._field_test(source))
        if not self.labels.empty:
            matches = self.labels.matches
            tests.append(lambda entry: matches(entry.labels))
        if not tests:
            return None
        if len(tests) == 1:
            return tests[0]
        return lambda entry: all(test(entry) for test in tests)

    def _field_test(self, source: Source) -> Test:
        """Names are compared within the key: most watches with a field selector want one object by its name."""
        requirements = self.fields.requirements
        if len(requirements) == 1 and requirements[0].key == "metadata.name" and requirements[0].operator == "=":
            name = requirements[0].value
            if "/" not in name:
                if self.namespace or not source.namespaced:
                    return _exactly(source.key(self.namespace, name))
                return _ending(f"/{name}".encode())
        matches, version = self.fields.matches, self.version
        if all(requirement.key in _COMMON for requirement in requirements):
            return lambda entry: matches(entry.fields())
        return lambda entry: matches(entry.fields_in(version))


def _under(prefix: bytes) -> Test:
    return lambda entry: entry.key.startswith(prefix)


def _exactly(key: bytes) -> Test:
    return lambda entry: entry.key == key


def _ending(suffix: bytes) -> Test:
    return lambda entry: entry.key.endswith(suffix)
