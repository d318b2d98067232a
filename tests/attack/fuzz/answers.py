"""Answers out of bytes, read as strictly as RFC 9112 is written. Knows nothing of Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass, field


class Malformed(Exception):
    """What came is no HTTP/1.1 answer."""


@dataclass
class Answer:
    """One answer. ``whole``: its body came to its end."""

    status: int
    headers: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False
    chunked: bool = False

    def header(self, name: str) -> str:
        """The only value, or nothing."""
        values = self.headers.get(name, [""])
        if len(values) > 1:
            raise Malformed(f"{name} occurs {len(values)} times")
        return values[0]

    @property
    def streamed(self) -> bool:
        """Whether its body comes as it is made: in chunks, or for HTTP/1.0 until the connection ends."""
        return self.chunked or not self.header("content-length")

    @property
    def media(self) -> str:
        """The media type, without parameters."""
        return self.header("content-type").partition(";")[0].strip()


class Reader:
    """Reads the answers to requests with these methods, in order."""

    def __init__(self, methods: list[str]) -> None:
        self._methods = methods
        self._answers: list[Answer] = []
        self._at = 0
        self.streaming = False
        """The last answer is in chunks, and has not ended."""

    def read(self, data: bytearray, *, ended: bool) -> list[Answer]:
        """All answers so far; ``data`` has everything that came from the beginning."""
        while self._at < len(data):
            found = self._one(data, ended=ended)
            if found is None:
                break
            answer, end = found
            if not answer.whole:
                return [*self._answers, answer]
            self._at = end
            if answer.status >= 101 or answer.status < 100:
                self._answers.append(answer)
        return list(self._answers)

    def _one(self, data: bytearray, *, ended: bool) -> tuple[Answer, int] | None:
        split = data.find(b"\r\n\r\n", self._at)
        if split < 0:
            if ended:
                raise Malformed("the connection ended within a head")
            return None
        answer = _head(bytes(data[self._at : split]))
        start = split + 4
        number = len(self._answers)
        method = self._methods[number] if number < len(self._methods) else ""
        self.streaming = False
        if answer.status == 101:
            answer.body, answer.whole = bytes(data[start:]), True
            return answer, len(data)
        if method == "HEAD" and answer.media == "text/plain" and answer.header("connection") == "close":
            # Where no request could be made of the bytes, the listener does not know the method: its text follows, then the end.
            answer.body, answer.whole = bytes(data[start:]), ended
            return answer, len(data)
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            answer.whole = True
            return answer, start
        if answer.header("transfer-encoding"):
            if answer.header("transfer-encoding") != "chunked" or answer.header("content-length"):
                raise Malformed("odd Transfer-Encoding")
            answer.chunked = True
            return self._chunks(answer, data, start)
        length = answer.header("content-length")
        if length:
            if not (length.isascii() and length.isdecimal()):
                raise Malformed(f"Content-Length: {length}")
            end = start + int(length)
            answer.body, answer.whole = bytes(data[start:end]), len(data) >= end
            return answer, end
        answer.body, answer.whole = bytes(data[start:]), ended
        return answer, len(data)

    def _chunks(self, answer: Answer, data: bytearray, at: int) -> tuple[Answer, int]:
        pieces = []
        self.streaming = True
        while True:
            line = data.find(b"\r\n", at)
            if line < 0:
                break
            size = int(bytes(data[at:line]), 16)
            begin, end = line + 2, line + 2 + size
            if len(data) < end + 2:
                break
            if data[end : end + 2] != b"\r\n":
                raise Malformed("a chunk does not end where it says")
            pieces.append(bytes(data[begin:end]))
            at = end + 2
            if not size:
                answer.whole = True
                self.streaming = False
                break
        answer.body = b"".join(pieces)
        return answer, at


def _head(data: bytes) -> Answer:
    first, *lines = data.split(b"\r\n")
    parts = first.split(b" ", 2)
    if len(parts) != 3 or parts[0] not in (b"HTTP/1.1", b"HTTP/1.0") or not parts[1].isdigit() or len(parts[1]) != 3:
        raise Malformed(f"a status line {first[:100]!r}")
    answer = Answer(int(parts[1]))
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or b"\n" in line or b"\r" in line or b"\0" in line or name != name.strip():
            raise Malformed(f"a header line {line[:100]!r}")
        answer.headers.setdefault(name.decode("ascii").lower(), []).append(value.strip().decode("utf-8"))
    return answer
