"""Bearer tokens: in the Authorization header or a WebSocket subprotocol (behaviour A22, A26).

Finds the token in a request. A :class:`TokenAuthenticator` judges it.
"""

from __future__ import annotations

import base64
import binascii
from typing import Protocol

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError
from extapi.http.request import Request

EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"

PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io."


class TokenAuthenticator(Protocol):
    """Judges tokens."""

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        """The token's user, or None if the token is not valid.

        Args:
            token: The token.
            address: The peer that presented it.

        Raises:
            AuthenticationError: It cannot be judged.
            TooManyRequests: It cannot be judged now; the client should try again.
        """
        ...


class Bearer:
    """The token of the Authorization header."""

    def __init__(self, tokens: TokenAuthenticator) -> None:
        self._tokens = tokens

    async def authenticate(self, request: Request) -> User | None:
        """The token's user, or None without a token.

        Raises:
            AuthenticationError: The token is not valid.
        """
        header = request.header("authorization").strip()
        parts = header.split(" ", 2)
        if len(parts) < 2 or parts[0].lower() != "bearer":
            return None
        token = parts[1]
        if not token:
            # "Bearer  token", with two spaces: the token is empty, as Go splits at each space.
            if len(parts) == 3:
                request.warnings.append(EXTRA_SPACE)
            return None
        return await _authenticated(self._tokens, token, request)


class WebsocketBearer:
    """The token among the subprotocols of a WebSocket, where scripts in browsers put it: they cannot set headers."""

    def __init__(self, tokens: TokenAuthenticator) -> None:
        self._tokens = tokens

    async def authenticate(self, request: Request) -> User | None:
        """The token's user, or None without such a subprotocol. Removes the subprotocol.

        Raises:
            AuthenticationError: The token is not valid or not alone, or there is no other subprotocol.
        """
        if not _is_upgrade(request):
            return None
        values = request.headers.get("sec-websocket-protocol", [])
        protocols = [each.strip() for value in values for each in value.split(",")]
        carriers = [each for each in protocols if each.startswith(PROTOCOL_PREFIX)]
        others = [each for each in protocols if each and not each.startswith(PROTOCOL_PREFIX)]
        if not carriers:
            return None
        if len(carriers) > 1:
            raise AuthenticationError("multiple base64.bearer.authorization tokens specified")
        token = _token(carriers[0].removeprefix(PROTOCOL_PREFIX))
        if not token:
            return None
        if not others:
            raise AuthenticationError("missing additional subprotocol")
        user = await _authenticated(self._tokens, token, request)
        request.headers["sec-websocket-protocol"] = [", ".join(others)]
        return user


async def _authenticated(tokens: TokenAuthenticator, token: str, request: Request) -> User:
    user = await tokens.authenticate_token(token, request.peer.address)
    if user is None:
        raise AuthenticationError("invalid bearer token")
    return user


def _is_upgrade(request: Request) -> bool:
    """Whether the request has ``Connection: upgrade`` and ``Upgrade: websocket``."""
    connection = ",".join(request.headers.get("connection", ())).lower()
    return "upgrade" in (each.strip() for each in connection.split(",")) and (
        request.header("upgrade").strip().lower() == "websocket"
    )


def _token(encoded: str) -> str:
    """The token: UTF-8 in base64url without padding."""
    if "=" in encoded:
        raise AuthenticationError("invalid base64.bearer.authorization token encoding: padded")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise AuthenticationError(f"invalid base64.bearer.authorization token encoding: {error}") from error
