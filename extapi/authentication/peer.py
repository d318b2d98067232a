"""A verdict on the certificate of a connection, kept as long as the connection lives and nothing it rests on changed.

Verifying costs 100 us, looking it up less than one. Must not know what is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar, cast

from extapi.authentication.base import AuthenticationError
from extapi.authentication.certificates import MALFORMED
from extapi.authentication.settings import Settings
from extapi.client.clock import Clock
from extapi.listener.call import Peer

V = TypeVar("V")

REFUSAL_SECONDS = 10.0
"""How long a refusal is kept: a certificate that is not valid yet becomes so."""


class _Kept(NamedTuple):
    """A verdict, and under which generation of trust and until when it counts."""

    generation: int
    expires: float
    verdict: object


def first_expiry(peer: Peer) -> float:
    """When the first verdict that was in the peer's favour ends, in seconds since the epoch; ``inf`` if there is none."""
    kept = (each for each in peer.verdicts.values() if isinstance(each, _Kept))
    return min(
        (each.expires for each in kept if not isinstance(each.verdict, AuthenticationError)), default=float("inf")
    )


class PeerVerdicts(Generic[V]):
    """Keeps one verdict a connection, made by ``judge``, which gives what was found and when it expires."""

    def __init__(
        self, key: Hashable, settings: Settings, clock: Clock, judge: Callable[[Peer], tuple[V, float]]
    ) -> None:
        self._key = key
        self._settings = settings
        self._clock = clock
        self._judge = judge

    def of(self, peer: Peer) -> V:
        """The verdict. Raises :class:`AuthenticationError`, also one that is kept."""
        generation = self._settings.generation
        kept = peer.verdicts.get(self._key)
        if kept is None or kept.generation != generation or self._clock.seconds() >= kept.expires:
            found: V | AuthenticationError
            try:
                found, expires = self._judge(peer)
            except AuthenticationError as error:
                found, expires = error, self._clock.seconds() + REFUSAL_SECONDS
            except MALFORMED as error:
                # The DER parsed as a whole, but a name or an extension inside it did not.
                found = AuthenticationError(f"x509: malformed certificate: {error}")
                expires = self._clock.seconds() + REFUSAL_SECONDS
            kept = _Kept(generation, expires, found)
            peer.verdicts[self._key] = kept
        verdict = kept.verdict
        if isinstance(verdict, AuthenticationError):
            # A fresh one: raising the kept one again and again would grow its traceback.
            raise AuthenticationError(*verdict.args)
        return cast("V", verdict)
