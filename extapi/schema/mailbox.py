"""Mail addresses as ``net/mail.ParseAddress`` accepts them: RFC 5322 with comments and groups, as Go reads it.

Reads from left to right, at most twice: what is not ``local@domain`` is read again as a name followed by
``<local@domain>``. Knows no schemas.
"""

from __future__ import annotations

import binascii
import ipaddress
from collections.abc import Callable, Mapping
from string import hexdigits, printable
from typing import Final, NamedTuple

_WHITE = frozenset(" \t")
_HIDDEN = frozenset(map(chr, range(0x80))) - frozenset(printable.strip())
_ENDS_ATOM = _HIDDEN | frozenset('()<>[]:;@\\,"')
_IN_ATOM = "".join(set(map(chr, range(0x80))) - _ENDS_ATOM).encode()
_CONTROL = _HIDDEN - _WHITE
_ENDS_QUOTED = _CONTROL | frozenset('\\"')
_KNOWN_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})
_BREAKS = str.maketrans("", "", "\r\n\t")
_LONGEST_IP = 45
"""Characters of the longest IP address: an IPv6 address that ends with an IPv4 address."""


def is_mailbox(text: str) -> bool:
    """Whether the text is one address, with or without a display name, or a group of one."""
    local, found, domain = text.partition("@")
    if found and _is_plain(local) and _is_plain(domain):  # nearly all of them
        return True
    try:
        return _Reader(text).single()
    except _NoAddress:
        return False


def _is_plain(atom: str) -> bool:
    """Whether the text is a plain ASCII atom, which needs no parser."""
    return atom.isascii() and not atom.encode().translate(None, _IN_ATOM) and _is_dotted(atom)


def _is_dotted(atom: str) -> bool:
    """Whether no dot is at an end or next to another."""
    return bool(atom) and atom[0] != "." != atom[-1] and ".." not in atom


class _NoAddress(Exception):
    """The text is not an address."""


class _Reader:
    """A parser.

    What stands before ``_at`` has been read; each method raises :class:`_NoAddress` for what it cannot read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def single(self) -> bool:
        """Whether the whole text is one address.

        Raises:
            _NoAddress: It is none.
        """
        count = self._address(groups=True)
        self._skip_comments()
        return count == 1 and self._peek() == ""

    def _peek(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    def _take(self, char: str) -> bool:
        found = self._peek() == char
        self._at += found
        return found

    def _expect(self, char: str) -> None:
        if not self._take(char):
            raise _NoAddress

    def _skip_space(self) -> None:
        while self._peek() in _WHITE:
            self._at += 1

    def _address(self, *, groups: bool) -> int:
        """Read an address or a group; return the number of addresses."""
        self._skip_space()
        start = self._at
        try:
            self._plain_address()
        except _NoAddress:
            self._at = start
        else:
            self._skip_space()
            if self._take("(") and not all(
                _encoded(word).known for word in self._comment().replace("\t", " ").split(" ")
            ):
                raise _NoAddress
            return 1
        if self._peek() != "<":
            self._phrase()
        self._skip_space()
        if groups and self._take(":"):
            return self._group()
        self._expect("<")
        self._plain_address()
        self._expect(">")
        return 1

    def _group(self) -> int:
        count = 0
        self._skip_space()
        while not self._take(";"):
            if count:
                self._expect(",")
                self._skip_space()
            count += self._address(groups=False)
            self._skip_comments()
        self._skip_comments()
        return count

    def _plain_address(self) -> None:
        """``local@domain``."""
        self._skip_space()
        if self._peek() == '"':
            if not self._quoted():
                raise _NoAddress
        else:
            self._dotted_atom()
        self._expect("@")
        self._skip_space()
        if self._take("["):
            self._literal()
        else:
            self._dotted_atom()

    def _dotted_atom(self) -> None:
        if not _is_dotted(self._atom()):
            raise _NoAddress

    def _atom(self) -> str:
        """Read a run of characters that are neither special nor white space; dots may stand anywhere."""
        text, start = self._text, self._at
        at, end = start, len(text)
        while at < end and text[at] not in _ENDS_ATOM:
            at += 1
        if at == start:
            raise _NoAddress
        self._at = at
        return text[start:at]

    def _quoted(self) -> bool:
        """Read a quoted string; return whether it has any content."""
        text, start = self._text, self._at + 1
        at, end = start, len(text)
        while at < end:
            char = text[at]
            if char in _ENDS_QUOTED:
                if char == '"':
                    self._at = at + 1
                    return at > start
                at += 1  # a backslash: the character that it escapes comes next
                if char != "\\" or text[at : at + 1] in _CONTROL:
                    raise _NoAddress
            at += 1
        raise _NoAddress

    def _literal(self) -> None:
        """Read an IP address and the closing bracket; the opening one has been read."""
        end = self._text.find("]", self._at)
        if not 0 <= end - self._at <= _LONGEST_IP or "%" in self._text[self._at : end]:
            raise _NoAddress
        try:
            ipaddress.ip_address(self._text[self._at : end])
        except ValueError:
            raise _NoAddress from None
        self._at = end + 1

    def _phrase(self) -> None:
        """Read a display name: words, of which the first must be valid. A later word that is not ends the phrase.

        Adjacent encoded words become one, so Go holds them back until another word comes or the phrase ends. Until then
        they do not count as words and no comment may follow. An encoded word without text never counts.
        """
        words, held = 0, False
        while True:
            if words:
                self._skip_comments()
            self._skip_space()
            if not self._peek():
                return
            encoded = self._word()
            if encoded is None:
                if words or held:
                    return
                raise _NoAddress
            if encoded.inside:
                held = held or encoded.text
            else:
                words += 1

    def _word(self) -> _Encoded | None:
        """Read a word of a display name; None if it is not valid, in which case it may have been consumed."""
        try:
            if self._peek() == '"':
                self._quoted()
                return _PLAIN
            word = _encoded(self._atom())
        except _NoAddress:
            return None
        return word if word.known else None

    def _skip_comments(self) -> None:
        self._skip_space()
        while self._take("("):
            self._comment()
            self._skip_space()

    def _comment(self) -> str:
        """Read a comment after its opening parenthesis; return its text. Comments nest."""
        text, at, depth = self._text, self._at, 1
        found: list[str] = []
        while at < len(text):
            char = text[at]
            if char == "\\" and at + 1 < len(text):
                at += 1
                char = text[at]
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if not depth:
                    self._at = at + 1
                    return "".join(found)
            found.append(char)
            at += 1
        raise _NoAddress


class _Encoded(NamedTuple):
    """A word in terms of RFC 2047."""

    inside: bool
    """Whether it is an encoded word."""
    known: bool = True
    """Whether Go knows its charset."""
    text: bool = True
    """Whether anything is encoded in it."""


_PLAIN = _Encoded(inside=False)


def _encoded(word: str) -> _Encoded:
    """An atom as ``mime.WordDecoder`` reads it."""
    if len(word) < 8 or not word.startswith("=?") or not word.endswith("?=") or word.count("?") != 4:
        return _PLAIN
    charset, encoding, text = word[2:-2].split("?")
    readable = _ENCODINGS.get(encoding)
    if not charset or readable is None or not readable(text):
        return _PLAIN
    return _Encoded(inside=True, known=charset.casefold() in _KNOWN_CHARSETS, text=bool(text.strip("\r\n")))


def _is_base64(text: str) -> bool:
    try:
        data = text.replace("\r", "").replace("\n", "").encode()
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return len(data) % 4 == 0


def _is_quoted_printable(text: str) -> bool:
    """Whether two hexadecimal digits follow each ``=``, and all is printable ASCII, line breaks or tabs."""
    if not text.isascii() or not text.translate(_BREAKS).isprintable():
        return False
    _, *escapes = text.split("=")
    return all(len(each) > 1 and not each[:2].strip(hexdigits) for each in escapes)


_ENCODINGS: Final[Mapping[str, Callable[[str], bool]]] = {
    "B": _is_base64,
    "b": _is_base64,
    "Q": _is_quoted_printable,
    "q": _is_quoted_printable,
}
