"""A port for a server that is killed and started again while its clients go on."""

from __future__ import annotations

import contextlib
from random import SystemRandom

from extapi.dev import ports
from extapi.dev.failure import DevFailure


def lasting_port() -> int:
    """A free port from which no connection goes out (``ip_local_port_range`` of Linux begins above).

    A client that connects to a server which is down, from that server's own port, is connected to itself: then the server cannot
    come back.
    """
    while True:
        with contextlib.suppress(DevFailure):
            return ports.choose(SystemRandom().randrange(20_000, 32_000), "--secure-port")
