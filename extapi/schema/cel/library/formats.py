"""Named formats: ``format.named``, ``format.uri()`` and others, ``validate``. From Kubernetes 1.31 on.

Source: ``k8s.io/apiserver/pkg/cel/library`` format.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from extapi.api import names
from extapi.schema.cel.declarations import Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.charges import matching
from extapi.schema.cel.library.neturl import uri_problem
from extapi.schema.cel.types import NAMED_FORMAT, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD
from extapi.schema.cel.values.sizes import size_of
from extapi.schema.cel.values.values import NONE, OptionalValue, some
from extapi.schema.formats import FORMATS

_Check = Callable[[str], Sequence[str]]
_LONGEST_PATTERN: Final = 128


class NamedFormat:
    """A format.

    Attributes:
        name: Its name, by which formats are compared.
        check: What is wrong with a text.
        pattern_size: How long a regular expression for it would be, for its cost.
    """

    __slots__ = ("check", "name", "pattern_size")
    cel_type: ClassVar[Type] = NAMED_FORMAT

    def __init__(self, name: str, check: _Check, pattern_size: int) -> None:
        self.name = name
        self.check = check
        self.pattern_size = pattern_size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedFormat):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _prefix(check: _Check) -> _Check:
    rule = names.name_rule(check)
    return lambda text: rule(text, prefix=True)


def _enforced(name: str, problem: str) -> _Check:
    is_valid = FORMATS[name]
    return lambda text: () if is_valid(text) else (problem,)


def _uri(text: str) -> Sequence[str]:
    problem = uri_problem(text)
    return () if problem is None else (problem,)


NAMED_FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(names.dns1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(names.dns1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(names.dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _enforced("uuid", "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _enforced("byte", "invalid base64"), 84),
    "date": NamedFormat("date", _enforced("date", "invalid date"), 71),
    "datetime": NamedFormat("datetime", _enforced("datetime", "invalid datetime"), 71),
}
"""The formats by the name of their function."""


def _named(name: str) -> OptionalValue:
    found = NAMED_FORMATS.get(name)
    return NONE if found is None else some(found)


def _validate(format_: NamedFormat, text: str) -> OptionalValue:
    problems = format_.check(text)
    return some(list(problems)) if problems else NONE


def _constant(name: str) -> Overload:
    value = NAMED_FORMATS[name]
    return overload(f"format.{name}", f"format.{name}() -> format", lambda: value)


def _validate_cost(arguments: Sequence[Any], _result: Any) -> int:
    format_, text = arguments
    return matching(size_of(text), format_.pattern_size) if isinstance(format_, NamedFormat) else 1


def _validate_estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    return arguments[0].size().scaled(0.1).scaled(_LONGEST_PATTERN * 0.25), None


FORMAT_FUNCTIONS: Final[tuple[Overload, ...]] = (
    overload("format-named", "format.named(string) -> optional(format)", _named),
    *map(_constant, NAMED_FORMATS),
    overload(
        "format-validate",
        ".validate(format, string) -> optional(list(string))",
        _validate,
        cost=_validate_cost,
        estimate=_validate_estimate,
    ),
)
