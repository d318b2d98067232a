"""The stage that finds out who the user is: a user, the anonymous user, or 401 (behaviour A14, A20, A29).

Must not know any kind of credentials.
"""

from __future__ import annotations

from extapi.api.user import ANONYMOUS, UNAUTHENTICATED, User
from extapi.authentication.authenticator import AuthenticationError, Authenticator, Undecided
from extapi.authentication.trust import TrustSettings
from extapi.errors import ServiceUnavailable, Unauthorized
from extapi.http.request import Request
from extapi.http.response import Handler, Response

UNDECIDED = "the credentials cannot be checked now: the cluster has not answered (the server's log says why)"
"""What the client is told, who need not know where the cluster is."""

PLANS = 256
"""Sets of header names in the cache."""

NAMES_LIMIT = 4096
"""Larger sets of header names, counted in characters, are not cached: anybody may send a megabyte of them."""

_CREDENTIALS = frozenset({"authorization"})
_IDENTITY = ("x-remote-", "x_remote-", "x-remote_", "x_remote_")
"""What the names of identity headers begin with, whatever the settings say. Underscores count as dashes, because a server that
a request is passed on to may read them so (as CGI does)."""


class Authentication:
    """Sets ``request.user``, deletes the headers that may carry credentials, then calls ``handler``."""

    def __init__(self, handler: Handler, authenticator: Authenticator, settings: TrustSettings) -> None:
        self._handler = handler
        self._authenticator = authenticator
        self._settings = settings
        self._generation = settings.generation
        self._secret: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._anonymous = User(ANONYMOUS, groups=(UNAUTHENTICATED,))

    async def __call__(self, request: Request) -> Response:
        """The handler's response.

        Raises:
            Unauthorized: The credentials are not accepted. The reason goes to the access log as ``authentication``.
            TooManyRequests: They cannot be judged now.
            ServiceUnavailable: Whoever judges them has not answered. After a 401 a client would discard valid credentials.
        """
        try:
            user = await self._authenticator.authenticate(request)
        except AuthenticationError as error:
            request.log["authentication"] = str(error)
            if isinstance(error, Undecided):
                raise ServiceUnavailable(UNDECIDED, retry_after=1) from error
            raise Unauthorized from error
        headers = request.headers
        for name in self._to_delete(tuple(headers)):
            del headers[name]
        if user is None:
            user = self._anonymous
        else:
            request.peer.authenticated = True
        request.user = user
        return await self._handler(request)

    def _to_delete(self, present: tuple[str, ...]) -> tuple[str, ...]:
        """The headers that later stages must not see, not even unverified ones of an anonymous request."""
        if self._generation != self._settings.generation:
            self._generation = self._settings.generation
            self._secret.clear()
        found = self._secret.get(present)
        if found is None:
            names = self._settings.names
            exact = _CREDENTIALS.union(names.username, names.uid, names.group)
            prefixes = (*_IDENTITY, *names.extra_prefix)
            found = tuple(name for name in present if name in exact or name.startswith(prefixes))
            if sum(map(len, present)) <= NAMES_LIMIT:
                if len(self._secret) >= PLANS:
                    self._secret.clear()
                self._secret[present] = found
        return found
