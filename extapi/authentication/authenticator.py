"""What an authenticator is: it judges one kind of credentials, and several of them are asked in order (behaviour A13, A14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from extapi.api.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from extapi.errors import TooManyRequests, aggregate
from extapi.http.request import Request


class AuthenticationError(Exception):
    """The credentials are not accepted. The text is for the log; the client sees only 401."""


class Undecided(AuthenticationError):
    """The credentials could not be judged. The request is refused, but the same credentials may be accepted later."""


class Authenticator(Protocol):
    """Judges one kind of credentials."""

    async def authenticate(self, request: Request) -> User | None:
        """The user, or None if the request has no such credentials; then the next authenticator is asked.

        Raises:
            AuthenticationError: There are credentials, and they are not accepted.
            TooManyRequests: The credentials cannot be judged now; the client should try again.
        """
        ...


class UnionAuthenticator:
    """Asks authenticators in order; the first user that one of them finds counts. After an error the next one is asked."""

    def __init__(self, authenticators: Sequence[Authenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate(self, request: Request) -> User | None:
        """The user, with ``system:authenticated`` among its groups (behaviour A27), or None if there are no credentials.

        Raises:
            AuthenticationError: Nobody found a user, and at least one failed; all errors are in the text. It is
                :class:`Undecided` if one of them was.
            TooManyRequests: Nobody found a user, and at least one could not judge now.
        """
        errors: list[str] = []
        kind = AuthenticationError
        busy: TooManyRequests | None = None
        for each in self._authenticators:
            try:
                user = await each.authenticate(request)
            except AuthenticationError as error:
                errors.append(str(error))
                if isinstance(error, Undecided):
                    kind = Undecided
                continue
            except TooManyRequests as error:
                busy = error
                continue
            if user is not None:
                return authenticated(user)
        if busy is not None:
            raise busy  # not 401: the credentials may be good
        if errors:
            raise kind(aggregate(errors))
        return None


def authenticated(user: User) -> User:
    """The user with ``system:authenticated`` added as the last group, unless anonymous or already in either group."""
    if user.name == ANONYMOUS or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
