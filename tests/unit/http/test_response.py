"""Expected values: Go's ``http.Error`` and RFC 9112, section 7.1."""

from __future__ import annotations

from extapi.http.response import Chunk, http_error


def test_an_error_is_plain_text_with_a_line_break_at_its_end() -> None:
    response = http_error(429, "Too many requests: \u00fc\ud800", ("Retry-After", "1"))
    assert response.status == 429
    assert response.headers == [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("X-Content-Type-Options", "nosniff"),
        ("Retry-After", "1"),
    ]
    assert response.body == b"Too many requests: \xc3\xbc?\n"


def test_a_chunk_is_framed_by_its_size_in_hexadecimal_digits() -> None:
    assert Chunk(b"x" * 26).framed == b"1a\r\n" + b"x" * 26 + b"\r\n"
