"""Several kinds of credentials, tried in order (spec A13, A14)."""

from __future__ import annotations

from collections.abc import Sequence

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError, Authenticator, Undecided
from extapi.authentication.groups import authenticated
from extapi.errors import TooManyRequests, aggregate
from extapi.listener.call import Call


class Union:
    """The first success wins. Errors do not stop the search, but without a success they are the answer."""

    def __init__(self, authenticators: Sequence[Authenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate(self, call: Call) -> User | None:
        """The user, with ``system:authenticated`` among the groups (spec A27). Raises the errors joined in one text.

        That is :class:`Undecided` if one of them is: the credentials might be good. Raises :class:`TooManyRequests` if one
        of them could not be asked, and none of the others knows the user.
        """
        errors: list[str] = []
        kind = AuthenticationError
        busy: TooManyRequests | None = None
        for each in self._authenticators:
            try:
                user = await each.authenticate(call)
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
            raise busy  # nobody knows yet: a refusal would be a wrong one
        if errors:
            raise kind(aggregate(errors))
        return None
