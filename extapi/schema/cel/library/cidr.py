"""Networks in CIDR notation: ``cidr``, ``isCIDR``, ``containsIP``, ``containsCIDR``, ``ip``, ``prefixLength`` and ``masked``.

From Kubernetes 1.30 on.

Source: ``k8s.io/apiserver/pkg/cel/library`` cidr.go, ``net/netip`` Prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from extapi.api.strconv import only_digits
from extapi.errors import go_quote
from extapi.schema.cel.declarations import Cost, Estimate, Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import ONE, Interval
from extapi.schema.cel.library.addresses import AddressError, parse_address, written
from extapi.schema.cel.library.charges import walk, walk_estimate
from extapi.schema.cel.library.ip import IP, is_mapped, parse_ip
from extapi.schema.cel.types import CIDR as CIDR_TYPE, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD
from extapi.schema.cel.values.sizes import size_of, tenth

_FAILED: Final = "network address parse error during conversion from string"


class CIDR:
    """An address, and how many of its first bits name the network."""

    __slots__ = ("bits", "number", "prefix")
    cel_type: ClassVar[Type] = CIDR_TYPE

    def __init__(self, number: int, bits: int, prefix: int) -> None:
        self.number = number
        self.bits = bits
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CIDR):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[int, int, int]:
        return self.number, self.bits, self.prefix

    def __str__(self) -> str:
        return f"{written(self.number, self.bits)}/{self.prefix}"

    def cel_size(self) -> int:
        """Bytes of the prefix."""
        return (self.prefix + 7) // 8

    def same(self, number: int, prefix: int) -> bool:
        """Whether a number begins with the same bits, as many as ``prefix``."""
        shift = self.bits - prefix
        return self.number >> shift == number >> shift


class _PrefixError(ValueError):
    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"netip.ParsePrefix({go_quote(text)}): {reason}")


def _parse_prefix(text: str) -> CIDR:
    address, slash, length = text.rpartition("/")
    if not slash:
        raise _PrefixError(text, "no '/'")
    try:
        number, bits, zone = parse_address(address)
    except AddressError as error:
        raise _PrefixError(text, str(error)) from None
    if zone:
        raise _PrefixError(text, "IPv6 zones cannot be present in a prefix")
    if not only_digits(length) or (len(length) > 1 and length[0] == "0") or _exceeds(length):
        raise _PrefixError(text, f"bad bits after slash: {go_quote(length)}")
    if len(length) > 3 or int(length) > bits:
        raise _PrefixError(text, "prefix length out of range")
    return CIDR(number, bits, int(length))


def _exceeds(digits: str) -> bool:
    """Whether digits without leading zeros are more than an int64 has room for."""
    return len(digits) > 19 or (len(digits) == 19 and int(digits) >= 2**63)


def parse_cidr(text: str) -> CIDR:
    """Read a network.

    Raises:
        EvaluationError: It is none, or has an IPv4 address in an IPv6 one.
    """
    try:
        found = _parse_prefix(text)
    except _PrefixError as error:
        raise EvaluationError(f"{_FAILED}: {_FAILED}: {error}") from None
    if is_mapped(found.number, found.bits):
        raise EvaluationError(f"{_FAILED}: IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return found


def _is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip(network: CIDR, address: IP) -> bool:
    return network.bits == address.bits and network.same(address.number, network.prefix)


def _contains_ip_text(network: CIDR, text: str) -> bool:
    try:
        address = parse_ip(text)
    except EvaluationError:  # Go forgets the reason
        raise EvaluationError(NO_SUCH_OVERLOAD) from None
    return _contains_ip(network, address)


def _contains_cidr(network: CIDR, other: CIDR) -> bool:
    return network.bits == other.bits and network.prefix <= other.prefix and network.same(other.number, network.prefix)


def _contains_cidr_text(network: CIDR, text: str) -> bool:
    return _contains_cidr(network, parse_cidr(text))


def _ip(network: CIDR) -> IP:
    return IP(network.number, network.bits)


def _prefix_length(network: CIDR) -> int:
    return network.prefix


def _masked(network: CIDR) -> CIDR:
    shift = network.bits - network.prefix
    return CIDR(network.number >> shift << shift, network.bits, network.prefix)


def _comparison(*, networks: bool, text: bool) -> Cost:
    """Bytes are compared; a network is masked before; text is read before."""

    def cost(arguments: Sequence[Any], _result: Any) -> int:
        size = size_of(arguments[0])
        total = tenth(size + size)
        if networks:
            total += tenth(size) + 1
        if text:
            total += tenth(size_of(arguments[1]))
        return total

    return cost


def _comparison_estimate(*, networks: bool, text: bool) -> Estimate:
    size = Interval(4, 16)
    base = size.plus(size).scaled(0.1)
    if networks:
        base = base.plus(size.scaled(0.1)).plus(ONE)

    def estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
        return base.plus(arguments[0].size().scaled(0.1)) if text else base, None

    return estimate


_WALK: Final = walk()
_WALK_ESTIMATE: Final = walk_estimate()


def _comparing(identifier: str, signature: str, call: Callable[..., bool], *, networks: bool, text: bool) -> Overload:
    return overload(
        identifier,
        signature,
        call,
        cost=_comparison(networks=networks, text=text),
        estimate=_comparison_estimate(networks=networks, text=text),
    )


CIDR_FUNCTIONS: Final[tuple[Overload, ...]] = (
    overload("string_to_cidr", "cidr(string) -> cidr", parse_cidr, cost=_WALK, estimate=_WALK_ESTIMATE),
    _comparing(
        "cidr_contains_ip_string",
        ".containsIP(cidr, string) -> bool",
        _contains_ip_text,
        networks=False,
        text=True,
    ),
    _comparing("cidr_contains_ip_ip", ".containsIP(cidr, ip) -> bool", _contains_ip, networks=False, text=False),
    _comparing(
        "cidr_contains_cidr_string",
        ".containsCIDR(cidr, string) -> bool",
        _contains_cidr_text,
        networks=True,
        text=True,
    ),
    _comparing("cidr_contains_cidr", ".containsCIDR(cidr, cidr) -> bool", _contains_cidr, networks=True, text=False),
    overload("cidr_ip", ".ip(cidr) -> ip", _ip),
    overload("cidr_prefix_length", ".prefixLength(cidr) -> int", _prefix_length),
    overload("cidr_masked", ".masked(cidr) -> cidr", _masked),
    overload("is_cidr", "isCIDR(string) -> bool", _is_cidr, cost=_WALK, estimate=_WALK_ESTIMATE),
    overload("cidr_to_string", "string(cidr) -> string", str),
)
