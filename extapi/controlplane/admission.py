"""Admission on the control plane: the plugins that an extension server asks too, about what this server itself stores.

They read namespaces, configurations and Services in this process, through the server's own chain. Knows how they are
started, and none of their rules.

Source: ``kubernetes/pkg/controlplane/apiserver/options``, ``k8s.io/apiserver/pkg/server/plugins.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Set as AbstractSet
from random import Random
from typing import Any

from extapi import Context, Review
from extapi.authentication.loopback import APISERVER
from extapi.authorization.authorizer import Authorizer
from extapi.client.kube import Client
from extapi.client.services import Resolve
from extapi.client.transport import ClientRequest, ClientResponse, Transport, TransportError
from extapi.server.admissionplugins import BuiltinAdmission


class OwnTransport:
    """Carries requests to a server that is made later."""

    def __init__(self) -> None:
        self._transport: Transport | None = None

    def lead_to(self, transport: Transport) -> None:
        """From now on, requests have somewhere to go."""
        self._transport = transport

    async def send(self, request: ClientRequest) -> ClientResponse:
        """See :class:`extapi.client.transport.Transport`."""
        if self._transport is None:
            raise TransportError("the server is not there yet")
        return await self._transport.send(request)


class ControlPlaneAdmission:
    """The plugins of the control plane. Put :attr:`plugins` among the server's ``builtin``, and this object before what writes.

    What the server itself writes while it starts is shown to nobody: a webhook that hangs must not keep the control plane from
    starting, or nobody could delete its configuration. After that, its controllers are clients like others.

    Args:
        authorizer: Decides about the checks in expressions.
        resolve: Finds the Services of webhooks.
        started: Whether the server has started.
        reactor: The reactor.
        disabled: The names of plugins to leave out.
    """

    def __init__(
        self,
        authorizer: Authorizer,
        resolve: Resolve,
        started: Callable[[], bool],
        reactor: Any,
        *,
        disabled: AbstractSet[str] = frozenset(),
    ) -> None:
        self._transport = OwnTransport()
        random = Random()  # noqa: S311 - for delays, nothing secret
        self._admission = BuiltinAdmission(
            Client(self._transport), authorizer, reactor, random=random, disabled=disabled, resolve=resolve
        )
        self.plugins: list[Any] = [
            _gate(each, started) if hasattr(each, "rules") else each for each in self._admission.plugins
        ]
        """In the order in which they are asked."""

    def follow(self, transport: Transport) -> None:
        """Say where the server is. Call it before the server starts."""
        self._transport.lead_to(transport)

    async def start(self, context: Context) -> None:
        """Follow namespaces and configurations."""
        del context
        self._admission.start()

    def stop(self) -> None:
        """Stop, and end the connections to webhooks."""
        self._admission.stop()

    def check(self) -> str | None:
        """The health check: None once all is known that admission needs."""
        return self._admission.check().check()


class _Gate:
    """A plugin that is asked about what the server itself writes only once the server has started."""

    def __init__(self, plugin: Any, started: Callable[[], bool]) -> None:
        self._plugin = plugin
        self._started = started
        self.plugin_name: str = plugin.plugin_name
        self.compares_output = getattr(plugin, "compares_output", False)
        self.rules = plugin.rules

    def handles(self, review: Review) -> bool:
        """See :class:`extapi.admission.base.Mutator`."""
        if review.user.name == APISERVER.name and not self._started():
            return False
        return bool(self._plugin.handles(review))


class _MutatorGate(_Gate):
    async def mutate(self, review: Review) -> None:
        """See :class:`extapi.admission.base.Mutator`."""
        await self._plugin.mutate(review)


class _ValidatorGate(_Gate):
    async def validate(self, review: Review) -> None:
        """See :class:`extapi.admission.base.Validator`."""
        await self._plugin.validate(review)


def _gate(plugin: Any, started: Callable[[], bool]) -> _Gate:
    return (_MutatorGate if hasattr(plugin, "mutate") else _ValidatorGate)(plugin, started)
