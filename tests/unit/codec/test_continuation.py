"""Continue tokens: behaviour E30, M13."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from extapi.codec.continuation import Continuation, decode, encode
from extapi.errors import BadRequest

_INVALID = "invalid continue token: continue key is not valid"


def _token(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def test_the_token_is_base64url_without_padding_of_the_known_members() -> None:
    token = encode("ns1/last-name\0", 120)
    assert "=" not in token
    padded = token + "=" * (-len(token) % 4)
    assert base64.urlsafe_b64decode(padded) == b'{"v":"meta.k8s.io/v1","rv":120,"start":"ns1/last-name\\u0000"}'
    assert decode(token) == Continuation("ns1/last-name\0", 120)


def test_the_token_has_the_alphabet_for_urls() -> None:
    """RFC 4648, section 5. These characters stand in no name, but a hub of other keys may have them."""
    token = encode("a/~~~???>>>\u00ff\0", 120)
    assert set("-_") & set(token)
    assert not set("+/=") & set(token)
    assert decode(token).start == "a/~~~???>>>\u00ff\0"


@given(st.from_regex(r"[a-z0-9]{1,20}(/[a-z0-9]{1,20})?\x00?", fullmatch=True), st.integers(1, 2**63 - 1))
def test_every_token_reads_back(start: str, revision: int) -> None:
    assert decode(encode(start, revision)) == (start, revision)


def test_a_token_may_ask_for_the_newest_revision_and_begin_with_a_slash() -> None:
    assert decode(_token({"v": "meta.k8s.io/v1", "rv": -1, "start": "/a"})) == Continuation("a", -1)


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("a!b", ": illegal base64 data at input byte 1"),
        ("aaaaa", ": illegal base64 data at input byte 4"),
        ("YQ==", ": illegal base64 data at input byte 2"),
        ("A" * 8192, ": illegal base64 data at input byte 8192"),
        (_token(b"x"), ": invalid character 'x' looking for beginning of value"),
        (_token(b"[]"), ": json: cannot unmarshal value into a continue token"),
        (_token({"v": "v2", "rv": 1, "start": "a"}), ": server does not recognize this encoded version v2"),
        (_token({}), ": server does not recognize this encoded version"),
        (_token({"v": 1}), ": server does not recognize this encoded version"),
        (
            _token({"v": "meta.k8s.io/v1", "rv": 0, "start": "a"}),
            ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            _token({"v": "meta.k8s.io/v1", "start": "a"}),
            ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (_token({"v": "meta.k8s.io/v1", "rv": 1}), ": encoded start key empty (version meta.k8s.io/v1)"),
        (_token({"v": "meta.k8s.io/v1", "rv": 1, "start": ""}), ": encoded start key empty (version meta.k8s.io/v1)"),
        (_token({"v": "meta.k8s.io/v1", "rv": "1", "start": "a"}), ": json: cannot unmarshal value into field rv"),
        (_token({"v": "meta.k8s.io/v1", "rv": True, "start": "a"}), ": json: cannot unmarshal value into field rv"),
        (_token({"v": "meta.k8s.io/v1", "rv": 2**63, "start": "a"}), ": json: cannot unmarshal value into field rv"),
        (_token({"v": "meta.k8s.io/v1", "rv": 1, "start": 1}), ": json: cannot unmarshal value into field start"),
        *(
            (_token({"v": "meta.k8s.io/v1", "rv": 1, "start": start}), f": {start}")
            for start in ("../a", "a/../b", "a//b", "a/", "./a", "/", "//a")
        ),
    ],
)
def test_other_tokens_are_400(token: str, why: str) -> None:
    with pytest.raises(BadRequest) as raised:
        decode(token)
    assert str(raised.value).startswith(_INVALID + why)
