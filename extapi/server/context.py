"""What controllers and admission plugins get from the server: the served API, the cluster, informers, events, and time."""

from __future__ import annotations

import socket
from collections.abc import Callable
from random import Random
from typing import Protocol
from weakref import WeakSet

from twisted.internet.defer import Deferred

from extapi.api.user import User
from extapi.client.dynamic import DynamicClient
from extapi.client.kube import Client, ResourceName
from extapi.client.recorder import EventRecorder
from extapi.client.transport import Transport
from extapi.client.workqueue import WorkQueue
from extapi.clock import Clock, sleep
from extapi.server.leadership import Leadership

NO_CLUSTER = "this server has no cluster, so context.cluster and context.recorder cannot be used"


class ServedTransport(Transport, Protocol):
    """Carries requests to where the API is served: this server's own chain, or a cluster that has its kinds as custom resources."""

    def acting_as(self, user: User) -> ServedTransport:
        """The same transport, for another user."""
        ...


class Context(DynamicClient):
    """What a controller or an admission plugin gets from the server, and a client for what the server serves.

    As a client it acts as a user who may do everything. Its requests pass the whole chain: conversion, schema, admission.
    :attr:`cluster` has the same methods, for all other kinds.
    """

    def __init__(
        self,
        transport: ServedTransport,
        clock: Clock,
        random: Random,
        cluster: Client | None = None,
        *,
        client: Callable[[Transport], Client] = Client,
        leader: Leadership | None = None,
    ) -> None:
        super().__init__(client(transport), clock, random.random)
        self._leader = leader or Leadership()
        self._transport = transport
        self._make_client = client
        self._random = random
        self._cluster = None if cluster is None else DynamicClient(cluster, clock, random.random)
        self._recorders: dict[str, EventRecorder] = {}
        self._queues: WeakSet[WorkQueue] = WeakSet()

    def own(self) -> Context:
        """A context with its own informers and queues, which :meth:`stop` ends.

        It shares the recorders, so that a controller which is started again continues its series of events.
        """
        context = Context(self._transport, self._clock, self._random, client=self._make_client, leader=self._leader)
        context._cluster = None if self._cluster is None else self._cluster.own()
        context._recorders = self._recorders
        return context

    @property
    def cluster(self) -> DynamicClient:
        """A client for every kind of the cluster, with the rights that ``Api(needs=[...])`` declares.

        Raises:
            RuntimeError: The server has no cluster.
        """
        if self._cluster is None:
            raise RuntimeError(NO_CLUSTER)
        return self._cluster

    @property
    def leader(self) -> Leadership:
        """Whether this process leads the processes that serve this API; always, if it is the only one."""
        return self._leader

    @property
    def clock(self) -> Clock:
        """The server's clock."""
        return self._clock

    def acting_as(self, user: User) -> DynamicClient:
        """A client for what this server serves that acts as ``user``, with the rights of that user."""
        client = DynamicClient(self._make_client(self._transport.acting_as(user)), self._clock, self._jitter)
        client._informers = self._informers  # noqa: SLF001 - of a base class: they end with these
        return client

    def queue(self) -> WorkQueue:
        """A new work queue, for one controller. It takes no more keys when the run ends that asked for it."""
        queue = WorkQueue(self._clock)
        self._queues.add(queue)
        return queue

    def recorder(self, component: str) -> EventRecorder:
        """The recorder that records events in the cluster as ``component``; one per component.

        Args:
            component: A qualified name, such as ``example.com/cooker``.

        Raises:
            ValueError: The component is no qualified name.
            RuntimeError: The server has no cluster.
        """
        if component not in self._recorders:
            instance = f"{component}-{socket.gethostname()}"
            self._recorders[component] = EventRecorder(
                self.cluster, component, instance, clock=self._clock, jitter=self._jitter
            )
        return self._recorders[component]

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the server."""
        await sleep(self._clock, seconds)

    def stop(self) -> None:
        """End all informers and queues."""
        super().stop()
        for queue in self._queues:
            queue.stop()
        if self._cluster is not None:
            self._cluster.stop()

    async def close(self) -> None:
        """End all informers and queues, then the recorders, when they have written the events that wait."""
        self.stop()
        for closing in [Deferred.fromCoroutine(recorder.close()) for recorder in self._recorders.values()]:
            await closing


def followed(context: Context) -> list[tuple[ResourceName, bool]]:
    """The resources of the context's informers, and whether each has listed its objects."""
    clients = [context, *(() if context._cluster is None else (context._cluster,))]  # noqa: SLF001 - not for authors
    return [
        (each._resource, each.synced)  # noqa: SLF001 - not for authors
        for client in clients
        for each in client._informers  # noqa: SLF001 - not for authors
    ]


def unsynced(context: Context) -> list[str]:
    """The resources of the context's informers that have not listed their objects yet."""
    return [resource.resource for resource, synced in followed(context) if not synced]
