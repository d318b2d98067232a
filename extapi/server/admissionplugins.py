"""The admission plugins that an extension server asks before its author's: how they are made, started and stopped.

Source: ``k8s.io/apiserver/pkg/server/plugins.go``, ``pkg/server/options/admission.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set as AbstractSet
from functools import partial
from random import Random
from typing import Any

from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.namespaces import NamespaceLabels, NamespaceLifecycle
from extapi.admission.webhooks import mutating, validating
from extapi.admission.webhooks.asking import Asking
from extapi.admission.webhooks.source import WebhookCallers, WebhookSource
from extapi.authorization.authorizer import Authorizer
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.client.services import Resolve, by_dns
from extapi.server.health import NamedCheck

NAMESPACES = ResourceName("", "v1", "namespaces")
_READYZ = frozenset({"readyz"})


class BuiltinAdmission:
    """The plugins, and what they follow in the cluster.

    Args:
        client: Reaches the cluster.
        authorizer: Decides about the checks in match conditions.
        reactor: The reactor.
        random: For delays.
        disabled: The names of plugins to leave out.
        resolve: Finds the Services of webhooks.
    """

    def __init__(
        self,
        client: Client,
        authorizer: Authorizer,
        reactor: Any,
        *,
        random: Random,
        disabled: AbstractSet[str] = frozenset(),
        resolve: Resolve = by_dns,
    ) -> None:
        self._namespaces = Informer(client, NAMESPACES, clock=reactor, jitter=random.random)
        self._callers = WebhookCallers(resolve, reactor)
        self._sources: list[WebhookSource] = []
        live = partial(client.get, NAMESPACES)
        labels = NamespaceLabels(self._namespaces, live)
        evaluator = Evaluator(authorizer, reactor, reactor.getThreadPool())

        def asking(kind: str) -> Asking:
            source = WebhookSource(kind, client, self._callers, clock=reactor, jitter=random.random)
            self._sources.append(source)
            return Asking(source, labels, evaluator, reactor)

        made: dict[str, Callable[[], Any]] = {
            "NamespaceLifecycle": lambda: NamespaceLifecycle(cache=self._namespaces, live=live, clock=reactor),
            mutating.NAME: lambda: mutating.MutatingWebhooks(asking("MutatingWebhookConfiguration")),
            validating.NAME: lambda: validating.ValidatingWebhooks(asking("ValidatingWebhookConfiguration")),
        }
        self.plugins = [make() for name, make in made.items() if name not in disabled]
        """In the order in which they are asked."""

    def start(self) -> None:
        """Start to follow the cluster."""
        self._namespaces.start()
        for source in self._sources:
            source.start()

    def stop(self) -> None:
        """Stop, and end the connections to webhooks."""
        self._namespaces.stop()
        for source in self._sources:
            source.stop()
        self._callers.close()

    def check(self) -> NamedCheck:
        """Whether all is known of the cluster that admission needs."""
        return NamedCheck("informer-sync", self._missing, _READYZ)

    def _missing(self) -> str | None:
        return next(self._unsynced(), None)

    def _unsynced(self) -> Iterator[str]:
        if not self._namespaces.synced:
            yield "namespaces have not been listed yet"
        for source in self._sources:
            if not source.synced:
                yield f"{source.kind}s have not been listed yet"
