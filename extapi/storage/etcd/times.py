"""How long things may take on the way to etcd, in seconds. Pure numbers; what they bound is said here, how is where they are used."""

from __future__ import annotations

from typing import Final, NamedTuple

CALL_SECONDS: Final = 5.0
"""How long a call may take; a leader's death is over by then, mostly."""
DIAL_SECONDS: Final = 2.0
"""How long each of the steps may take together that make a connection usable, and the connection before them."""
PING_SECONDS: Final = 12.0
"""The time between signs of life that are asked for, while a call runs. etcd ends connections that ask more often than every
5 s (``--grpc-keepalive-min-time``), or while no call runs: ``too_many_pings``."""
PONG_SECONDS: Final = 0.1
"""How long the answer to a PING may wait. grpc-go sends one with the first message after each answer, to measure the bandwidth
(``google.golang.org/grpc/internal/transport`` bdp_estimator.go), so answers at once would be one more frame and one more write
for each call, on both sides. Those that look whether we are alive wait for 20 s."""
TOLD_SECONDS: Final = 1.0
"""How long a commit, or somebody who asks for progress, waits for a tail."""


class EtcdTimes(NamedTuple):
    """All of them, for those who need others: tests, which make things fail, or run where the machine is slow."""

    call: float = CALL_SECONDS
    dial: float = DIAL_SECONDS
    ping: float = PING_SECONDS
    told: float = TOLD_SECONDS


USUAL: Final = EtcdTimes()
"""Those of a server."""
