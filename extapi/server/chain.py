"""The way of a request, in one place: each stage calls its successor, in kube-apiserver's order (behaviour H1).

The listener passes a :class:`~extapi.http.request.Request` to the first stage and sends the
:class:`~extapi.http.response.Response` that it returns. Read from the bottom up.

A stage that does nothing after its successor is a plain function that returns what its successor returns, to be awaited:
most requests need nothing of most stages, and each coroutine costs a request a microsecond.
"""

from __future__ import annotations

from extapi.authentication.authenticator import Authenticator
from extapi.authentication.stage import Authentication
from extapi.authentication.trust import TrustSettings
from extapi.authorization.authorizer import Authorizer
from extapi.authorization.impersonation import Impersonation
from extapi.authorization.stage import Authorization
from extapi.http.response import Handler
from extapi.listener.state import Describe
from extapi.server.compression import Compression
from extapi.server.failure import Failures
from extapi.server.inflight import InFlight, Room
from extapi.server.longrunning import LongRunningCheck, mark_long_running
from extapi.server.reauthorization import Reauthorization, accept
from extapi.server.shutdown import Shutdown


def build_chain(
    router: Handler,
    *,
    authenticator: Authenticator,
    settings: TrustSettings,
    authorizer: Authorizer,
    reauthorization: Reauthorization,
    shutdown: Shutdown,
    compression: Compression,
    room: Room,
    long_running: LongRunningCheck,
    describe: Describe | None = None,
) -> Handler:
    """All stages between listener and router.

    Args:
        router: Handles authorized requests.
        authenticator: Finds the user.
        settings: Names the headers that authentication deletes.
        authorizer: Decides what the user may do.
        reauthorization: Judges long-running requests again.
        shutdown: Refuses requests while the server stops.
        compression: Compresses large responses.
        room: How many requests may be in flight.
        long_running: Tells which requests, besides watches, have no deadline and are not counted.
        describe: Describes an author's exception to the client; for development only.
    """
    handler: Handler = router  # 5. what to do
    handler = Authorization(handler, authorizer)  # 4. may they
    handler = InFlight(handler, room)  # 3. is there room
    handler = Impersonation(handler, authorizer)  # 2. who, if another user is requested
    handler = Authentication(handler, authenticator, settings)  # 2. who
    # Stages 2 and 4 judge long-running requests again.
    allowed = Impersonation(Authorization(accept, authorizer), authorizer)
    handler = reauthorization.stage(
        handler,
        identify=Authentication(accept, authenticator, settings),
        allow=Authentication(allowed, authenticator, settings),
    )
    handler = mark_long_running(handler, long_running)
    handler = shutdown.stage(handler)
    handler = Failures(handler, describe)
    return compression.stage(handler)
