"""What the stories of the contract need to run on an etcd."""

from __future__ import annotations

import uuid
from typing import Any, Self

from extapi.storage.base import Backend
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.etcd.times import EtcdTimes
from extapi.testing.stories import Suite
from tests.etcds import Running


class OnEtcd(Suite):
    """A store with a prefix of its own for each story. A compaction is of all that etcd has, so stories run one at a time."""

    durable = True
    timeout = 120.0
    largest = 1_500_000
    too_large = 1_600_000
    etcd: Running
    prefix: str

    def store(self, reactor: Any) -> Backend:
        return EtcdBackend(reactor, self.options())

    def options(self) -> EtcdOptions:
        """How the store is reached. The bounds are wide: what is late on a machine that is busy has not failed."""
        return self.etcd.options(self.prefix, times=EtcdTimes(call=25, dial=20, told=25))

    def use(self, member: Running) -> None:
        """Be of this member, and of nobody else."""
        self.etcd, self.prefix = member, f"/test/{uuid.uuid4().hex}"

    @classmethod
    def on(cls, member: Running) -> Self:
        """The suite of one story."""
        suite = cls()
        suite.use(member)
        return suite
