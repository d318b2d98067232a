"""What an address says about who is behind it: the unit in which peers are counted."""

from __future__ import annotations

import ipaddress


def network(address: str) -> str:
    """The address itself for IPv4; for IPv6 its /64, which is what a single host is usually given (RFC 7934)."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:  # as a socket on "::" sees IPv4
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))
