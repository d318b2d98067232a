"""Calls from inside the process: they prove themselves by a secret that never leaves it (spec A13, step 0).

The network listener never sets the secret, so no header can imitate it.
"""

from __future__ import annotations

import hmac

from extapi.api.user import MASTERS, User
from extapi.authentication.base import AuthenticationError
from extapi.listener.call import Call

USER = "user"
"""The key in a peer's verdicts under which an in-process caller says as whom it acts."""

APISERVER = User("system:apiserver", groups=(MASTERS,))


class Loopback:
    """Authenticates by the process' ``secret``, which must not be empty."""

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError("the loopback secret must not be empty")
        self._secret = secret.encode()

    async def authenticate(self, call: Call) -> User | None:
        """The user the caller acts as, by default ``system:apiserver``; no opinion on calls from the network."""
        claimed = call.peer.loopback
        if not claimed:
            return None
        if not hmac.compare_digest(claimed.encode(), self._secret):
            raise AuthenticationError("wrong loopback secret")
        user = call.peer.verdicts.get(USER, APISERVER)
        if not isinstance(user, User):
            raise AuthenticationError("the loopback user is no User")
        return user
