"""Expected values: ``url.PathUnescape`` of Go and its tests."""

from __future__ import annotations

import pytest

from extapi.api.percent import BadEscape, unescaped, unescaped_leniently


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", b""),
        (b"abc", b"abc"),
        (b"1%41", b"1A"),
        (b"1%41%42%43", b"1ABC"),
        (b"%4a%4A", b"JJ"),
        (b"%6F%6f%25", b"oo%"),
        (b"%FF%00", b"\xff\x00"),
        (b"a+b", b"a+b"),
        (b"%2541", b"%41"),
    ],
)
def test_escapes(text: bytes, expected: bytes) -> None:
    assert unescaped(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"%", "%"),
        (b"%a", "%a"),
        (b"%1", "%1"),
        (b"123%45%6", "%6"),
        (b"%zzzzz", "%zz"),
        (b"%41%%41", "%%4"),
        (b"%4%41", "%4%"),
        (b"%+1", "%+1"),
        (b"% 1", "% 1"),
        (b"%\xff1", "%\ufffd1"),
    ],
)
def test_broken_escapes(text: bytes, shown: str) -> None:
    with pytest.raises(BadEscape) as caught:
        unescaped(text)
    assert str(caught.value) == shown
    assert unescaped_leniently(text.decode("latin-1")) == text.decode("latin-1")


def test_what_is_no_utf_8_is_replaced() -> None:
    assert unescaped_leniently("a%2Fb") == "a/b"
    assert unescaped_leniently("%C3%BC\u00fc") == "\u00fc\u00fc"
    assert unescaped_leniently("%ff%41") == "\ufffdA"
