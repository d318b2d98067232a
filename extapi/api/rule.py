"""Rules in CEL on the types of an author: the marker that stands in ``Annotated[...]`` and above classes.

Only the types of what is written are checked here; :mod:`extapi.schema.cel` compiles the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from extapi.api.markers import Marker

T = TypeVar("T")
_RULES: Final = "__rules__"


@dataclass(frozen=True, slots=True)
class Rule(Marker):
    """``x-kubernetes-validations``: a rule in CEL, which must be true; ``self`` is the value, ``oldSelf`` the value before.

    Several rules may stand on one type. A rule with ``oldSelf`` is only checked on an update that has both values. As a
    decorator it is a rule about all fields of a Struct; subclasses have it too.

    Example::

        @Rule("self.minimum <= self.maximum", message="minimum must not be greater than maximum")
        class Replicas(Struct):
            minimum: int = 1
            maximum: int = 3
            zone: Annotated[str, MaxLength(20), Rule("self == oldSelf", message="zone is immutable")] = "a"
    """

    rule: str
    """The expression."""
    message: str = ""
    """What a failure says; by default, which rule failed."""
    message_expression: str = ""
    """An expression for the message, which then replaces ``message``."""
    reason: str = ""
    """The reason of a failure: ``FieldValueInvalid``, ``FieldValueForbidden``, ``FieldValueRequired`` or
    ``FieldValueDuplicate``; by default the first."""
    field_path: str = ""
    """The field that a failure is about, such as ``.minimum``; by default the value itself."""
    optional_old_self: bool = False
    """Whether the rule is always checked: ``oldSelf`` is then an optional value."""

    def __call__(self, cls: type[T]) -> type[T]:
        """Add the rule to a Struct."""
        own: tuple[Rule, ...] = cls.__dict__.get(_RULES, ())
        setattr(cls, _RULES, (self, *own))  # decorators are applied from the last to the first
        return cls


def rules_of(cls: type) -> tuple[Rule, ...]:
    """The rules about all fields of a Struct, those of its bases first."""
    return tuple(rule for base in reversed(cls.__mro__) for rule in base.__dict__.get(_RULES, ()))
