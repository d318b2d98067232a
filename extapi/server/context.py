"""What an author's code gets from the server: the served API, the cluster, informers, events, and time.

Controllers run beside the server once it serves; an admission plugin with ``start`` is started before.
"""

from __future__ import annotations

import socket
from random import Random

from extapi.api.user import User
from extapi.client.clock import Clock, sleep
from extapi.client.dynamic import DynamicClient
from extapi.client.kube import Client
from extapi.client.recorder import EventRecorder
from extapi.client.workqueue import WorkQueue
from extapi.server.loopback import LoopbackTransport

NO_CLUSTER = "this server has no cluster: context.cluster and context.recorder are there where one is given to it"


class Context(DynamicClient):
    """The surroundings of an author's code, and a client for what this server serves.

    As a client it acts as the loopback user, who may do everything, and goes through the whole chain: conversion, schema,
    admission. :attr:`cluster` has the same methods for all other kinds.
    """

    def __init__(
        self, transport: LoopbackTransport, clock: Clock, random: Random, cluster: Client | None = None
    ) -> None:
        super().__init__(Client(transport), clock, random.random)
        self._transport = transport
        self._random = random
        self._cluster = None if cluster is None else DynamicClient(cluster, clock, random.random)
        self._recorders: dict[str, EventRecorder] = {}

    def own(self) -> Context:
        """The same surroundings for somebody with informers of their own, which end with :meth:`stop`.

        Recorders are shared: a controller that is started again goes on with its series of events.
        """
        context = Context(self._transport, self._clock, self._random)
        context._cluster = None if self._cluster is None else self._cluster.own()
        context._recorders = self._recorders
        return context

    @property
    def cluster(self) -> DynamicClient:
        """Every kind of the cluster, with the rights of the server's own account: those of ``Api(needs=[...])``.

        Raises RuntimeError where the server has no cluster.
        """
        if self._cluster is None:
            raise RuntimeError(NO_CLUSTER)
        return self._cluster

    @property
    def clock(self) -> Clock:
        """What time it is."""
        return self._clock

    def acting_as(self, user: User) -> DynamicClient:
        """A client for what this server serves that acts as somebody else, with just the rights that they have."""
        client = DynamicClient(Client(self._transport.acting_as(user)), self._clock, self._jitter)
        client._informers = self._informers  # noqa: SLF001 - of a base class: they end with these
        return client

    def queue(self) -> WorkQueue:
        """A queue of work for one controller."""
        return WorkQueue(self._clock)

    def recorder(self, component: str) -> EventRecorder:
        """Records events in the cluster as ``component``, such as ``example.com/cooker``; the same one each time.

        Raises ValueError for a component that is no qualified name, RuntimeError where the server has no cluster.
        """
        if component not in self._recorders:
            instance = f"{component}-{socket.gethostname()}"
            self._recorders[component] = EventRecorder(
                self.cluster, component, instance, clock=self._clock, jitter=self._jitter
            )
        return self._recorders[component]

    async def sleep(self, seconds: float) -> None:
        """Wait without holding up the server."""
        await sleep(self._clock, seconds)

    def stop(self) -> None:
        """End all informers."""
        super().stop()
        if self._cluster is not None:
            self._cluster.stop()

    def close(self) -> None:
        """End all informers and recorders."""
        self.stop()
        for recorder in self._recorders.values():
            recorder.stop()
