"""The selectors of one request: bounded before anything is parsed, parsed when somebody asks, and once.

Authorization and the verbs read the same ones. Knows the bounds, not the grammar, which is ``api/selectors``'s.
"""

from __future__ import annotations

from extapi.api.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from extapi.errors import BadRequest

LENGTH = 64 * 1024
"""Characters of a selector. kube-apiserver has no bound but that of all headers, 1 MiB: half a second to parse, and a
requirement per term in a SubjectAccessReview. The longest in use list some hundred names."""

TERMS = 1000
"""Requirements of a selector, or values in them, however they are spread."""


def too_large(text: str) -> bool:
    """Whether a selector is beyond the bounds: told without parsing it, since it may come from anybody."""
    return len(text) > LENGTH or text.count(",") >= TERMS


class Selectors:
    """``labels_text``, ``fields_text``: as the query has them. Equal texts are equal selectors.

    Raises :class:`BadRequest` for what is beyond the bounds.
    """

    __slots__ = ("_fields", "_labels", "fields_text", "labels_text")

    def __init__(self, labels_text: str = "", fields_text: str = "") -> None:
        if labels_text and too_large(labels_text):
            raise _refused("label")
        if fields_text and too_large(fields_text):
            raise _refused("field")
        self.labels_text = labels_text
        self.fields_text = fields_text
        # What is wrong is kept as a text: an error would keep its frames, and by them the request that has this, for ever,
        # since Attributes, which have this as well, are nothing that the garbage collector knows.
        self._labels: LabelSelector | str | None = None
        self._fields: FieldSelector | str | None = None

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
        found = self._labels
        if found is None:
            try:
                found = self._labels = parse_label_selector(self.labels_text)
            except BadRequest as error:
                self._labels = error.message
                raise
        elif isinstance(found, str):
            raise BadRequest(found)
        return found

    @property
    def fields(self) -> FieldSelector:
        """The field selector; see :attr:`labels`."""
        found = self._fields
        if found is None:
            try:
                found = self._fields = parse_field_selector(self.fields_text)
            except BadRequest as error:
                self._fields = error.message
                raise
        elif isinstance(found, str):
            raise BadRequest(found)
        return found


def _refused(what: str) -> BadRequest:
    return BadRequest(
        f"invalid {what} selector: may not have more than {LENGTH} characters, or {TERMS} requirements and values"
    )
