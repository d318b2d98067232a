"""The webhooks of all definitions of one source: each as long as its definition says the same.

Makes the converters of :func:`extapi.crd.kinds.kind_of`. A definition that changes elsewhere keeps its webhook, and with it
the open connections. Who serves the kinds closes the converter of one that has gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.client.clientpair import Pair
from extapi.client.services import Resolve
from extapi.conversion.converter import Converter
from extapi.crd.definition import Definition
from extapi.crd.webhook import WebhookConverter


class Webhooks:
    """Call it with a definition. Call :meth:`close` at the end.

    Args:
        resolve: Finds the Services that definitions name: in a cluster :func:`extapi.client.services.by_dns`.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
        certificate: See :class:`extapi.crd.webhook.WebhookConverter`.
    """

    def __init__(self, resolve: Resolve, reactor: Any, *, certificate: Callable[[], Pair] | None = None) -> None:
        self._resolve = resolve
        self._reactor = reactor
        self._certificate = certificate
        self._made: dict[str, tuple[Any, WebhookConverter]] = {}

    def __call__(self, definition: Definition) -> Converter:
        """The converter of a definition that is converted by a webhook."""
        conversion, known = definition.conversion, self._made.get(definition.name)
        if known is not None and known[0] == conversion and not known[1].closed:
            return known[1]
        made = WebhookConverter(
            definition.name, conversion, self._resolve, self._reactor, certificate=self._certificate
        )
        self._made = {name: each for name, each in self._made.items() if not each[1].closed}
        self._made[definition.name] = conversion, made
        return made

    def close(self) -> None:
        """End all connections."""
        for _, converter in self._made.values():
            converter.close()
        self._made.clear()
