"""Selectors on the labels of an object, and of its namespace.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object`` and ``.../namespace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi.api.labelselectors import selector_of
from extapi.api.types import Obj
from extapi.errors import BadRequest, InternalError


class Selector:
    """A ``metav1.LabelSelector``; without one, or with an empty one, everything is selected."""

    __slots__ = ("_problem", "_selector", "empty")

    def __init__(self, selector: Mapping[str, Any] | None) -> None:
        self._problem = ""
        self._selector = None
        try:
            self._selector = selector_of(selector or {})
        except BadRequest as error:
            self._problem = error.message
        self.empty = self._selector is not None and self._selector.empty
        """Whether everything is selected."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels are selected.

        Raises:
            InternalError: The selector is not valid.
        """
        if self._selector is None:
            raise InternalError.because(self._problem)
        return self._selector.matches(labels)

    def matches_either(self, obj: Obj | None, old: Obj | None) -> bool:
        """Whether the new object or the old one is selected.

        Raises:
            InternalError: The selector is not valid.
        """
        return self.empty or any(each is not None and self.matches(labels_of(each)) for each in (obj, old))


def labels_of(obj: Obj) -> Mapping[str, str]:
    """The labels of an object."""
    labels: Mapping[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return labels
