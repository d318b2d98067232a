"""What was found out about an etcd: the members' own words, and what the store there says. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EtcdMemberFacts:
    """One endpoint of ``--etcd-servers``."""

    endpoint: str
    failure: str = ""
    """Why nothing else is known; empty: it is."""
    version: str = ""
    supported: bool = True
    """Whether a server starts on this version."""
    hidden: bool = False
    """Whether it tells its version, size and alarms to root alone."""
    leader: bool = True
    """Whether the member knows of one."""
    learner: bool = False
    size: int = 0
    """Bytes of its database's file."""
    in_use: int = 0
    quota: int = 0
    """Bytes that it may have; 0: the member does not say."""
    alarms: Sequence[str] = ()
    seconds: float | None = None
    """How long a linearizable read takes; None: ``read_failure`` says why there was none."""
    read_failure: str = ""
    through_http: bool = False
    """Whether an HTTP server takes the calls of its clients."""


@dataclass(frozen=True, slots=True)
class EtcdFacts:
    """An etcd, and the store in it."""

    members: Sequence[EtcdMemberFacts]
    certificates: Sequence[tuple[str, dt.datetime]] = ()
    """What is for TLS, and when it ends: files of flags, certificates of endpoints."""
    failure: str = ""
    """Why etcd could not be asked at all, for instance a file that cannot be read."""
    revision: int = 0
    """The store's; 0: it could not be read, and ``store_failure`` says why."""
    oldest: int = 0
    store_failure: str = ""
