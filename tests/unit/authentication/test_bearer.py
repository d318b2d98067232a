"""Where tokens are found (behaviour A22, A26)."""

from __future__ import annotations

import base64

import pytest

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, UnionAuthenticator
from extapi.authentication.bearer import Bearer, WebsocketBearer
from tests.unit.client.building import call, run

ALICE = User("alice")


class Tokens:
    """Knows one token."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        self.asked.append(token)
        return ALICE if token == "good" else None


@pytest.mark.parametrize("header", ["Bearer good", "bearer good", "BEARER good", "  Bearer good ", "Bearer good more"])
def test_a_good_token(header: str) -> None:
    assert run(Bearer(Tokens()).authenticate(call(headers={"authorization": [header]}))) is ALICE


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "good", "Bearergood"])
def test_no_token_is_no_opinion(header: str) -> None:
    tokens = Tokens()
    asked = call(headers={"authorization": [header]})
    assert run(Bearer(tokens).authenticate(asked)) is None
    assert tokens.asked == []
    assert asked.warnings == []


def test_a_double_space_is_warned_about() -> None:
    asked = call(headers={"authorization": ["Bearer  good"]})
    assert run(Bearer(Tokens()).authenticate(asked)) is None
    assert asked.warnings == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


def test_a_bad_token_is_an_error() -> None:
    with pytest.raises(AuthenticationError, match=r"^invalid bearer token$"):
        run(Bearer(Tokens()).authenticate(call(headers={"authorization": ["Bearer bad"]})))


def _upgrade(*protocols: str, connection: str = "keep-alive, Upgrade") -> dict[str, list[str]]:
    return {"connection": [connection], "upgrade": ["WebSocket"], "sec-websocket-protocol": list(protocols)}


def _protocol(token: bytes) -> str:
    return "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(token).decode().rstrip("=")


def test_a_token_among_the_subprotocols() -> None:
    asked = call(headers=_upgrade(f"v4.channel.k8s.io, {_protocol(b'good')}", "base64.binary.k8s.io"))
    assert run(WebsocketBearer(Tokens()).authenticate(asked)) is ALICE
    assert asked.headers["sec-websocket-protocol"] == ["v4.channel.k8s.io, base64.binary.k8s.io"]


@pytest.mark.parametrize(("token", "encoded"), [("a>>>", "YT4-Pg"), ("a???", "YT8_Pw")])
def test_the_subprotocol_has_the_url_safe_alphabet(token: str, encoded: str) -> None:
    """RFC 4648, section 5: a subprotocol is a token of HTTP, which has no slash."""
    tokens = Tokens()
    asked = call(headers=_upgrade(f"base64url.bearer.authorization.k8s.io.{encoded}", "x"))
    with pytest.raises(AuthenticationError, match=r"^invalid bearer token$"):
        run(WebsocketBearer(tokens).authenticate(asked))
    assert tokens.asked == [token]


@pytest.mark.parametrize(
    "headers",
    [
        _upgrade("v4.channel.k8s.io"),
        _upgrade(_protocol(b"good"), "x", connection="keep-alive"),
        {**_upgrade(_protocol(b"good"), "x"), "upgrade": ["h2c"]},
        _upgrade("base64url.bearer.authorization.k8s.io.", "x"),
        {},
    ],
)
def test_no_token_among_the_subprotocols_is_no_opinion(headers: dict[str, list[str]]) -> None:
    assert run(WebsocketBearer(Tokens()).authenticate(call(headers=headers))) is None


@pytest.mark.parametrize(
    ("protocols", "text"),
    [
        ([_protocol(b"good")], "missing additional subprotocol"),
        ([_protocol(b"good"), _protocol(b"bad"), "x"], "multiple"),
        (["base64url.bearer.authorization.k8s.io.Z29vZA==", "x"], "encoding"),
        (["base64url.bearer.authorization.k8s.io.!!!!", "x"], "encoding"),
        ([_protocol(b"\xff\xfe"), "x"], "encoding"),
        ([_protocol(b"bad"), "x"], "invalid bearer token"),
    ],
)
def test_a_bad_subprotocol_is_an_error(protocols: list[str], text: str) -> None:
    with pytest.raises(AuthenticationError, match=text):
        run(WebsocketBearer(Tokens()).authenticate(call(headers=_upgrade(*protocols))))


def test_the_same_error_twice_is_said_once() -> None:
    headers = {**_upgrade(_protocol(b"bad"), "x"), "authorization": ["Bearer bad"]}
    union = UnionAuthenticator([Bearer(Tokens()), WebsocketBearer(Tokens())])
    with pytest.raises(AuthenticationError, match=r"^invalid bearer token$"):
        run(union.authenticate(call(headers=headers)))
