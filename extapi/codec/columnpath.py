"""The JSONPath of a CustomResourceDefinition's columns, read and evaluated as by client-go, with what that gets wrong.

Responsible for: the first result of a path, or that there is none. :mod:`extapi.codec.jsonpath` is for authors: it refuses
what this only finds nothing with. Must not know tables.

Source: ``k8s.io/client-go/util/jsonpath``, and for comparisons ``third_party/forked/golang/template``.
"""

from __future__ import annotations

import re
from typing import Any, Final

from extapi.codec.columnsteps import (
    INT64,
    MISSING,
    Byte,
    Step,
    StepError,
    children,
    compared,
    constant,
    descend,
    exists,
    failing,
    field,
    literal,
    slice_step,
    union,
    walk,
)

__all__ = ["MISSING", "ColumnPath", "ColumnPathError"]

MAX_LENGTH: Final = 64 * 1024
"""Characters of a path: real ones have less than 200."""

_LINES = "\r\n"
_ENDS = frozenset(".,[]$@{} \t\r\n")
_DICT_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]*")


class ColumnPathError(ValueError):
    """The path cannot be read. kube-apiserver then leaves out this column and those after it."""


class ColumnPath:
    """A compiled path, such as ``.status.conditions[?(@.type=="Ready")].status``.

    Raises:
        ColumnPathError: It cannot be read.
    """

    __slots__ = ("_lists",)

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ColumnPathError(text)
        self._lists = _Parser(f"{{{text}}}").parse()

    def first(self, obj: Any) -> Any:
        """The first result, or MISSING; nothing is raised."""
        try:
            found = [walk(nodes, [obj]) for nodes in self._lists]
        except StepError:
            return MISSING
        if not found or not found[0]:
            return MISSING
        first = found[0][0]
        return str(first) if isinstance(first, Byte) else first


class _Parser:
    """Reads one path. ``at``: where the next character is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> list[list[Step]]:
        """The parts of a template: those in braces, with text between them."""
        lists: list[list[Step]] = []
        while self._at < len(self._text):
            brace = self._text.find("{", self._at)
            end = len(self._text) if brace < 0 else brace
            if end > self._at:
                lists.append([constant(self._text[self._at : end])])
            self._at = end + 1
            if brace >= 0:
                lists.append(self.action())
        return lists

    def action(self) -> list[Step]:
        """The steps up to the closing brace."""
        nodes: list[Step] = []
        descended = False
        while True:
            before, was_descent = len(nodes), descended
            descended = False
            char = self._peek()
            if char == "}":
                self._at += 1
                return nodes
            if self._text.startswith("[?(", self._at):
                nodes.append(self._filter())
            elif self._text.startswith("..", self._at):
                if was_descent:
                    raise ColumnPathError("several descents in a row")
                nodes += self._descent()
                descended = len(nodes) == before + 1
            elif char == "" or char in _LINES:
                raise ColumnPathError("not closed")
            elif char in " @$":
                self._at += 1
                descended = was_descent
            elif char == "[":
                nodes += self._brackets()
            elif char in "\"'":
                nodes.append(constant(self._quoted(char)))
            elif char == ".":
                self._at += 1
                nodes.append(self.field())
            elif char in "+-" or char.isdigit():
                nodes.append(self._number())
            elif char == "_" or char.isalpha():
                nodes.append(self._identifier())
            else:
                raise ColumnPathError(f"character {char!r}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _descent(self) -> list[Step]:
        self._at += 2
        char = self._peek()
        if char == "_" or char.isalnum():
            return [descend, self.field()]
        return [descend]

    def field(self) -> Step:
        name = self._word(escapes=True)
        return children if name == "*" else field(name.replace("\\", ""))

    def _word(self, *, escapes: bool) -> str:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _ENDS:
            self._at += 2 if escapes and self._text[self._at] == "\\" else 1
        self._at = min(self._at, len(self._text))
        return self._text[start : self._at]

    def _identifier(self) -> Step:
        word = self._word(escapes=False)
        if word in ("true", "false"):
            return literal(word == "true")
        return failing  # "range" and "end" make loops of templates, which are no columns

    def _number(self) -> Step:
        match = _NUMBER.match(self._text, self._at)
        word = match[0] if match else ""
        self._at += len(word)
        try:
            number: float = int(word) if re.fullmatch(r"[+-]?[0-9]{1,19}", word) and int(word) in INT64 else float(word)
        except ValueError:
            raise ColumnPathError(f"number {word}") from None
        return literal(number)

    def _quoted(self, quote: str) -> str:
        start = self._at
        at = start + 1
        while at < len(self._text) and self._text[at] != "\n":
            if self._text[at] == quote and self._text[at - 1] != "\\":
                self._at = at + 1
                return _unquoted(self._text[start + 1 : at], quote)
            at += 1
        raise ColumnPathError("a text is not closed")

    def _brackets(self) -> list[Step]:
        """An index, a slice, a name in quotes, or several of these."""
        end = self._text.find("]", self._at)
        if end < 0 or "\n" in self._text[self._at : end]:
            raise ColumnPathError("a bracket is not closed")
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        inside = ":" if inside == "*" else inside
        several = inside.split(",")
        if len(several) > 1:
            return [union([_Parser(f"[{one.strip(' ')}]}}").action() for one in several])]
        name = _DICT_KEY.fullmatch(inside)
        if name:
            return _Parser(f".{name[1]}}}").action()
        match = _SLICE.fullmatch(inside)
        if match is None:
            raise ColumnPathError(f"index {inside}")
        return [slice_step(*(_bound(part, first=not place) for place, part in enumerate(match.groups())))]

    def _filter(self) -> Step:
        start = self._at = self._at + len("[?(")
        quote, closed = "", False
        while True:
            char = self._peek()
            if char in {"", "\n"}:
                raise ColumnPathError("a filter is not closed")
            self._at += 1
            if char in "\"'":
                if not quote:
                    quote = char
                elif char == quote and self._text[self._at - 2] != "\\":
                    closed = True
            elif char == ")" and bool(quote) == closed:
                break
        inside = self._text[start : self._at - 1]
        if self._peek() != "]":
            raise ColumnPathError("a filter is not closed by ]")
        self._at += 1
        match = _COMPARISON.fullmatch(inside)
        if match is None:
            return exists(_Parser(f"{inside}}}").action())
        left, right = (_Parser(f"{part}}}").action() for part in (match[1], match[3]))
        return compared(left, match[2], right)


def _bound(part: str | None, *, first: bool) -> int | None:
    """A number of a slice; None if there is none, and MISSING if not even the colon."""
    if not part:
        return None if first else MISSING
    digits = part if first else part[1:]
    if digits == "":
        return None
    if not re.fullmatch("-?[0-9]{1,19}", digits) or int(digits) not in INT64:
        raise ColumnPathError(f"index {digits}")
    return int(digits)


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def _unquoted(text: str, quote: str) -> str:
    """Go's ``strconv.Unquote``, for both quotes."""
    if "\\" not in text and quote not in text:
        return text
    out, at = [], 0
    while at < len(text):
        if text[at] == quote:
            raise ColumnPathError("a quote in a text")
        if text[at] != "\\":
            out.append(text[at])
            at += 1
            continue
        match = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-3][0-7]{2})|(.))").match(text, at)
        if match is None:
            raise ColumnPathError("an escape in a text")
        code = match[1] or match[2]
        if code or match[3]:
            out.append(chr(int(code, 16) if code else int(match[3], 8)))
        elif match[4] == quote or match[4] in _ESCAPES:
            out.append(_ESCAPES.get(match[4], match[4]))
        else:
            raise ColumnPathError("an escape in a text")
        at = match.end()
    return "".join(out)
