"""How long a request may take: ``?timeout=``, a duration as Go writes it.

Source: ``k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`` (spec H4) and Go's ``time.ParseDuration``.
"""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek letter mu: Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_LONGEST = (1 << 63) - 1
"""Go counts nanoseconds in 64 bits."""


def parse_duration(text: str) -> float:
    """Seconds. Raises ``ValueError`` with Go's text."""
    invalid = ValueError(f'time: invalid duration "{_quoted(text)}"')
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    if not rest or len(rest) > 256:
        raise invalid
    total = Decimal()
    while rest:
        term = _TERM.match(rest)
        if term is None or not (term[1] or term[2]):
            raise invalid
        if not term[3]:
            raise ValueError(f'time: missing unit in duration "{_quoted(text)}"')
        if term[3] not in _UNITS:
            raise ValueError(f'time: unknown unit "{_quoted(term[3])}" in duration "{_quoted(text)}"')
        total += Decimal(f"{term[1] or '0'}.{term[2] or '0'}") * _UNITS[term[3]]
        rest = rest[term.end() :]
    if total > _LONGEST:
        raise invalid
    seconds = float(total) / 1e9
    return -seconds if text[0] == "-" else seconds


def time_allowed(timeout: str, maximum: float) -> float:
    """Seconds for a request with this ``timeout`` parameter.

    ``maximum`` if there is none, or none between 0 and ``maximum``. Raises ``ValueError`` with kube-apiserver's text.
    """
    if not timeout:
        return maximum
    try:
        wanted = parse_duration(timeout)
    except ValueError as error:
        raise ValueError(f"invalid timeout specified in the request URL - {error}") from None
    return wanted if 0 < wanted < maximum else maximum


def _quoted(text: str) -> str:
    r"""As Go's ``time.quote``: quotes and backslashes escaped, everything outside printable ASCII as ``\xNN``."""
    out = []
    for byte in text.encode("utf-8"):
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif 0x20 <= byte < 0x7F:
            out.append(chr(byte))
        else:
            out.append(f"\\x{byte:02x}")
    return "".join(out)
