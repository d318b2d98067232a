"""Field errors, of which an ``Invalid`` is made: one broken rule at one path, and its text.

Values are printed as Go prints them. Import these from :mod:`extapi.errors`.

Source: ``k8s.io/apimachinery/pkg/util/validation/field``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

__all__ = [
    "LONGEST_PATH",
    "MOST_ERRORS",
    "MOST_TEXT",
    "FieldError",
    "FieldErrorType",
    "RawValue",
    "aggregate",
    "go_float",
    "go_quote",
    "go_string",
]

MOST_ERRORS = 1000
"""Errors reported per list or map."""
LONGEST_PATH = 1024
"""Characters of a path. Clients choose keys, and the path is repeated for everything below them."""
MOST_TEXT = 1 << 20
"""Characters of errors in one text. An error quotes its value, and a value of few bytes can break many rules."""


class FieldErrorType(Enum):
    """The type of a field error: its text in messages, and its reason in causes."""

    INVALID = ("Invalid value", "FieldValueInvalid")
    REQUIRED = ("Required value", "FieldValueRequired")
    NOT_SUPPORTED = ("Unsupported value", "FieldValueNotSupported")
    FORBIDDEN = ("Forbidden", "FieldValueForbidden")
    DUPLICATE = ("Duplicate value", "FieldValueDuplicate")
    TOO_LONG = ("Too long", "FieldValueTooLong")
    TOO_MANY = ("Too many", "FieldValueTooMany")
    TYPE_INVALID = ("Invalid value", "FieldValueTypeInvalid")
    NOT_FOUND = ("Not found", "FieldValueNotFound")
    INTERNAL = ("Internal error", "InternalError")

    @property
    def label(self) -> str:
        """``Invalid value``, ``Required value`` and so on."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """``FieldValueInvalid``, ``FieldValueRequired`` and so on."""
        return self.value[1]


_MISSING: Any = object()


class RawValue(str):
    """A value that is printed as it is, such as JSON whose members have an order."""

    __slots__ = ()


@dataclass(frozen=True)
class FieldError:
    """One broken rule at one path. Use the constructors named after the types.

    ``value`` may be any Python value; it is printed as JSON, or as its quoted ``str`` if it has no JSON.
    ``path`` is as clients write it: ``spec.toppings[0].name``, ``metadata.labels[app]``.

    Example::

        error = FieldError.invalid("spec.toppings[0].quantity", 0, "must be at least 1")
        assert error.text() == "spec.toppings[0].quantity: Invalid value: 0: must be at least 1"
    """

    type: FieldErrorType
    path: str
    value: Any = _MISSING
    detail: str = ""

    @classmethod
    def invalid(cls, path: str, value: Any, detail: str) -> FieldError:
        """The value breaks a rule."""
        return cls(FieldErrorType.INVALID, path, value, detail)

    @classmethod
    def type_invalid(cls, path: str, value: Any, detail: str) -> FieldError:
        """The value is of the wrong type."""
        return cls(FieldErrorType.TYPE_INVALID, path, value, detail)

    @classmethod
    def required(cls, path: str, detail: str = "") -> FieldError:
        """The value is missing."""
        return cls(FieldErrorType.REQUIRED, path, detail=detail)

    @classmethod
    def not_supported(cls, path: str, value: Any, supported: Iterable[Any]) -> FieldError:
        """The value is not one of ``supported``, which are printed in this order; of an ``Enum`` class, its values are."""
        texts = ", ".join(go_quote(_word(item)) for item in supported)
        return cls(FieldErrorType.NOT_SUPPORTED, path, value, f"supported values: {texts}" if texts else "")

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        """The field must not be set here."""
        return cls(FieldErrorType.FORBIDDEN, path, detail=detail)

    @classmethod
    def duplicate(cls, path: str, value: Any) -> FieldError:
        """The value occurs twice."""
        return cls(FieldErrorType.DUPLICATE, path, value)

    @classmethod
    def too_long(cls, path: str, limit: int) -> FieldError:
        """The value has more than ``limit`` bytes; it is not printed."""
        return cls(
            FieldErrorType.TOO_LONG, path, detail=f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
        )

    @classmethod
    def too_many(cls, path: str, actual: int, limit: int) -> FieldError:
        """The value has more than ``limit`` items; ``actual``, their number, is printed as the value."""
        return cls(
            FieldErrorType.TOO_MANY, path, actual, f"must have at most {limit} {'item' if limit == 1 else 'items'}"
        )

    @classmethod
    def not_found(cls, path: str, value: Any) -> FieldError:
        """The value names something that does not exist."""
        return cls(FieldErrorType.NOT_FOUND, path, value)

    def body(self) -> str:
        """The text without the path, as in a cause: ``Type: value: detail``."""
        text = self.type.label
        if self.value is not _MISSING:
            text += f": {_printed(self.value)}"
        if self.detail:
            text += f": {self.detail}"
        return text

    def text(self) -> str:
        """``path: Type: value: detail``."""
        return f"{self.path or '<nil>'}: {self.body()}"


def _printed(value: Any) -> str:
    """A value as ``field.Error.ErrorBody`` prints it: strings quoted, numbers plain, everything else as JSON.

    Never raises: a 422 would become a 500.
    """
    if isinstance(value, Enum):
        return _printed(value.value)
    if isinstance(value, RawValue):
        return str(value)
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return go_float(value)  # Go reads it as a float
    try:
        return _json(value)
    except (TypeError, ValueError, RecursionError):  # keys of several types; objects that contain themselves
        return go_quote(_text(value))


def _json(value: Any) -> str:
    """Compact JSON with sorted members and the escapes of Go's ``json.Marshal``.

    Raises:
        Exception: Whatever ``json.dumps`` raises.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_builtin)
    # A lone surrogate cannot be encoded; the whole response would fail.
    return text.translate(_HTML).encode(errors="replace").decode()


def go_string(text: str) -> str:
    """A string as Go's ``json.Marshal`` writes it."""
    return _json(text)


def go_marshalled(value: Any) -> str:
    """A value of JSON, but a number, as Go's ``json.Marshal`` writes it."""
    return _json(value)


_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def _builtin(value: Any) -> Any:
    """The stand-in for a value that ``json`` does not know: structs, times, bytes and so on as msgspec writes them."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value, key=_json)
    if is_dataclass(value) and type(value).__str__ is not object.__str__:
        return _text(value)  # such as a Quantity, whose JSON is its text
    try:
        return msgspec.to_builtins(value, order="deterministic", enc_hook=_text)
    except (TypeError, ValueError, RecursionError):
        return _text(value)


def _text(value: Any) -> str:
    """The ``str`` of a value, or the name of its type if that raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 -- whatever an author's __str__ raises
        return f"{type(value).__name__} object"


def _word(item: Any) -> str:
    """One of the supported values as Go's ``fmt.Sprint`` prints it."""
    if isinstance(item, Enum):
        item = item.value
    if isinstance(item, float):
        return go_float(item)
    return _json(item) if isinstance(item, bool) or item is None else _text(item)


def go_float(number: float) -> str:
    """A float as Go's ``%v`` prints it: ``2.5``, ``1e+06``, ``1e-05``."""
    try:
        number = float(number)
    except OverflowError:  # an author's integer
        number = math.copysign(math.inf, number > 0 or -1)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    digits, _, exponent = f"{Decimal(repr(number)).normalize():e}".partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        return f"{Decimal(repr(number)).normalize():f}"
    return f"{digits}e{'-' if power < 0 else '+'}{abs(power):02d}"


def aggregate(texts: Iterable[str]) -> str:
    """Several errors in one text, without repetitions; those beyond :data:`MOST_TEXT` characters are left out.

    Source: ``k8s.io/apimachinery/pkg/util/errors`` Aggregate.
    """
    different: dict[str, None] = {}
    size = 0
    for text in texts:
        if size > MOST_TEXT:
            different["and more"] = None
            break
        different[text] = None
        size += len(text)
    return next(iter(different)) if len(different) == 1 else f"[{', '.join(different)}]"


def go_quote(text: str) -> str:
    """A string as Go's ``%q`` prints it, for the characters that occur in practice."""
    if text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f'"{text.translate(_Escapes(_ESCAPES))}"'


class _Escapes(dict[int, str]):
    """The escape of each character, made on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isprintable():
            shown = char
        elif code < 0x80:
            shown = f"\\x{code:02x}"
        elif code < 0x10000:
            shown = f"\\u{code:04x}"
        else:
            shown = f"\\U{code:08x}"
        self[code] = shown
        return shown


_ESCAPES = {
    ord(char): f"\\{name}"
    for char, name in {
        "\a": "a",
        "\b": "b",
        "\f": "f",
        "\n": "n",
        "\r": "r",
        "\t": "t",
        "\v": "v",
        '"': '"',
        "\\": "\\",
    }.items()
}
