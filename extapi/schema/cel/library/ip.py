"""IP addresses: ``ip``, ``isIP``, ``ip.isCanonical``, ``family`` and what kind of address it is. From Kubernetes 1.30 on.

Source: ``k8s.io/apiserver/pkg/cel/library`` ip.go, ``net/netip`` Addr.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from extapi.errors import go_quote
from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.addresses import AddressError, parse_address, written
from extapi.schema.cel.library.charges import walk, walk_estimate
from extapi.schema.cel.types import IP as IP_TYPE, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD


class IP:
    """An address without a zone, which is not an IPv4 address in an IPv6 one."""

    __slots__ = ("bits", "number")
    cel_type: ClassVar[Type] = IP_TYPE

    def __init__(self, number: int, bits: int) -> None:
        self.number = number
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IP):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return self.number == other.number and self.bits == other.bits

    def __hash__(self) -> int:
        return hash((self.number, self.bits))

    def __str__(self) -> str:
        return written(self.number, self.bits)

    def cel_size(self) -> int:
        """Bytes."""
        return self.bits // 8


def parse_ip(text: str) -> IP:
    """Read an address.

    Raises:
        EvaluationError: It is none, or has a zone, or is an IPv4 address in an IPv6 one.

    Source: ``k8s.io/apiserver/pkg/cel/library`` parseIPAddr.
    """
    try:
        number, bits, zone = parse_address(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {error}"
        ) from None
    if zone:
        raise EvaluationError(f"IP address {go_quote(text)} with zone value is not allowed")
    if is_mapped(number, bits):
        raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return IP(number, bits)


def is_mapped(number: int, bits: int) -> bool:
    """Whether it is an IPv4 address in an IPv6 one (RFC 4291, section 2.5.5.2)."""
    return bits == 128 and number >> 32 == 0xFFFF


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(parse_ip(text)) == text


def _family(address: IP) -> int:
    return 4 if address.bits == 32 else 6


def _is_unspecified(address: IP) -> bool:
    return not address.number


def _is_loopback(address: IP) -> bool:
    return address.number >> 24 == 127 if address.bits == 32 else address.number == 1


def _is_link_local_multicast(address: IP) -> bool:
    return address.number >> 8 == 0xE00000 if address.bits == 32 else (address.number >> 112) & 0xFF0F == 0xFF02


def _is_link_local_unicast(address: IP) -> bool:
    return address.number >> 16 == 0xA9FE if address.bits == 32 else (address.number >> 112) & 0xFFC0 == 0xFE80


def _is_multicast(address: IP) -> bool:
    return address.number >> 28 == 0xE if address.bits == 32 else address.number >> 120 == 0xFF


def _is_global_unicast(address: IP) -> bool:
    broadcast = address.bits == 32 and address.number == 0xFFFFFFFF
    return not (
        broadcast
        or _is_unspecified(address)
        or _is_loopback(address)
        or _is_multicast(address)
        or _is_link_local_unicast(address)
    )


_WALK: Final = walk()
_WALK_ESTIMATE: Final = walk_estimate()


def _asked(identifier: str, name: str, call: Callable[[IP], bool]) -> Overload:
    return overload(identifier, f".{name}(ip) -> bool", call)


IP_FUNCTIONS: Final[tuple[Overload, ...]] = (
    overload("string_to_ip", "ip(string) -> ip", parse_ip, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload("ip_family", ".family(ip) -> int", _family),
    overload(
        "ip_is_canonical", "ip.isCanonical(string) -> bool", _is_canonical, cost=walk(2), estimate=walk_estimate(2)
    ),
    _asked("ip_is_unspecified", "isUnspecified", _is_unspecified),
    _asked("ip_is_loopback", "isLoopback", _is_loopback),
    _asked("ip_is_link_local_multicast", "isLinkLocalMulticast", _is_link_local_multicast),
    _asked("ip_is_link_local_unicast", "isLinkLocalUnicast", _is_link_local_unicast),
    _asked("ip_is_global_unicast", "isGlobalUnicast", _is_global_unicast),
    overload("is_ip", "isIP(string) -> bool", _is_ip, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload("ip_to_string", "string(ip) -> string", str),
)
