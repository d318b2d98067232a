"""The way of a request, in one place: each stage is handed its successor, in kube-apiserver's order (spec H1).

The listener hands in a :class:`~extapi.listener.call.Call`; what comes back is the answer. Read from the bottom up.
"""

from __future__ import annotations

from extapi.authentication.base import Authenticator
from extapi.authentication.settings import Settings
from extapi.authentication.stage import Authentication
from extapi.authorization.base import Authorizer
from extapi.authorization.impersonation import Impersonation
from extapi.authorization.stage import Authorization
from extapi.listener.call import Handler
from extapi.listener.service import Describe
from extapi.server.compression import Compression
from extapi.server.failure import Failures
from extapi.server.inflight import InFlight
from extapi.server.reauthorization import Reauthorization, accept
from extapi.server.shutdown import Shutdown
from extapi.server.warnings import Warnings


def build_chain(
    router: Handler,
    *,
    authenticator: Authenticator,
    settings: Settings,
    authorizer: Authorizer,
    reauthorization: Reauthorization,
    shutdown: Shutdown,
    compression: Compression,
    reads: int,
    writes: int,
    describe: Describe | None = None,
) -> Handler:
    """All stages after the listener. ``settings``: whose headers authentication takes off a request."""
    handler: Handler = router  # 5. what to do
    handler = Authorization(handler, authorizer)  # 4. may they
    handler = InFlight(handler, reads=reads, writes=writes)  # 3. is there room
    handler = Impersonation(handler, authorizer)  # 2. who, where another is asked for
    handler = Authentication(handler, authenticator, settings)  # 2. who
    # What is still open later is asked 2 and 4 again.
    allowed = Impersonation(Authorization(accept, authorizer), authorizer)
    handler = reauthorization.stage(
        handler,
        identify=Authentication(accept, authenticator, settings),
        allow=Authentication(allowed, authenticator, settings),
    )
    handler = shutdown.stage(handler)
    handler = Failures(handler, describe)
    handler = Warnings(handler)
    return compression.stage(handler)
