"""What plugins and controllers get in a webhook server: the cluster, which has the kinds of their own API too.

They act as the server's account and as nobody else: here is no chain through which another user's request could go.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from extapi.api.definition import Api
from extapi.api.user import User
from extapi.client.credentials import SERVICE_ACCOUNT, CredentialsError
from extapi.client.leaderelection import Election, LeaderElector
from extapi.client.transport import ClientRequest, ClientResponse, Transport
from extapi.server.context import Context
from extapi.server.delegation import ClusterAccess, authors_client
from extapi.server.electedcontrollers import Begin, ElectedControllers, End
from extapi.webhooks.options import WebhookOptions


class ClusterTransport:
    """The way to the kinds of the API, which are the cluster's: the server's credentials and nobody else's."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: ClientRequest) -> ClientResponse:
        """See :class:`extapi.client.transport.Transport`."""
        return await self._transport.send(request)

    def acting_as(self, user: User) -> ClusterTransport:
        """Refuse to act as somebody else.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(
            f"extapi webhooks cannot act as {user.name!r}: in a cluster, context.acting_as is not supported"
        )


class AuthorsCluster:
    """Makes contexts, and what runs controllers.

    Args:
        api: The API.
        cluster: Reaches the cluster.
        reactor: The reactor.
        random: For delays.
    """

    def __init__(self, api: Api, cluster: ClusterAccess, reactor: Any, random: Random) -> None:
        self._api = api
        self._cluster = cluster
        self._reactor = reactor
        self._random = random
        self._transport: Transport | None = None

    def context(self) -> Context:
        """A new context. All share one limit of requests per second.

        Raises:
            CredentialsError: There are no usable credentials for the cluster.
        """
        transport = self._transport = self._transport or self._cluster.authors_transport()
        cluster = authors_client(transport)
        return Context(ClusterTransport(transport), self._reactor, self._random, cluster, client=authors_client)

    def controllers(self, options: WebhookOptions) -> ElectedControllers:
        """What runs the controllers of the API, in one process at a time.

        Raises:
            CredentialsError: There are no usable credentials for the cluster, or it is unknown where the Lease is.
        """
        client = self._cluster.client(None, "kubeconfig")
        if not options.leader_elect:
            return ElectedControllers(self._api.controllers, self.context)
        election = election_of(self._api, options)

        def elector(started: Begin, stopped: End) -> LeaderElector:
            return LeaderElector(
                client,
                election,
                clock=self._reactor,
                timer=time.monotonic,
                jitter=self._random.random,
                started=started,
                stopped=stopped,
            )

        return ElectedControllers(self._api.controllers, self.context, elector)


def election_of(api: Api, options: WebhookOptions, root: Path = SERVICE_ACCOUNT) -> Election:
    """What the flags say of the election.

    Args:
        api: The API.
        options: The flags.
        root: Where a pod finds its namespace.

    Raises:
        CredentialsError: Neither the flags nor the pod say where the Lease is.
    """
    name = options.lease_name or next((group.name for group in api.groups), "")
    if not name:
        raise CredentialsError("--leader-elect-resource-name is needed: the API has no group to name the Lease after")
    namespace = options.lease_namespace
    if not namespace:
        try:
            namespace = (root / "namespace").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise CredentialsError(
                "--leader-elect-resource-namespace is needed outside of a pod: the namespace of the Lease by which one of "
                "several processes runs the controllers; or give --leader-elect=false"
            ) from None
    return Election(
        name=name,
        namespace=namespace,
        identity=f"{socket.gethostname()}_{uuid4()}",
        lease_duration=options.lease_duration,
        renew_deadline=options.renew_deadline,
        retry_period=options.retry_period,
    )
