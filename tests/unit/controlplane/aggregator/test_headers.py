"""How a user travels to a backend: expected values are those of client-go's ``transport/round_trippers.go``."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from extapi.api.user import User
from extapi.client.transport import TransportError
from extapi.controlplane.aggregator.headers import identity, request_bytes


def test_each_part_of_a_user_travels_alone() -> None:
    """``SetAuthProxyHeaders``."""
    assert identity(User("jane")) == [("X-Remote-User", "jane")]
    assert identity(User("jane", uid="7")) == [("X-Remote-User", "jane"), ("X-Remote-Uid", "7")]
    assert identity(User("jane", groups=("a,b", "c"))) == [
        ("X-Remote-User", "jane"),
        ("X-Remote-Group", "a,b"),
        ("X-Remote-Group", "c"),
    ]


@given(st.text(min_size=1, max_size=8))
def test_a_key_of_extra_is_escaped_byte_by_byte(key: str) -> None:
    """``headerKeyEscape``: what is no character of a token (RFC 9110, section 5.6.2), and the percent sign."""
    token = rb"[^!#$&'*+\-.^_`|~0-9A-Za-z]"
    expected = re.sub(token, lambda found: b"%%%02X" % found[0][0], key.encode()).decode("ascii")
    assert identity(User("jane", extra={key: ("x",)})) == [
        ("X-Remote-User", "jane"),
        (f"X-Remote-Extra-{expected}", "x"),
    ]


@pytest.mark.parametrize("char", ["\0", "\n", "\r", "\x1f", "\x7f"])
def test_a_control_character_stays_out_of_headers(char: str) -> None:
    with pytest.raises(TransportError, match='invalid header field value for "A"'):
        request_bytes("GET", "/", [("A", f"x{char}")])


def test_tabs_and_letters_of_any_script_may_stand_in_headers() -> None:
    assert b"A: x\ty\xc3\xbc\r\n" in request_bytes("GET", "/", [("A", "x\ty\u00fc")])
