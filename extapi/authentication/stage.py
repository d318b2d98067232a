"""The stage of the pipe that finds out who asks: the user, nobody in particular, or 401 (spec A14, A20, A29).

Must not know any kind of credentials.
"""

from __future__ import annotations

from extapi.authentication.base import AuthenticationError, Authenticator
from extapi.authentication.groups import anonymous
from extapi.authentication.settings import Settings
from extapi.errors import Unauthorized
from extapi.listener.call import Call, Handler, Response

PLANS = 256
"""Sets of header names that are kept."""

NAMES_LIMIT = 4096
"""Characters of a set of names above which it is not kept: anybody may send a megabyte of them."""

_STANDARD = frozenset({"authorization", "x-remote-user", "x-remote-uid", "x-remote-group"})
_STANDARD_PREFIXES = ("x-remote-extra-",)


class Authentication:
    """Sets ``call.user`` and deletes the headers that carried credentials, then calls ``handler``."""

    def __init__(self, handler: Handler, authenticator: Authenticator, settings: Settings) -> None:
        self._handler = handler
        self._authenticator = authenticator
        self._settings = settings
        self._generation = settings.generation
        self._secret: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._anonymous = anonymous()

    async def __call__(self, call: Call) -> Response:
        """The handler's answer. Raises :class:`Unauthorized`; why is in the call's log as ``authentication``."""
        try:
            user = await self._authenticator.authenticate(call)
        except AuthenticationError as error:
            call.log["authentication"] = str(error)
            raise Unauthorized from error
        headers = call.headers
        for name in self._to_delete(tuple(headers)):
            del headers[name]
        if user is None:
            user = self._anonymous
        else:
            call.peer.authenticated = True
        call.user = user
        return await self._handler(call)

    def _to_delete(self, present: tuple[str, ...]) -> tuple[str, ...]:
        """Those that later stages must never see, also of an anonymous caller: they prove nothing."""
        if self._generation != self._settings.generation:
            self._generation = self._settings.generation
            self._secret.clear()
        found = self._secret.get(present)
        if found is None:
            names = self._settings.names
            exact = _STANDARD.union(names.username, names.uid, names.group)
            prefixes = (*_STANDARD_PREFIXES, *names.extra_prefix)
            found = tuple(name for name in present if name in exact or name.startswith(prefixes))
            if sum(map(len, present)) <= NAMES_LIMIT:
                if len(self._secret) >= PLANS:
                    self._secret.clear()
                self._secret[present] = found
        return found
