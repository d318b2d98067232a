"""In-process requests: authenticated by a secret that never leaves the process (behaviour A13, step 0).

The listener never sets the secret, so no request from the network can carry it.
"""

from __future__ import annotations

import hmac

from extapi.api.user import MASTERS, User
from extapi.authentication.authenticator import AuthenticationError
from extapi.http.request import Request

USER = "user"
"""The key in ``Peer.verdicts`` under which an in-process client says as whom it acts."""

APISERVER = User("system:apiserver", groups=(MASTERS,))


class Loopback:
    """Authenticates in-process requests.

    Args:
        secret: What in-process clients set as ``Peer.loopback``.

    Raises:
        ValueError: The secret is empty.
    """

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError("the loopback secret must not be empty")
        self._secret = secret.encode()

    async def authenticate(self, request: Request) -> User | None:
        """The user as whom the client acts, by default ``system:apiserver``; None for requests from the network.

        Raises:
            AuthenticationError: The secret is wrong.
        """
        claimed = request.peer.loopback
        if not claimed:
            return None
        if not hmac.compare_digest(claimed.encode(), self._secret):
            raise AuthenticationError("wrong loopback secret")
        user = request.peer.verdicts.get(USER, APISERVER)
        if not isinstance(user, User):
            raise AuthenticationError("the loopback user is no User")
        return user
