"""The flags by which processes elect a leader: names, defaults and rules of kube-controller-manager's.

Shared by all commands that run controllers; each has its own ``--leader-elect``, since defaults differ. Nothing here reads a
file or opens a connection.

Source: ``k8s.io/component-base/config/options/leaderelectionconfig.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from extapi.server.flag import Flag, FlagReader

FLAGS: Sequence[Flag] = (
    Flag("leader-elect-lease-duration", "15s", "How long other processes wait after the last renewal that they have seen, until they try to take the Lease."),
    Flag("leader-elect-renew-deadline", "10s", "How long the leader tries to renew the Lease until it ends its controllers; less than the lease duration."),
    Flag("leader-elect-retry-period", "2s", "How long to wait between two tries to take or renew the Lease."),
    Flag("leader-elect-resource-name", "", "The name of the Lease; by default the name of the API's first group."),
    Flag("leader-elect-resource-namespace", "", "The namespace of the Lease; by default the pod's own."),
)  # fmt: skip
"""All but ``--leader-elect`` itself."""


@dataclass(frozen=True, kw_only=True)
class LeaderOptions:
    """What the flags say of the election; durations are in seconds."""

    elect: bool | None = None
    """None: the flag is not given, and the command decides."""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    name: str = ""
    """The Lease's; empty: that of the first group."""
    namespace: str = ""
    """Empty: the pod's."""


def read_leader(read: FlagReader, elect: Any) -> LeaderOptions:
    """Parse the flags; what is wrong with them is added to the reader's problems.

    Args:
        read: Has the texts of :data:`FLAGS`.
        elect: The value of ``--leader-elect``; None: it is not given.
    """
    before = len(read.problems)
    options = LeaderOptions(
        elect=None if elect is None else bool(elect),
        lease_duration=read.duration("leader-elect-lease-duration", zero=False),
        renew_deadline=read.duration("leader-elect-renew-deadline", zero=False),
        retry_period=read.duration("leader-elect-retry-period", zero=False),
        name=read.text("leader-elect-resource-name"),
        namespace=read.text("leader-elect-resource-namespace"),
    )
    if options.elect is not False and len(read.problems) == before:
        from extapi.client.leaderelection import problems  # noqa: PLC0415 - brings the client; ``--help`` needs none

        wrong = problems(options.lease_duration, options.renew_deadline, options.retry_period)
        read.problems += [f"--leader-elect: {why}" for why in wrong]
    return options
