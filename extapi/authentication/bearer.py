"""Bearer tokens: where a request carries one, in the Authorization header or in a websocket's subprotocol (A22, A26).

What a token is worth is asked of somebody else.
"""

from __future__ import annotations

import base64
import binascii
from typing import Protocol

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError
from extapi.listener.call import Call

EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"

PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io."


class TokenAuthenticator(Protocol):
    """Knows what a token is worth."""

    async def authenticate_token(self, token: str, address: str = "") -> User | None:
        """Whose it is; ``None``: nobody's. Raises :class:`AuthenticationError` if that cannot be told.

        ``address``: the peer that presented it. Raises :class:`extapi.errors.TooManyRequests` if it cannot be judged now.
        """
        ...


class Bearer:
    """The token of the Authorization header."""

    def __init__(self, tokens: TokenAuthenticator) -> None:
        self._tokens = tokens

    async def authenticate(self, call: Call) -> User | None:
        """The token's user; no opinion without a token."""
        header = call.header("authorization").strip()
        parts = header.split(" ", 2)
        if len(parts) < 2 or parts[0].lower() != "bearer":
            return None
        token = parts[1]
        if not token:
            # "Bearer  token": the space would belong to the token.
            if len(parts) == 3:
                call.warnings.append(EXTRA_SPACE)
            return None
        return await _known(self._tokens, token, call)


class WebsocketBearer:
    """The token that a browser's script puts among the subprotocols of a websocket."""

    def __init__(self, tokens: TokenAuthenticator) -> None:
        self._tokens = tokens

    async def authenticate(self, call: Call) -> User | None:
        """The token's user; its subprotocol is removed then. No opinion without such a subprotocol."""
        if not _is_upgrade(call):
            return None
        values = call.headers.get("sec-websocket-protocol", [])
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
        user = await _known(self._tokens, token, call)
        call.headers["sec-websocket-protocol"] = [", ".join(others)]
        return user


async def _known(tokens: TokenAuthenticator, token: str, call: Call) -> User:
    user = await tokens.authenticate_token(token, call.peer.address)
    if user is None:
        raise AuthenticationError("invalid bearer token")
    return user


def _is_upgrade(call: Call) -> bool:
    """``Connection: upgrade`` and ``Upgrade: websocket``."""
    connection = ",".join(call.headers.get("connection", ())).lower()
    return "upgrade" in (each.strip() for each in connection.split(",")) and (
        call.header("upgrade").strip().lower() == "websocket"
    )


def _token(encoded: str) -> str:
    """Unpadded base64url, of UTF-8."""
    if "=" in encoded:
        raise AuthenticationError("invalid base64.bearer.authorization token encoding: padded")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise AuthenticationError(f"invalid base64.bearer.authorization token encoding: {error}") from error
