"""A CA bundle in a file that may be written anew while the server runs (spec A9).

Looks every minute, as k8s.io/apiserver does beside its file events. Must not know what the bundle is for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from twisted.logger import Logger

from extapi.authentication.certificates import BundleError
from extapi.client.clock import Clock, Timer

PERIOD = 60.0
"""Seconds between two looks."""


class BundleFile:
    """Hands the PEM text of ``path`` to ``apply``, which raises :class:`BundleError` for what it does not take."""

    _log = Logger()

    def __init__(self, path: Path, apply: Callable[[bytes], object], clock: Clock) -> None:
        self._path = path
        self._apply = apply
        self._clock = clock
        self._timer: Timer | None = None

    def load(self) -> None:
        """Read now. Raises :class:`BundleError`: a server must not start with a bundle that is not there."""
        try:
            pem = self._path.read_bytes()
        except OSError as error:
            raise BundleError(f"cannot read the CA bundle {self._path}: {error.strerror or error}") from error
        try:
            self._apply(pem)
        except BundleError as error:
            raise BundleError(f"{self._path}: {error}") from error

    def start(self) -> None:
        """Look again every minute; what cannot be used is logged, and the last good bundle stays."""
        self._timer = self._clock.callLater(PERIOD, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def _look(self) -> None:
        try:
            self.load()
        except BundleError as error:
            self._log.error("the last good CA bundle stays in force: {error}", error=str(error))
        self.start()
