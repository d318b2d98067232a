"""The IP address that ``--bind-address`` names.

Must not know sockets or flags.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_address(text: str) -> Address:
    """The address of a text; an empty one is all addresses. To Go, an IPv4 address within IPv6 is the former.

    Args:
        text: An IPv4 or IPv6 address, the latter without brackets.

    Raises:
        ValueError: It is none.

    Source: ``github.com/spf13/pflag`` ip.go, Go's ``net`` IP.To4.
    """
    found = ipaddress.ip_address(text.strip() or "::")
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found
