"""Label and field selectors in queries: parsed once, then matched against each object's labels or fields.

Grammar, order and error texts are those of ``k8s.io/apimachinery/pkg/labels`` and ``pkg/fields`` (behaviour E33, E34).
Knows neither objects nor requests.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from extapi.api.names import label_value, qualified_name
from extapi.api.requirements import (
    FieldOperator,
    FieldRequirement,
    LabelOperator,
    Matcher,
    Requirement,
    field_matcher,
    integer,
    label_matcher,
)
from extapi.errors import BadRequest, FieldError, aggregate

_CACHED_PARSES = 1024
_CACHED_TEXT_LENGTH = 4096
"""Longer texts are not cached, which bounds the memory of the cache."""


@dataclass(frozen=True, slots=True)
class LabelSelectorQuery:
    """A label selector: its requirements, sorted by key. All must hold."""

    requirements: tuple[Requirement, ...]
    matches: Matcher = field(compare=False, repr=False)
    """Whether labels match the selector."""

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements


@dataclass(frozen=True, slots=True)
class FieldSelectorQuery:
    """A field selector: its requirements, in the order of their texts. All must hold.

    An absent field counts as ``""`` (behaviour J45).
    """

    requirements: tuple[FieldRequirement, ...]
    matches: Matcher = field(compare=False, repr=False)
    """Whether fields match the selector."""

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements

    def exact(self, key: str) -> str | None:
        """The value that ``key`` must have, if the selector names one: then a reader can look up instead of search."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.operator == "=":
                return requirement.value
        return None


def label_selector(requirements: Iterable[Requirement]) -> LabelSelectorQuery:
    """The selector of requirements that are known to be valid."""
    ordered = tuple(sorted(requirements, key=lambda requirement: requirement.key))
    return LabelSelectorQuery(ordered, label_matcher(ordered))


def parse_label_selector(text: str) -> LabelSelectorQuery:
    """Parse a label selector such as ``app=web,tier in (a,b),!old``.

    Raises:
        BadRequest: The text is not a label selector.
    """
    return _cached_labels(text) if len(text) <= _CACHED_TEXT_LENGTH else _labels(text)


def parse_field_selector(text: str) -> FieldSelectorQuery:
    """Parse a field selector such as ``metadata.name=a,status.phase!=Failed``.

    Raises:
        BadRequest: The text is not a field selector.
    """
    return _cached_fields(text) if len(text) <= _CACHED_TEXT_LENGTH else _fields(text)


def unsupported(selector: FieldSelectorQuery, keys: Container[str]) -> str | None:
    """The first field of the selector that is none of ``keys`` (behaviour E34)."""
    return next((requirement.key for requirement in selector.requirements if requirement.key not in keys), None)


# -- labels -----------------------------------------------------------------------------------------------------------

_SPACE: Final = frozenset(" \t\r\n")
_NUL: Final = "\0"
_BREAKS: Final = frozenset("=!(),><") | _SPACE | {_NUL}
"""Characters that end a word."""
_NOT_IDENTIFIERS: Final = frozenset({"", "==", "!=", "=", "!", "(", ")", ",", ">", "<"})
_OPERATORS: Final[Mapping[str, LabelOperator]] = {
    "in": "In",
    "notin": "NotIn",
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    ">": "Gt",
    "<": "Lt",
}


class _Unparsable(Exception):
    """A requirement cannot be parsed; the text is the error without its prefix."""


class _LabelParser:
    """Recursive descent over the words; ``""`` marks the end. ``in`` and ``notin`` are operators only after a key."""

    def __init__(self, text: str) -> None:
        self.words = [*_words(text), "", ""]  # the end may be read once more after it was taken
        self.position = 0

    def peek(self) -> str:
        return self.words[self.position]

    def take(self) -> str:
        word = self.words[self.position]
        self.position += 1
        return word

    def selector(self) -> LabelSelectorQuery:
        requirements: list[Requirement] = []
        while word := self.peek():
            if word in _NOT_IDENTIFIERS and word != "!":
                raise BadRequest(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self.requirement())
            except _Unparsable as error:
                raise BadRequest(f"unable to parse requirement: {error}") from None
            separator = self.take()
            if separator not in {"", ","}:
                raise BadRequest(f"found '{separator}', expected: ',' or 'end of string'")
            following = self.peek()
            if separator and following in _NOT_IDENTIFIERS and following != "!":
                raise BadRequest(f"found '{following}', expected: identifier after ','")
            if not separator:
                break
        return label_selector(requirements)

    def requirement(self) -> Requirement:
        negated = self.peek() == "!"
        if negated:
            self.take()
        key = self.take()
        if key in _NOT_IDENTIFIERS:
            raise _Unparsable(f"found '{key}', expected: identifier")
        if problems := qualified_name(key):
            raise _Unparsable(FieldError.invalid("", key, "; ".join(problems)).text())
        if negated:
            return Requirement(key, "DoesNotExist")
        if self.peek() in {"", ","}:
            return Requirement(key, "Exists")
        word = self.take()
        operator = _OPERATORS.get(word)
        if operator is None:
            raise _Unparsable(f"found '{word}', expected: in, notin, =, ==, !=, gt, lt")
        values = self.value_set() if word in {"in", "notin"} else {self.exact_value()}
        return _checked(Requirement(key, operator, tuple(sorted(values))))

    def exact_value(self) -> str:
        if self.peek() in {"", ","}:
            return ""
        value = self.take()
        if value in _NOT_IDENTIFIERS:
            raise _Unparsable(f"found '{value}', expected: identifier")
        return value

    def value_set(self) -> set[str]:
        if (word := self.take()) != "(":
            raise _Unparsable(f"found '{word}' expected: '('")
        word = self.peek()
        if word == ")":
            self.take()
            return {""}
        if word in _NOT_IDENTIFIERS and word != ",":
            raise _Unparsable(f"found '{word}', expected: ',', ')' or identifier")
        values = self.values()
        self.take()  # the closing parenthesis, which ended the values
        return values

    def values(self) -> set[str]:
        values: set[str] = set()
        while True:
            word = self.take()
            following = self.peek()
            if word == ",":
                if not values or following in {",", ")"}:
                    values.add("")
                if following == ")":
                    return values
            elif word in _NOT_IDENTIFIERS:
                raise _Unparsable(f"found '{word}', expected: ',', or identifier")
            else:
                values.add(word)
                if following == ")":
                    return values
                if following != ",":
                    raise _Unparsable(f"found '{following}', expected: ',' or ')'")


def _words(text: str) -> list[str]:
    """Words and operators as Go's lexer finds them.

    NUL ends its input: it is the end before a word, and is swallowed after one.
    """
    words: list[str] = []
    start = 0  # of a word
    end = -1  # of the last word or operator
    half = -1  # of a = or ! that = may follow
    for at, char in enumerate(text):
        if char not in _BREAKS:
            continue
        if start < at:
            words.append(text[start:at])
            end = at
        start = at + 1
        if char == _NUL:
            if end != at:
                return words
        elif char == "=" and half == at - 1 >= 0:
            words[-1] += char
            end, half = at + 1, -1
        elif char not in _SPACE:
            words.append(char)
            end, half = at + 1, at if char in "=!" else -1
    if start < len(text):
        words.append(text[start:])
    return words


def _checked(requirement: Requirement) -> Requirement:
    """The requirement, if its values are valid (``labels.NewRequirement``)."""
    errors = []
    for index, value in enumerate(requirement.values):
        if requirement.operator in {"Gt", "Lt"} and integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(FieldError.invalid(f"values[{index}]", value, detail))
    for index, value in enumerate(requirement.values):
        if problems := label_value(value):
            errors.append(FieldError.invalid(f"values[{index}][{requirement.key}]", value, "; ".join(problems)))
    if errors:
        raise _Unparsable(aggregate(error.text() for error in errors))
    return requirement


def _labels(text: str) -> LabelSelectorQuery:
    return _LabelParser(text).selector()


_cached_labels = lru_cache(_CACHED_PARSES)(_labels)


# -- fields -----------------------------------------------------------------------------------------------------------

_SPECIAL: Final = frozenset("\\,=")
"""Characters of a value that a backslash must escape."""
_ESCAPES: Final = str.maketrans({char: f"\\{char}" for char in _SPECIAL})


def escaped(value: str) -> str:
    """A value, escaped for a field selector (``fields.EscapeValue``)."""
    return value.translate(_ESCAPES)


def _fields(text: str) -> FieldSelectorQuery:
    requirements = []
    for term in sorted(_terms(text)):
        if not term:
            continue
        key, found, value = term.partition("=")
        if not found:
            raise BadRequest(f"invalid selector: '{text}'; can't understand '{term}'")
        operator: FieldOperator = "="
        if key.endswith("!"):
            key, operator = key[:-1], "!="
        else:
            value = value.removeprefix("=")  # it was "=="
        if key or value:  # an empty key with an empty value selects everything (``fields.hasTerm.Transform``)
            requirements.append(FieldRequirement(key, operator, _unescaped(value)))
    return FieldSelectorQuery(tuple(requirements), field_matcher(requirements))


def _terms(text: str) -> Iterable[str]:
    """The text, split at unescaped commas."""
    if "\\" not in text:
        return text.split(",")
    terms: list[str] = []
    pieces: list[str] = []
    for piece in text.split(","):
        pieces.append(piece)
        # With an even number of backslashes each second one is escaped, and the comma is not.
        if (len(piece) - len(piece.rstrip("\\"))) % 2 == 0:
            terms.append(",".join(pieces))
            pieces.clear()
    return [*terms, ",".join(pieces)]


def _unescaped(value: str) -> str:
    """The value without its escapes.

    Raises:
        BadRequest: A special character is not escaped, or an escape is wrong.
    """
    if _SPECIAL.isdisjoint(value):
        return value
    plain: list[str] = []
    escapes = False
    for char in value:
        if escapes:
            if char not in _SPECIAL:
                raise BadRequest(f"invalid field selector: invalid escape sequence: \\{char}")
            plain.append(char)
            escapes = False
        elif char == "\\":
            escapes = True
        elif char in _SPECIAL:
            raise BadRequest(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            plain.append(char)
    if escapes:
        raise BadRequest("invalid field selector: invalid escape sequence: \\")
    return "".join(plain)


_cached_fields = lru_cache(_CACHED_PARSES)(_fields)
