"""Host and port as one text: in URLs, in the Host field and in messages.

Must not know who listens or dials there.
"""

from __future__ import annotations


def authority(host: str, port: int) -> str:
    """``host:port``; an IPv6 address stands in brackets.

    Args:
        host: A name or an IP address, the latter without brackets.
        port: The port.

    Source: Go's ``net`` JoinHostPort.
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
