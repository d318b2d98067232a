"""What plugins and controllers get in a webhook server: the cluster, which has the kinds of their own API too.

They act as the server's account and as nobody else: here is no chain through which another user's request could go.
"""

from __future__ import annotations

from random import Random
from typing import Any

from extapi.api.definition import Api
from extapi.api.user import User
from extapi.client.transport import ClientRequest, ClientResponse, Transport
from extapi.server.context import Context
from extapi.server.delegation import ClusterAccess, authors_client
from extapi.server.electedcontrollers import ElectedControllers
from extapi.server.election import candidate, election_of
from extapi.server.leadership import Leadership
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
        self._leader = Leadership()

    def context(self) -> Context:
        """A new context. All share one limit of requests per second.

        Raises:
            CredentialsError: There are no usable credentials for the cluster.
        """
        transport = self._transport = self._transport or self._cluster.authors_transport()
        cluster = authors_client(transport)
        return Context(
            ClusterTransport(transport),
            self._reactor,
            self._random,
            cluster,
            client=authors_client,
            leader=self._leader,
        )

    def controllers(self, options: WebhookOptions) -> ElectedControllers:
        """What runs the controllers of the API, in one process at a time.

        Raises:
            CredentialsError: There are no usable credentials for the cluster, or it is unknown where the Lease is.
        """
        client = self._cluster.client(None, "kubeconfig")
        elector = None
        if options.leader.elect:
            elector = candidate(client, election_of(self._api, options.leader), self._reactor, self._random)
        return ElectedControllers(self._api.controllers, self.context(), elector)
