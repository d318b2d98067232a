"""What certificates and headers are trusted right now; changes while the server runs, without a restart.

Filled by flags, files and the ConfigMap; read by the authenticators. Must not know where values come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from extapi.authentication.certificates import Bundle


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """Which headers carry an identity, and which common names may send them. Header names in lower case."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Common names of the front proxy's certificate; empty: any."""


class Settings:
    """The trust that is in force. ``generation`` grows with each change: a verdict under an older one is void."""

    def __init__(self) -> None:
        self.client_ca: Bundle | None = None
        self.proxy_ca: Bundle | None = None
        self.names = HeaderNames()
        self.generation = 0
        self.observers: list[Callable[[], None]] = []
        """Called after each change."""

    def _changed(self) -> None:
        self.generation += 1
        for observer in self.observers:
            observer()

    def trust_clients(self, pem: bytes) -> bool:
        """Take a bundle for client certificates. Raises :class:`BundleError` and keeps the old one (spec A7)."""
        if self.client_ca is not None and self.client_ca.pem == pem:
            return False
        self.client_ca = Bundle(pem)
        self._changed()
        return True

    def trust_proxies(self, pem: bytes) -> bool:
        """Take a bundle for front proxies. Raises :class:`BundleError` and keeps the old one (spec A7)."""
        if self.proxy_ca is not None and self.proxy_ca.pem == pem:
            return False
        self.proxy_ca = Bundle(pem)
        self._changed()
        return True

    def use_names(self, names: HeaderNames) -> bool:
        """Take header names and allowed common names."""
        if names == self.names:
            return False
        self.names = names
        self._changed()
        return True

    def distrust_proxies(self) -> None:
        """Switch request-header authentication off (spec A4)."""
        self.proxy_ca = None
        self.names = HeaderNames()
        self._changed()
