"""The seam of authentication: credentials are data, an authenticator judges one kind of them (spec A13, A14)."""

from __future__ import annotations

from typing import Protocol

from extapi.api.user import User
from extapi.listener.call import Call


class AuthenticationError(Exception):
    """Credentials were there and are not accepted; the text is for the log, the client only sees 401."""


class Undecided(AuthenticationError):
    """Nobody could be asked what the credentials are worth: they may be good. Refused all the same, but not for good."""


class Authenticator(Protocol):
    """Judges one kind of credentials."""

    async def authenticate(self, call: Call) -> User | None:
        """The user; ``None``: no opinion, the next one may know. Raises :class:`AuthenticationError`.

        Raises :class:`extapi.errors.TooManyRequests` if credentials cannot be judged now: they may be good.
        """
        ...
