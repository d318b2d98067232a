"""The bytes of HTTP/1.1 requests, right and wrong (RFC 9112)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

GROUP = "fuzz.example.com"
"""The group of the kinds that are asked for WebSockets."""

Headers = Sequence[tuple[str, str]]


def _line(name: str, value: str) -> bytes:
    clean = value.replace("\r", " ").replace("\n", " ").replace("\0", " ")
    return f"{name}: {clean}\r\n".encode("utf-8", "surrogatepass")


def head(method: str, target: str, headers: Headers) -> bytes:
    """Request line and headers, without the empty line. Host is there unless the headers bring one."""
    lines = [f"{method} {target} HTTP/1.1\r\n".encode("utf-8", "surrogatepass")]
    if not any(name.lower() == "host" for name, _ in headers):
        lines.append(b"Host: localhost\r\n")
    lines += [_line(name, value) for name, value in headers]
    return b"".join(lines)


def plain(method: str, target: str, headers: Headers, body: bytes) -> bytes:
    """As it should be, with a Content-Length where there is a body."""
    start = head(method, target, headers)
    if body or method in ("POST", "PUT", "PATCH"):
        start += b"Content-Length: %d\r\n" % len(body)
    return start + b"\r\n" + body


def chunked(dice: Random, body: bytes) -> bytes:
    """The body in chunks."""
    made = b""
    while body:
        size = dice.choice((1, 7, 1000, len(body)))
        piece, body = body[:size], body[size:]
        made += b"%x\r\n" % len(piece) + piece + b"\r\n"
    return made + b"0\r\n\r\n"


def websocket(dice: Random, headers: Headers) -> bytes:
    """A request for a WebSocket, nearly right or right, and then frames of any content (RFC 6455, section 5.2)."""
    path = dice.choice(
        (
            f"/apis/{GROUP}/v1/everythings?watch=1",
            f"/apis/{GROUP}/v1/opens?watch=1",
            f"/apis/{GROUP}/v1/namespaces/a/quotes/n0/exec",
        )
    )

    def mostly(right: str, *wrong: str) -> str:
        return right if dice.random() < 0.9 else dice.choice(wrong)

    asks = [
        ("Connection", mostly("keep-alive, Upgrade", "close", "")),
        ("Upgrade", mostly("websocket", "WebSocket", "shout", "")),
        ("Origin", mostly("http://a", "null", "")),
        ("Sec-WebSocket-Key", mostly("dGhlIHNhbXBsZSBub25jZQ==", "", "\xe9" * 99)),
        ("Sec-WebSocket-Version", mostly("13", "8", "")),
        ("Sec-WebSocket-Protocol", dice.choice(("", "", "a", "a, b", ",,", "v4.channel.k8s.io"))),
    ]
    own = {name.lower() for name, _ in asks} | {"content-length", "transfer-encoding", "expect"}
    start = head("GET", path, [*(each for each in headers if each[0].lower() not in own), *asks])
    return start + b"\r\n" + b"".join(_frame(dice) for _ in range(dice.randrange(20)))


def _frame(dice: Random) -> bytes:
    first = dice.choice(
        (0x00, 0x01, 0x02, 0x80, 0x81, 0x82, 0x81, 0x82, 0x88, 0x89, 0x8A, 0x83, 0xC1, 0x08, 0x09, 0xFF)
    )
    size = dice.choice((0, 1, 2, 125, 126, 127, 1000, 70_000))
    told = size if dice.random() < 0.9 else dice.choice((0, 1 << 16, 1 << 31, 1 << 62, (1 << 64) - 1))
    mask = 0x80 if dice.random() < 0.95 else 0
    if told < 126:
        length = bytes([mask | told])
    else:
        length = bytes([mask | 126]) + told.to_bytes(2) if told < 1 << 16 else bytes([mask | 127]) + told.to_bytes(8)
    return bytes([first]) + length + (b"\0\0\0\0" if mask else b"") + dice.choice((b"a", b"\xff", b"\0"))[:1] * size


def mangled(dice: Random, method: str, target: str, headers: Headers, body: bytes) -> bytes:
    """The same request with its framing tampered with."""
    start, size = head(method, target, headers), len(body)
    length = b"Content-Length: %d\r\n" % size
    whole = plain(method, target, headers, body)
    if method == "GET" and dice.random() < 0.3:
        return websocket(dice, headers)
    kind = dice.randrange(26)
    if kind < 3:
        return start + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(dice, body)
    if kind == 3:
        return start + length + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(dice, body)
    if kind == 4:
        return (
            start
            + length
            + dice.choice((length, b"Content-Length: 0\r\n", b"content-length:%d\r\n" % size))
            + b"\r\n"
            + body
        )
    if kind == 5:
        text = dice.choice(
            (b"+%d", b"-%d", b" %d", b"%d ", b"0%d", b"0x%x", b"%d, %d", b"%d,", b"%de0", b"1" * 40 + b"%d")
        )
        return (
            start
            + b"Content-Length: "
            + text.replace(b"%d", b"%d" % size).replace(b"%x", b"%x" % size)
            + b"\r\n\r\n"
            + body
        )
    if kind == 6:
        coding = dice.choice(
            (
                b"gzip",
                b"chunked, chunked",
                b"gzip, chunked",
                b"chunked, gzip",
                b"identity",
                b"xchunked",
                b"CHUNKED",
                b"\x0bchunked",
                b"chunked;q=1",
                b"",
            )
        )
        return start + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + chunked(dice, body)
    if kind == 7:
        line = dice.choice(
            (
                b"ffffffffffffffff1\r\n",
                b"-1\r\n",
                b"1;" + b"x" * 70_000 + b"\r\n",
                b"g\r\n",
                b"\r\n",
                b"0x1\r\n",
                b" 1\r\n",
                b"1 \r\n",
                b"1\n",
                b"00000000000000001\r\na\r\n",
            )
        )
        return start + b"Transfer-Encoding: chunked\r\n\r\n" + line + body
    if kind == 8:
        trailer = dice.choice(
            (
                b"X-Remote-User: root\r\n",
                b"Content-Length: 5\r\n",
                b"A" * 70_000 + b": b\r\n",
                b": x\r\n",
                b"a b: c\r\n",
            )
        )
        return start + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(dice, body)[:-2] + trailer + b"\r\n"
    if kind == 9:
        return whole.replace(b"\r\n", b"\n")
    if kind == 10:
        return whole.replace(b"\r\n", b"\r\n ", dice.choice((1, 2)))
    if kind == 11:
        return whole.replace(
            b": ", dice.choice((b" : ", b":\t", b":", b"\x00: ", b"\xff: ", b":  ")), dice.choice((1, 99))
        )
    if kind == 12:
        version = dice.choice(
            (
                b"HTTP/1.0",
                b"HTTP/0.9",
                b"HTTP/2.0",
                b"HTTP/1.2",
                b"http/1.1",
                b"HTTP/1.1 ",
                b"HTTP/11",
                b"ICY/1.1",
                b"",
                b"HTTP/1.1\x00",
            )
        )
        return whole.replace(b"HTTP/1.1", version, 1)
    if kind == 13:
        return whole.replace(b" ", dice.choice((b"  ", b"\t", b"\x0b", b"", b" \x00")), dice.choice((1, 2)))
    if kind == 14:
        at = dice.randrange(len(whole) + 1)
        return whole[:at] + bytes([dice.randrange(256)]) + whole[at:]
    if kind == 15:
        at = dice.randrange(len(whole))
        return whole[:at] + bytes([whole[at] ^ (1 << dice.randrange(8))]) + whole[at + 1 :]
    if kind == 16:
        return whole[: dice.randrange(len(whole))]
    if kind == 17:
        return (
            whole
            + whole
            + dice.choice(
                (
                    b"",
                    whole[: len(whole) // 2],
                    b"GET / HTTP/1.1\r\n\r\n",
                    b"\x16\x03\x01",
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                )
            )
        )
    if kind == 18:
        return (
            b"".join(
                plain("GET", dice.choice((target, "/version", "/healthz")), headers, b"")
                for _ in range(dice.choice((3, 10, 40)))
            )
            + whole
        )
    if kind == 19:
        return dice.choice((b"\r\n", b"\r\n" * 50, b"\n", b" ", b"\x00", b"\xef\xbb\xbf")) + whole
    if kind == 20:
        return start + b"".join(b"X-%d: 1\r\n" % number for number in range(dice.choice((1001, 10_001)))) + b"\r\n"
    if kind == 21:
        return start + b"X: " + b"a" * dice.choice((1 << 20, 70_000)) + b"\r\n\r\n"
    if kind == 22:
        return (
            start.replace(
                b"Host: localhost\r\n", dice.choice((b"", b"Host: a\r\nHost: b\r\n", b"Host:\r\n", b"Host: \x01\r\n"))
            )
            + b"\r\n"
        )
    if kind == 23:
        return start + b"Expect: 100-continue\r\n" + length + b"\r\n" + body
    if kind == 24:
        return start + b"Content-Length: %d\r\n\r\n" % (size + dice.choice((1, 1000))) + body
    return (
        start
        + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        + dice.choice((b"", length))
        + b"\r\n"
        + body
        + b"\x81\x05hello"
    )
