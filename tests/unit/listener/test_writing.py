from __future__ import annotations

from extapi.http.response import PIECE, Response
from extapi.listener.writing import HEADS, LONGEST, HeadWriter, framed, in_pieces


def lines(
    response: Response,
    *,
    audit_id: str = "id",
    length: int | None = 0,
    chunked: bool = False,
    keep_alive: bool = True,
    http10: bool = False,
) -> list[str]:
    writer = HeadWriter(lambda: 784111777.9)
    head = writer.head(response, audit_id, length=length, chunked=chunked, keep_alive=keep_alive, http10=http10)
    text = head.decode()
    assert text.endswith("\r\n\r\n")
    return text[:-4].split("\r\n")


def test_plain_head() -> None:
    assert lines(Response(200, [("Content-Type", "application/json")]), length=5) == [
        "HTTP/1.1 200 OK",
        "Audit-Id: id",
        "Content-Type: application/json",
        "Cache-Control: no-cache, private",
        "Date: Sun, 06 Nov 1994 08:49:37 GMT",  # RFC 9110, 5.6.7
        "Content-Length: 5",
    ]


def test_cache_control_of_the_handler_stays() -> None:
    found = lines(Response(200, [("cache-control", "public")]))
    assert [line for line in found if line.lower().startswith("cache-control")] == ["cache-control: public"]


def test_framing_is_the_listeners_own() -> None:
    own = [("Content-Length", "7"), ("transfer-encoding", "x"), ("Connection", "x"), ("Date", "x"), ("Audit-ID", "x")]
    found = lines(Response(200, own), length=None, chunked=True)
    assert found[-1] == "Transfer-Encoding: chunked"
    assert not [line for line in found if line.endswith((": x", ": 7"))]


def test_connection_header() -> None:
    assert lines(Response(200), keep_alive=False)[-1] == "Connection: close"
    assert lines(Response(200), http10=True)[-1] == "Connection: keep-alive"
    assert lines(Response(200), http10=True)[0] == "HTTP/1.0 200 OK"
    assert lines(Response(799))[0] == "HTTP/1.1 799 Unknown"


def test_header_cannot_be_split() -> None:
    found = lines(Response(200, [("Warning", "a\r\nSet-Cookie: b\n\0c")]), audit_id="x\rHost: y")
    assert "Warning: a  Set-Cookie: b  c" in found
    assert found[1] == "Audit-Id: x Host: y"
    assert len(found) == 6


def test_line_break_made_of_halves() -> None:
    assert len(lines(Response(200, [("A", "x\r"), ("B", "\ny")]))) == 7


def test_date_follows_the_clock() -> None:
    now = [0.0]
    writer = HeadWriter(lambda: now[0])

    def date() -> bytes:
        return writer.head(Response(200), "", length=0, chunked=False, keep_alive=True, http10=False).split(b"Date: ")[
            1
        ][:29]

    assert date() == b"Thu, 01 Jan 1970 00:00:00 GMT"
    now[0] = 1.5
    assert date() == b"Thu, 01 Jan 1970 00:00:01 GMT"


def test_heads_are_kept_apart() -> None:
    """Responses share the headers that are the same, and nothing else."""
    writer = HeadWriter(lambda: 0.0)

    def first(status: int, *, http10: bool, media: str) -> list[str]:
        response = Response(status, [("Content-Type", media)])
        head = writer.head(response, "id", length=0, chunked=False, keep_alive=True, http10=http10)
        return head.decode().split("\r\n")[:3]

    for _ in range(2):
        assert first(200, http10=False, media="a/b") == ["HTTP/1.1 200 OK", "Audit-Id: id", "Content-Type: a/b"]
        assert first(404, http10=False, media="a/b")[0] == "HTTP/1.1 404 Not Found"
        assert first(200, http10=True, media="a/b")[0] == "HTTP/1.0 200 OK"
        assert first(200, http10=False, media="c/d")[2] == "Content-Type: c/d"


def test_what_is_kept_of_heads_is_bounded() -> None:
    """Headers may echo what a client sends, such as warnings."""
    writer = HeadWriter(lambda: 0.0)

    def write(text: str) -> bytes:
        response = Response(200, [("Warning", text)])
        return writer.head(response, "id", length=0, chunked=False, keep_alive=True, http10=False)

    for number in range(HEADS * 2):
        assert f"Warning: {number}\r\n".encode() in write(str(number))
        assert len(writer._cache) <= HEADS
    kept = dict(writer._cache)
    assert b"x" * LONGEST in write("x" * LONGEST)
    assert writer._cache == kept


def test_a_chunk_has_its_size_in_hexadecimal_digits() -> None:
    assert framed(memoryview(b"x" * 26)) == b"1a\r\n" + b"x" * 26 + b"\r\n"  # RFC 9112, 7.1


def test_pieces_are_the_body_in_its_order_without_an_empty_one() -> None:
    body = bytes(range(256)) * (2 * PIECE // 256)
    for length in (0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE):
        pieces = list(in_pieces(body[:length]))
        assert b"".join(pieces) == body[:length]
        assert [len(piece) for piece in pieces[:-1]] == [PIECE] * (len(pieces) - 1)
        assert all(pieces)
