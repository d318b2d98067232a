"""Parses bytes into HTTP/1.1 requests (RFC 9112) with llhttp, and refuses what is malformed or unsupported.

Knows nothing of connections, time or Kubernetes: it turns bytes into calls on its :class:`Receiver`. llhttp in strict
mode refuses by itself (a test pins each): Content-Length with Transfer-Encoding, repeated or malformed Content-Length,
folded headers, a space before the colon, bare LF or CR, NUL and other control bytes, chunked not last. What llhttp lets
through is checked here: Host, spaces and version in the request line, other transfer codings, Upgrade and CONNECT,
sizes, encoding.
"""

from __future__ import annotations

from typing import Any, Protocol

import httptools
import msgspec

from extapi.api.strconv import parse_uint

HEAD = 1 << 20
"""Bytes of request line and headers together (Go: ``DefaultMaxHeaderBytes``)."""
FIELDS = 10_000
"""Header lines per request. The front proxy sends one per group of the user, and directories have thousands of groups."""
OVERHEAD = 64 * 1024
"""Bytes of a body that bring neither data nor another chunk: chunk extensions or trailers."""

NAMES = 1024
"""Header names in the cache."""
NAME_LENGTH = 64
"""Longer header names, in bytes, are not cached."""


class Refused(Exception):
    """The bytes are not a request that is served. ``status`` and the text are the response, which ends the connection."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Head(msgspec.Struct, eq=False):
    """Request line and headers."""

    method: str
    target: bytes
    headers: dict[str, list[str]]
    """Lower-case names with their values in order."""
    http10: bool
    keep_alive: bool = True
    length: int = 0
    """The declared length of the body; 0 also if it is chunked."""
    chunked: bool = False
    expects_continue: bool = False


class LowerCaseNames(dict[bytes, str]):
    """Header names as received, and in lower case: a bounded cache, which the connections of a listener share."""

    def __missing__(self, raw: bytes) -> str:
        name = raw.decode().lower()  # llhttp lets only ASCII through
        if len(raw) <= NAME_LENGTH:
            if len(self) >= NAMES:
                self.clear()
            self[raw] = name
        return name


class Receiver(Protocol):
    """Receives what was parsed, in the order of arrival."""

    def request(self, head: Head) -> None:
        """The headers are complete. The body follows, then :meth:`complete`."""
        ...

    def data(self, data: bytes) -> None:
        """A piece of the body of the last request."""
        ...

    def complete(self) -> None:
        """The last request has arrived completely."""
        ...

    def refused(self, refusal: Refused) -> None:
        """Parsing has failed for good; the requests before this one are valid."""
        ...


class RequestParser:
    """Parses the bytes of one connection for a receiver.

    Args:
        receiver: Is called with what was parsed.
        names: Caches the names of headers.

    Attributes:
        in_body: The headers of a request are complete, its body is not.
        done: What arrives from now on is ignored.
        upgrading: The last request asks for another protocol; what follows it is not HTTP.
        rest: What followed that request's head in the piece that completed it.
    """

    def __init__(self, receiver: Receiver, names: LowerCaseNames) -> None:
        self._receiver = receiver
        self._names = names
        self._parser: Any = httptools.HttpRequestParser(self)
        self._url: list[bytes] = []
        self._seen: bytes | bytearray = b""  # the current piece, after the ones that began the same head
        self._line_end = 0  # in _seen, of the last request line
        self._fields: list[tuple[bytes, bytes]] = []
        self._fed = 0  # bytes of a head, or of a body, since the last progress
        self._begun = False
        self._progress = False
        self._keep_alive = True
        self.in_body = False
        self.done = False
        self.upgrading = False
        self.rest = b""

    @property
    def in_head(self) -> bool:
        """Whether a part of a request's head has arrived."""
        return not self.in_body and (self._begun or self._fed > 0)

    def feed(self, data: bytes) -> None:
        """Parse what arrived; at most some 64 KiB at a time, because all of it is parsed at once."""
        if self.done:
            return
        if self.in_head:
            self._seen = bytearray(self._seen) if isinstance(self._seen, bytes) else self._seen
            self._seen += data
        else:
            self._seen, self._line_end = data, 0
        self._fed += len(data)
        self._progress = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Unless the response is a 101, the request is served as if it had not asked, and the connection ends.
            self.done = self.upgrading = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            if not self.done:  # otherwise this is only data after the last request
                self._refuse(error)
            return
        if not self._begun:
            self._seen = b""  # an idle connection keeps nothing
        if self._progress:
            if self.in_body:
                self._fed = 0
        elif self.in_body:
            if self._fed > OVERHEAD:
                self._refuse(Refused(400, "chunk extensions or trailers too large"))
        elif self._fed > HEAD:
            self._refuse(Refused(431, "request header fields too large"))

    def close(self) -> None:
        """Release llhttp's parser, which refers back to this one."""
        self.done = True
        self._parser = None

    # -- httptools' callbacks

    def on_message_begin(self) -> None:
        """A request line begins."""
        self._begun = True
        self._url = []
        self._fields = []

    def on_url(self, part: bytes) -> None:
        """A part of the request target."""
        self._url.append(part)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole header line, or a trailer."""
        # Trailers arrive here, too. They are dropped: the Kubernetes API does not use them, and identities must not come in them.
        if not self.in_body:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """The headers are complete: check what llhttp does not, and pass the request on."""
        parser = self._parser
        fields = self._fields
        if self._fed > HEAD:
            size = sum(map(len, self._url)) + sum(len(name) + len(value) + 4 for name, value in fields)
            if size > HEAD:
                raise Refused(431, "request header fields too large")
        if len(fields) > FIELDS:
            raise Refused(431, "too many request header fields")
        headers: dict[str, list[str]] = {}
        names = self._names
        try:
            for raw, value in fields:
                name = names[raw]
                # llhttp leaves trailing white space, which is no part of the value (RFC 9112, section 5.1).
                text = value.decode().rstrip(" \t")
                if name in headers:
                    headers[name].append(text)
                else:
                    headers[name] = [text]
        except UnicodeDecodeError:
            # Replacing the bytes could turn several users into one: identities travel in headers.
            raise Refused(400, "a header value is not UTF-8") from None
        version = parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise Refused(505, "only HTTP/1.0 and HTTP/1.1 are served here")
        method, target = parser.get_method(), b"".join(self._url)
        self._check_line(b"%b %b HTTP/" % (method, target))
        head = Head(method.decode("ascii"), target, headers, version == "1.0", parser.should_keep_alive())
        self._frame(head)
        self._keep_alive = head.keep_alive
        self._fed = 0
        self._begun = False
        self._progress = True
        self.in_body = True
        self._receiver.request(head)

    def on_chunk_header(self) -> None:
        """A chunk begins."""
        self._progress = True

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self._progress = True
        self._receiver.data(data)

    def on_message_complete(self) -> None:
        """The request has arrived completely."""
        self._progress = True
        self._fed = 0
        self.in_body = False
        if not self._keep_alive:
            self.done = True
        self._receiver.complete()

    # -- within

    def _check_line(self, line: bytes) -> None:
        """Refuse a request line that does not begin with ``line``, as RFC 9112, section 3, wants it.

        llhttp accepts several spaces between the parts, and other protocols that share its methods (RTSP, ICE); Go's
        ``parseRequestLine`` does not. llhttp does not say where a request begins, so a request that is not the first in
        its piece has to be searched for.
        """
        seen = self._seen
        if self._line_end == 0 and seen.startswith(line):
            self._line_end = len(line)
            return
        at = seen.find(line, self._line_end)
        if at < 0:
            raise Refused(400, "malformed request line")
        self._line_end = at + len(line)

    def _frame(self, head: Head) -> None:
        """Determine the length of the body, and what the request wants of the connection."""
        headers = head.headers
        host = headers.get("host")
        if host is None:
            if not head.http10:
                raise Refused(400, "missing required Host header")
        elif len(host) > 1:
            raise Refused(400, "too many Host headers")
        if "content-length" in headers:
            head.length = parse_uint(headers["content-length"][0])  # llhttp has checked that it is a number
        elif "transfer-encoding" in headers:
            if head.http10:
                raise Refused(400, "Transfer-Encoding in an HTTP/1.0 request")
            if [coding.lower() for coding in headers["transfer-encoding"]] != ["chunked"]:
                raise Refused(501, "unsupported transfer encoding")
            head.chunked = True
        if "expect" in headers and not head.http10:
            # Like Go's net/http: the first such header counts, an empty one is ignored, and other tokens may be beside it.
            expected = headers["expect"][0].lower().replace(",", " ").split()
            if "100-continue" in expected:
                head.expects_continue = head.chunked or head.length > 0
            elif headers["expect"][0]:
                raise Refused(417, "unsupported expectation")
        if head.method == "CONNECT":
            raise Refused(405, "CONNECT is not supported")
        if "upgrade" in headers and self._parser.should_upgrade():
            # llhttp stops after such a head, and the body would be taken for bytes of the new protocol.
            if head.chunked or head.length:
                raise Refused(400, "a request to upgrade must not have a body")
            head.keep_alive = False

    def _refuse(self, error: Exception) -> None:
        self.done = True
        if isinstance(error, httptools.HttpParserCallbackError):
            cause = error.__context__
            if not isinstance(cause, Refused):
                raise cause or error
            refusal = cause
        elif isinstance(error, Refused):
            refusal = error
        elif isinstance(error, httptools.HttpParserInvalidMethodError):
            refusal = Refused(501, "unknown method")
        else:
            refusal = Refused(400, str(error))
        self._receiver.refused(refusal)
