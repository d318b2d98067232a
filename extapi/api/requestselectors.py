"""The selectors of one request: their size is checked at once; they are parsed on first use, and only once.

Authorization and the verbs share them. Knows the bounds; the grammar is in :mod:`extapi.api.selectors`.
"""

from __future__ import annotations

from extapi.api.selectors import FieldSelectorQuery, LabelSelectorQuery, parse_field_selector, parse_label_selector
from extapi.errors import BadRequest

LENGTH = 64 * 1024
"""Characters of a selector. kube-apiserver's only bound is that of all headers, 1 MiB: such a selector takes half a
second to parse, and each of its terms becomes a requirement in a SubjectAccessReview. The longest in use list some
hundred names."""

TERMS = 1000
"""Requirements of a selector and values in them, taken together."""


def too_large(text: str) -> bool:
    """Whether a selector is beyond the bounds. Does not parse it: it may come from anybody."""
    return len(text) > LENGTH or text.count(",") >= TERMS


class Selectors:
    """The label and field selector of a request, as texts and parsed. They are equal if their texts are.

    Raises:
        BadRequest: A text is beyond the bounds.
    """

    __slots__ = ("_fields", "_labels", "fields_text", "labels_text")

    def __init__(self, labels_text: str = "", fields_text: str = "") -> None:
        if labels_text and too_large(labels_text):
            raise _refused("label")
        if fields_text and too_large(fields_text):
            raise _refused("field")
        self.labels_text = labels_text
        self.fields_text = fields_text
        # A failure is kept as its text: an exception would keep its frames, and with them the request that holds this
        # object, for ever, because the garbage collector does not track Attributes, which hold it too.
        self._labels: LabelSelectorQuery | str | None = None
        self._fields: FieldSelectorQuery | str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selectors) and (self.labels_text, self.fields_text) == (
            other.labels_text,
            other.fields_text,
        )

    def __hash__(self) -> int:
        return hash((self.labels_text, self.fields_text))

    @property
    def labels(self) -> LabelSelectorQuery:
        """The label selector.

        Raises:
            BadRequest: It cannot be parsed; each access raises.
        """
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
    def fields(self) -> FieldSelectorQuery:
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
