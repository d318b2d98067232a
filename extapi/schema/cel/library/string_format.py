"""``string.format``: clauses such as ``%s`` and ``%.2f``, filled in, or checked before against literal arguments.

Numbers with ``%f`` and ``%e`` are written for the locale en_US. This is cel-go's first way of formatting, which versions 1
to 3 of its strings have.

Source: ``cel-go/ext`` formatting.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from extapi.errors import go_quote
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.printed_numbers import fixed_point, plain_double, scientific
from extapi.schema.cel.syntax.nodes import ListLiteral, MapLiteral, Node
from extapi.schema.cel.values.conversions import (
    bool_to_string,
    bytes_to_string,
    double_to_string,
    duration_to_string,
    timestamp_to_string,
)
from extapi.schema.cel.values.sizes import LONGEST_TEXT
from extapi.schema.cel.values.values import INT_MAX, Duration, Timestamp, TypeValue, UInt, type_name

_DEEPEST: Final = 400
_DEFAULT_PRECISION: Final = 6
_TEXTS: Final = {
    "b": "only integers and bools can be formatted as binary",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
    "e": "scientific clause can only be used on doubles",
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps"
    ),
}
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "b": frozenset(("int", "uint", "bool")),
    "d": frozenset(("int", "uint")),
    "f": frozenset(("double", "string")),
    "x": frozenset(("int", "uint", "string", "bytes")),
    "X": frozenset(("int", "uint", "string", "bytes")),
    "o": frozenset(("int", "uint")),
    "e": frozenset(("double", "string")),
    "s": frozenset(
        (
            *("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type"),
            "null",
        )
    ),
}
"""What types an argument of each clause may have as far as they are known."""
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class FormatProblem(NamedTuple):
    """What is wrong with a call of ``format``."""

    node: Node | None
    """The argument, or the part of it, that has a wrong type; None for the call itself."""
    message: str


class _FormatError(ValueError):
    """A format that cannot be read, or too few arguments."""


class _Clause(NamedTuple):
    verb: str
    precision: int
    argument: int


def formatted(text: str, arguments: list[Any]) -> str:
    """Fill in a format.

    Raises:
        EvaluationError: It cannot be read, or an argument is missing or has a type that its clause does not take.
    """
    parts: list[str] = []
    room = LONGEST_TEXT
    try:
        for each in _parts(text, len(arguments), index_first=True):
            shown = each if isinstance(each, str) else _fill(each, arguments[each.argument])
            room -= len(shown)
            if room < 0:
                raise EvaluationError("format: the result is too long")
            parts.append(shown)
    except _FormatError as error:
        raise EvaluationError(str(error)) from None
    return "".join(parts)


def format_problem(text: str, arguments: Sequence[Node]) -> FormatProblem | None:
    """What is wrong with a call whose format is a literal, and its arguments a list literal.

    cel-go checks it when it compiles, once type checking has found nothing.

    Source: ``cel-go/ext`` stringFormatValidator.
    """
    count = 0
    try:
        for each in _parts(text, len(arguments), index_first=False):
            if isinstance(each, str):
                continue
            count += 1
            found = _mismatch(each.verb, arguments[each.argument])
            if found is not None:
                return FormatProblem(
                    found, f"error during formatting: {_TEXTS[each.verb]}, was given {found.type.name}"
                )
    except _FormatError as error:
        return FormatProblem(None, str(error))
    if len(arguments) > count:
        return FormatProblem(
            None, f"too many arguments supplied to string.format (expected {count}, got {len(arguments)})"
        )
    return None


def _mismatch(verb: str, node: Node) -> Node | None:
    kind = node.type.kind
    if kind != "dyn" and kind not in _KINDS[verb]:
        return node
    if verb != "s":
        return None
    rest: list[Node] = []
    if isinstance(node, ListLiteral):
        rest = node.elements
    elif isinstance(node, MapLiteral):
        rest = [each for key, value, _ in node.entries for each in (key, value)]
    for each in rest:
        found = _mismatch(verb, each)
        if found is not None:
            return found
    return None


def _parts(text: str, count: int, *, index_first: bool) -> Iterator[str | _Clause]:
    """The parts of a format: text, and clauses.

    A clause without an argument and a ``%`` at the end are errors; Go looks at the former first when it formats, and at
    the latter when it checks.
    """
    start = index = 0
    while True:
        at = text.find("%", start)
        if at < 0:
            yield text[start:]
            return
        yield text[start:at]
        if text[at + 1 : at + 2] == "%":
            yield "%"
            start = at + 2
            continue
        ends = at + 1 == len(text)
        if ends and not index_first:
            raise _FormatError("unexpected end of string")
        if index >= count:
            raise _FormatError(f"index {index} out of range")
        if ends:
            raise _FormatError("unexpected end of string")
        verb, precision, start = _clause(text, at + 1)
        yield _Clause(verb, precision, index)
        index += 1


def _clause(text: str, at: int) -> tuple[str, int, int]:
    """The verb of a clause, its precision, and where the next part begins."""
    precision = _DEFAULT_PRECISION
    if text[at] == ".":
        end = at + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end == len(text):
            raise _FormatError(
                "could not parse formatting clause: error while parsing precision: could not find end of precision "
                "specifier"
            )
        precision = _precision(text[at + 1 : end])
        at = end
    verb = text[at]
    if verb not in _TEXTS:
        # Go takes the first byte for a character.
        byte = chr(verb.encode(errors="surrogatepass")[0])
        raise _FormatError(f'could not parse formatting clause: unrecognized formatting clause "{byte}"')
    return verb, precision, at + 1


def _precision(text: str) -> int:
    short = text.lstrip("0")
    if text and len(short) <= 19 and int(short or "0") <= INT_MAX:
        return int(short or "0")
    reason = "value out of range" if text else "invalid syntax"
    raise _FormatError(
        "could not parse formatting clause: error while parsing precision: error while converting precision to integer: "
        f"strconv.Atoi: parsing {go_quote(text)}: {reason}"
    )


def _fill(clause: _Clause, value: Any) -> str:
    verb, precision, _ = clause
    if verb == "s":
        shown = _string(value)
    elif verb in {"f", "e"}:
        number = _NOT_FINITE.get(value) if type(value) is str else value
        if type(number) is not float:
            shown = None
        else:
            shown = fixed_point(number, precision) if verb == "f" else scientific(number, precision)
    elif verb in {"x", "X"}:
        shown = _hexadecimal(value)
        if shown is not None and verb == "X":
            shown = shown.upper()
    elif verb == "b" and type(value) is bool:
        shown = "1" if value else "0"
    else:
        shown = f"{value:{verb}}" if type(value) in {int, UInt} else None
    if shown is None:
        raise EvaluationError(f"error during formatting: {_TEXTS[verb]}, was given {type_name(value)}")
    return shown


def _hexadecimal(value: Any) -> str | None:
    kind = type(value)
    if kind is int or kind is UInt:
        return f"{value:x}"
    if kind is str:
        return str(value.encode(errors="surrogatepass").hex())
    return str(value.hex()) if kind is bytes else None


def _bytes(value: bytes) -> str:
    try:
        return bytes_to_string(value)
    except EvaluationError as error:
        raise EvaluationError(
            f"error during formatting: could not convert argument {go_quote(str(error))} to string"
        ) from None


_SCALARS: Final[Mapping[type, Callable[[Any], str]]] = {
    int: int.__repr__,
    UInt: int.__repr__,
    float: double_to_string,
    bool: bool_to_string,
    str: str,
    Timestamp: timestamp_to_string,
    bytes: _bytes,
    Duration: duration_to_string,
    TypeValue: lambda value: str(value.name),
    type(None): lambda _: "null",
}
"""How ``%s`` writes values."""
_INNER: Final[Mapping[type, Callable[[Any], str]]] = {
    **_SCALARS,
    float: plain_double,
    str: go_quote,
    bytes: lambda value: f"b{go_quote(_bytes(value))}",
    Timestamp: lambda value: f"timestamp({go_quote(timestamp_to_string(value))})",
    Duration: lambda value: f"duration({go_quote(duration_to_string(value))})",
}
"""How ``%s`` writes values in lists and maps: as CEL has them."""
_KEYS: Final = frozenset((str, bool, int, UInt))


def _string(value: Any) -> str | None:
    """The value; None if ``%s`` does not take its type."""
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        return scalar(value)
    if not isinstance(value, (list, dict)):
        return None
    parts: list[str] = []
    _write(value, parts, LONGEST_TEXT, _DEEPEST)
    return "".join(parts)


def _write(value: Any, parts: list[str], room: int, depth: int) -> int:
    """Add a value inside a list or map; what is left of the room."""
    scalar = _INNER.get(type(value))
    if scalar is not None:
        parts.append(scalar(value))
        return room - len(parts[-1])
    if depth == 0:
        raise EvaluationError("value is nested too deeply")
    if isinstance(value, list):
        parts.append("[")
        for index, each in enumerate(value):
            if index:
                parts.append(", ")
            room = _write(each, parts, room - 2, depth - 1)
            if room < 0:
                raise EvaluationError("format: the result is too long")
        parts.append("]")
        return room
    if not isinstance(value, dict):
        raise EvaluationError(f"error during formatting: no formatting function for {type_name(value)}")
    entries: list[tuple[str, str]] = []
    for key, each in value.items():
        if type(key) not in _KEYS:
            raise EvaluationError(
                f"error during formatting: no formatting function for map key of type {type_name(key)}"
            )
        entry: list[str] = []
        room = _write(each, entry, room - 3, depth - 1)
        entries.append((_INNER[type(key)](key), "".join(entry)))
    entries.sort(key=lambda entry: entry[0])
    shown = ", ".join(f"{key}:{each}" for key, each in entries)
    parts.append(f"{{{shown}}}")
    return room
