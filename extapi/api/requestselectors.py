"""The selectors of one request: bounded before anything is parsed, parsed when somebody asks, and once.

Authorization and the verbs read the same ones. Knows the bounds, not the grammar, which is ``api/selectors``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from extapi.api.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from extapi.errors import BadRequest

LENGTH = 64 * 1024
"""Characters of a selector. kube-apiserver has no bound but that of all headers, 1 MiB: half a second to parse, and a
requirement per term in a SubjectAccessReview. The longest in use list some hundred names."""

TERMS = 1000
"""Requirements of a selector, or values in them, however they are spread."""

S = TypeVar("S", FieldSelector, LabelSelector)


def too_large(text: str) -> bool:
    """Whether a selector is beyond the bounds: told without parsing it, since it may come from anybody."""
    return len(text) > LENGTH or text.count(",") >= TERMS


class Selectors:
    """``labels_text``, ``fields_text``: as the query has them. Equal texts are equal selectors.

    Raises :class:`BadRequest` for what is beyond the bounds.
    """

    __slots__ = ("_fields", "_labels", "fields_text", "labels_text")

    def __init__(self, labels_text: str = "", fields_text: str = "") -> None:
        for name, text in (("label", labels_text), ("field", fields_text)):
            if too_large(text):
                raise BadRequest(
                    f"invalid {name} selector: may not have more than {LENGTH} characters, or {TERMS} requirements and values"
                )
        self.labels_text = labels_text
        self.fields_text = fields_text
        self._labels: LabelSelector | BadRequest | None = None
        self._fields: FieldSelector | BadRequest | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selectors) and (self.labels_text, self.fields_text) == (
            other.labels_text,
            other.fields_text,
        )

    def __hash__(self) -> int:
        return hash((self.labels_text, self.fields_text))

    @property
    def labels(self) -> LabelSelector:
        """The label selector. Raises :class:`BadRequest`, each time, if it cannot be parsed."""
        if self._labels is None:
            self._labels = _parsed(parse_label_selector, self.labels_text)
        return _found(self._labels)

    @property
    def fields(self) -> FieldSelector:
        """The field selector; see :attr:`labels`."""
        if self._fields is None:
            self._fields = _parsed(parse_field_selector, self.fields_text)
        return _found(self._fields)


def _parsed(parse: Callable[[str], S], text: str) -> S | BadRequest:
    try:
        return parse(text)
    except BadRequest as error:
        return error


def _found(kept: S | BadRequest) -> S:
    if isinstance(kept, BadRequest):
        # A fresh one: raising the kept one again would grow its traceback.
        raise BadRequest(kept.message)
    return kept
