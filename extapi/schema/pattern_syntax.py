r"""The syntax of Go's regular expressions: what is wrong with a pattern, in Go's words, and how RE2 writes it.

Go and RE2 share a syntax but for little: Go has no ``\C`` and no names of groups beyond ASCII, and takes loose names of
character classes such as ``\p{letter}``. This module walks through a pattern as Go's parser does, in one pass.

Source: ``regexp/syntax`` parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_MOST_REPEATS: Final = 1000
_MAX_RUNE: Final = 0x10FFFF
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_ALNUM: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_OCTAL: Final = frozenset("01234567")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_POSIX: Final = frozenset(
    ("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper")
) | {"word", "xdigit"}
_ASSERTIONS: Final = frozenset("AbBz")
_PERL: Final = frozenset("dDsSwW")
_ESCAPED: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

_ALIASES: Final = {
    "Letter": "L",
    "Uppercaseletter": "Lu",
    "Lowercaseletter": "Ll",
    "Titlecaseletter": "Lt",
    "Modifierletter": "Lm",
    "Otherletter": "Lo",
    "Mark": "M",
    "Combiningmark": "M",
    "Nonspacingmark": "Mn",
    "Spacingmark": "Mc",
    "Enclosingmark": "Me",
    "Number": "N",
    "Decimalnumber": "Nd",
    "Digit": "Nd",
    "Letternumber": "Nl",
    "Othernumber": "No",
    "Punctuation": "P",
    "Punct": "P",
    "Connectorpunctuation": "Pc",
    "Dashpunctuation": "Pd",
    "Openpunctuation": "Ps",
    "Closepunctuation": "Pe",
    "Initialpunctuation": "Pi",
    "Finalpunctuation": "Pf",
    "Otherpunctuation": "Po",
    "Symbol": "S",
    "Mathsymbol": "Sm",
    "Currencysymbol": "Sc",
    "Modifiersymbol": "Sk",
    "Othersymbol": "So",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Lineseparator": "Zl",
    "Paragraphseparator": "Zp",
    "Control": "Cc",
    "Cntrl": "Cc",
    "Format": "Cf",
    "Surrogate": "Cs",
    "Privateuse": "Co",
}
_ASSIGNED: Final = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}"
"""RE2 has no class of code points without a character."""


_MOST_NESTED: Final = 999
"""Groups in groups: Go's tree has 1,000 levels (``maxHeight``), the innermost of which is no group."""
_MOST_CLASSES: Final = 2_000
"""Classes such as ``\\pL``. RE2 refuses fewer as too large, but only after 0.2 ms for each."""


class SyntaxErrorInPattern(ValueError):
    """A pattern that Go refuses. ``str`` is Go's text."""

    def __init__(self, code: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{part}`")


def translate(pattern: str, knows_class: Callable[[str], bool]) -> str:
    r"""Write a pattern of Go's for RE2.

    Args:
        pattern: The pattern.
        knows_class: Whether RE2 has a character class such as ``\p{Greek}``.

    Raises:
        SyntaxErrorInPattern: Go refuses the pattern.
    """
    return _Scanner(pattern, knows_class).scan()


class _Scanner:
    """One walk through a pattern.

    Attributes:
        at: Where it is.
        out: What has been written for RE2.
        groups: Per open group, what repetitions its parts so far need of the limit; the last one is the innermost.
        heights: Per open group, how deep the groups in it go.
        operand: What repetitions the last operand needs of the limit; None if there is nothing to repeat.
    """

    __slots__ = ("at", "classes", "groups", "heights", "knows_class", "operand", "out", "text")

    def __init__(self, text: str, knows_class: Callable[[str], bool]) -> None:
        self.text = text
        self.knows_class = knows_class
        self.at = 0
        self.out: list[str] = []
        self.groups: list[int] = [0]
        self.heights: list[int] = [0]
        self.classes = 0
        self.operand: int | None = None

    def scan(self) -> str:
        text = self.text
        last_repeat = -1
        while self.at < len(text):
            start, repeat = self.at, -1
            char = text[start]
            if char in "*+?":
                self._repeat(1, 0, -1, last_repeat, star=True)
                repeat = start
            elif char == "{" and (match := _REPEAT.match(text, start)):
                least = _count(match[1])
                most = least if match[2] is None else -1 if match[3] is None else _count(match[3])
                if least > _MOST_REPEATS or most > _MOST_REPEATS or 0 <= most < least:
                    raise SyntaxErrorInPattern("invalid repeat count", match[0])
                self._repeat(len(match[0]), least, most, last_repeat)
                repeat = start
            elif char == "(":
                self._open()
            elif char == ")":
                self._close()
            elif char == "|":
                self._advance(1)
                self.operand = None
            elif char == "[":
                self._class()
                self._push(0)
            elif char == "\\":
                self._escape()
            else:
                self._advance(1)
                self._push(0)
            last_repeat = repeat
        if len(self.groups) > 1:
            raise SyntaxErrorInPattern("missing closing )", text)
        return "".join(self.out)

    def _advance(self, count: int) -> None:
        self.out.append(self.text[self.at : self.at + count])
        self.at += count

    def _push(self, need: int) -> None:
        """Note an operand."""
        self.operand = need
        self.groups[-1] = max(self.groups[-1], need)

    def _repeat(self, length: int, least: int, most: int, last: int, *, star: bool = False) -> None:
        text, start = self.text, self.at
        end = start + length
        if text[end : end + 1] == "?":
            end += 1
        if last >= 0:
            raise SyntaxErrorInPattern("invalid nested repetition operator", text[last:end])
        if self.operand is None:
            raise SyntaxErrorInPattern("missing argument to repetition operator", text[start:end])
        self._advance(end - start)
        if star:
            return
        count = most if most >= 0 else least
        if most == 0:
            need = 0
        elif count > 0:
            need = count * max(self.operand, 1)
        else:
            need = self.operand
        if (least >= 2 or most >= 2) and need > _MOST_REPEATS:
            raise SyntaxErrorInPattern("invalid repeat count", text[start:end])
        self._push(need)

    def _open(self) -> None:
        text, start = self.text, self.at
        if text[start + 1 : start + 2] != "?":
            self._advance(1)
            self._push_group()
            return
        rest = len(text) - start
        named = 3 if text.startswith("(?<", start) and rest > 3 else 0
        if text.startswith("(?P<", start) and rest > 4:
            named = 4
        if named:
            end = text.find(">", start)
            if end < 0:
                raise SyntaxErrorInPattern("invalid named capture", text[start:])
            if not _NAME.fullmatch(text, start + named, end):
                raise SyntaxErrorInPattern("invalid named capture", text[start : end + 1])
            # RE2 refuses a name that occurs twice, and nobody asks for names.
            self.out.append("(")
            self.at = end + 1
            self._push_group()
            return
        self._flags()

    def _push_group(self) -> None:
        self.groups.append(0)
        self.heights.append(0)
        self.operand = None

    def _flags(self) -> None:
        """``(?i)`` or ``(?i:``; a group has no operand before its flags have, so a star may follow them."""
        text, start = self.text, self.at
        at, negative, seen = start + 2, False, False
        while at < len(text):
            char = text[at]
            at += 1
            if char in "imsU":
                seen = True
            elif char == "-" and not negative:
                negative, seen = True, False
            elif char in ":)" and (seen or not negative):
                self._advance(at - start)
                if char == ":":
                    self._push_group()
                return
            else:
                break
        raise SyntaxErrorInPattern("invalid or unsupported Perl syntax", text[start:at])

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise SyntaxErrorInPattern("unexpected )", self.text)
        self._advance(1)
        height = self.heights.pop() + 1
        if height > _MOST_NESTED:
            raise SyntaxErrorInPattern("expression nests too deeply", self.text)
        self.heights[-1] = max(self.heights[-1], height)
        need = self.groups.pop()
        self._push(need)

    def _escape(self) -> None:
        text, start = self.text, self.at
        char = text[start + 1 : start + 2]
        if char == "C":
            raise SyntaxErrorInPattern("invalid escape sequence", "\\C")
        if char == "Q":
            end = text.find("\\E", start + 2)
            stop = len(text) if end < 0 else end + 2
            if stop - start > (2 if end < 0 else 4):
                self._push(0)
            self._advance(stop - start)
            return
        if char and char in "pP":
            self._unicode(in_class=False)
        elif char and char in _ASSERTIONS | _PERL:
            self._advance(2)
        else:
            self._advance(self._single(start)[1] - start)
        self._push(0)

    def _single(self, start: int) -> tuple[int, int]:
        """An escape that stands for one character: its code point, and where it ends."""
        text = self.text
        char = text[start + 1 : start + 2]
        if not char:
            raise SyntaxErrorInPattern("trailing backslash at end of expression", "")
        at = start + 2
        if char not in _ALNUM:
            if char < "\x80":
                return ord(char), at
        elif char in _ESCAPED:
            return _ESCAPED[char], at
        elif char == "0" or (char in _OCTAL and text[at : at + 1] in _OCTAL and text[at : at + 1]):
            end = at
            while end < start + 4 and text[end : end + 1] and text[end] in _OCTAL:
                end += 1
            return int(text[start + 1 : end], 8), end
        elif char == "x" and at < len(text):
            return self._hexadecimal(start)
        raise SyntaxErrorInPattern("invalid escape sequence", text[start:at])

    def _hexadecimal(self, start: int) -> tuple[int, int]:
        text, at = self.text, start + 2
        if text[at] != "{":
            digits = text[at : at + 2]
            if len(digits) < 2 or not _HEX.issuperset(digits):
                raise SyntaxErrorInPattern("invalid escape sequence", text[start : at + 2])
            return int(digits, 16), at + 2
        at += 1
        value = count = 0
        while at < len(text):
            char = text[at]
            at += 1
            if char == "}":
                if count:
                    return value, at
                break
            if char not in _HEX:
                break
            value, count = value * 16 + int(char, 16), count + 1
            if value > _MAX_RUNE:
                break
        raise SyntaxErrorInPattern("invalid escape sequence", text[start:at])

    def _class(self) -> None:
        """``[a-z]``."""
        text, start = self.text, self.at
        self._advance(2 if text.startswith("[^", start) else 1)
        first = True
        while first or self.at >= len(text) or text[self.at] != "]":
            first = False
            at = self.at
            if text.startswith("[:", at) and len(text) > at + 2:
                end = text.find(":]", at + 2)
                if end >= 0:
                    if text[at + 2 : end].removeprefix("^") not in _POSIX:
                        raise SyntaxErrorInPattern("invalid character class range", text[at : end + 2])
                    self._advance(end + 2 - at)
                    continue
            escaped = text[at + 1 : at + 2] if text.startswith("\\", at) else ""
            if escaped and escaped in "pP":
                self._unicode(in_class=True)
            elif escaped and escaped in _PERL:
                self._advance(2)
            else:
                self._range(start)
        self._advance(1)

    def _range(self, start: int) -> None:
        """One character of a class, or a range of them."""
        text, at = self.text, self.at
        low, end = self._class_char(at, start)
        if text.startswith("-", end) and len(text) > end + 1 and text[end + 1] != "]":
            high, end = self._class_char(end + 1, start)
            if high < low:
                raise SyntaxErrorInPattern("invalid character class range", text[at:end])
        self._advance(end - at)

    def _class_char(self, at: int, start: int) -> tuple[int, int]:
        if at >= len(self.text):
            raise SyntaxErrorInPattern("missing closing ]", self.text[start:])
        if self.text[at] == "\\":
            return self._single(at)
        return ord(self.text[at]), at + 1

    def _unicode(self, *, in_class: bool) -> None:
        r"""``\pL`` or ``\p{Greek}``."""
        text, start, self.classes = self.text, self.at, self.classes + 1
        if self.classes > _MOST_CLASSES:
            raise SyntaxErrorInPattern("expression too large", text)
        negative = text[start + 1] == "P"
        if text[start + 2 : start + 3] != "{":
            end = start + 3
            name = text[start + 2 : end]
        else:
            end = text.find("}", start) + 1
            if not end:
                raise SyntaxErrorInPattern("invalid character class range", text[start:])
            name = text[start + 3 : end - 1]
        if name.startswith("^"):
            negative, name = not negative, name[1:]
        written = self._written(name, negative=negative, in_class=in_class)
        if not written:
            raise SyntaxErrorInPattern("invalid character class range", text[start:end])
        self.out.append(written)
        self.at = end

    def _written(self, name: str, *, negative: bool, in_class: bool) -> str:
        """A class as RE2 writes it; empty if there is none of that name."""
        bare = name.replace("_", "").replace("-", "").replace(" ", "")
        canonical = bare[:1].upper() + bare[1:].lower() if bare.isascii() else bare
        if canonical in {"Assigned", "Cn"}:
            negative = negative is (canonical == "Assigned")
            if in_class:
                return "" if negative else _ASSIGNED
            return f"[{'^' if negative else ''}{_ASSIGNED}]"
        if canonical in {"Ascii", "Lc"}:
            members = r"\x00-\x7f" if canonical == "Ascii" else r"\p{Lu}\p{Ll}\p{Lt}"
            if in_class:
                return "" if negative else members
            return f"[{'^' if negative else ''}{members}]"
        sign = "P" if negative else "p"
        for known in (_ALIASES.get(canonical, canonical), canonical):
            if known and self.knows_class(known):
                return f"\\{sign}{{{known}}}"
        return ""


def _count(digits: str) -> int:
    """A number of repetitions; all that are too large are alike."""
    return int(digits) if len(digits) < 9 else _MOST_REPEATS + 1
