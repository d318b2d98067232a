"""Random texts for the formats that schemas enforce, by name. Needs hypothesis."""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_HEX = "[0-9a-f]"
_LABEL = "[a-z]([-a-z0-9]{0,10}[a-z0-9])?"
_PATTERNS: Final = {
    "bsonobjectid": f"{_HEX}{{24}}",
    "email": f"[a-z][a-z0-9]{{0,3}}(\\.[a-z0-9]{{1,3}})?@{_LABEL}\\.example",
    "hostname": f"{_LABEL}\\.example",
    "uri": f"https://{_LABEL}\\.example(:[1-9][0-9]{{1,3}})?(/[a-z0-9]{{0,8}}){{0,3}}",
    "mac": f"{_HEX}{{2}}(:{_HEX}{{2}}){{5}}",
    "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "uuid3": f"{_HEX}{{8}}-{_HEX}{{4}}-3{_HEX}{{3}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "uuid4": f"{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ab]{_HEX}{{3}}-{_HEX}{{12}}",
    "uuid5": f"{_HEX}{{8}}-{_HEX}{{4}}-5{_HEX}{{3}}-[89ab]{_HEX}{{3}}-{_HEX}{{12}}",
    "ssn": "[0-9]{3}-[0-9]{2}-[0-9]{4}",
    "hexcolor": f"#{_HEX}{{6}}",
    "rgbcolor": "rgb\\([1-9][0-9]?, ?[1-9][0-9]?, ?[1-9][0-9]?\\)",
    "duration": "([1-9][0-9]?h)?[1-9][0-9]?m([1-9][0-9]?s)?",
    "k8sshortname": _LABEL,
    "k8slongname": f"{_LABEL}(\\.{_LABEL}){{0,2}}",
}
"""A part of each format that every implementation accepts."""


def text_of(name: str) -> SearchStrategy[str] | None:
    """Texts that are valid by a format, or None for an unknown one. Dashes in its name are ignored."""
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    plain = name.replace("-", "")
    if plain in _PATTERNS:
        return st.from_regex(_PATTERNS[plain], fullmatch=True, alphabet=st.characters(codec="ascii"))
    made: dict[str, Any] = {
        "ipv4": lambda: st.ip_addresses(v=4).map(str),
        "ipv6": lambda: st.ip_addresses(v=6).map(str),
        "cidr": lambda: st.tuples(st.ip_addresses(v=4), st.integers(0, 32)).map(_network),
        "date": lambda: st.dates().map(str),
        "datetime": lambda: st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
        "byte": lambda: st.binary(min_size=1, max_size=20).map(lambda data: base64.b64encode(data).decode()),
        "password": lambda: st.text(st.characters(codec="utf-8"), max_size=20),
        "isbn": lambda: _digits(9).map(_isbn10),
        "isbn10": lambda: _digits(9).map(_isbn10),
        "isbn13": lambda: _digits(9).map(_isbn13),
        "creditcard": lambda: _digits(14).map(_card),
    }
    make = made.get(plain)
    return None if make is None else make()


def _digits(count: int) -> SearchStrategy[list[int]]:
    from hypothesis import strategies as st  # noqa: PLC0415 -- an extra, and slow to import

    return st.lists(st.integers(0, 9), min_size=count, max_size=count)


def _network(parts: tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]) -> str:
    return f"{parts[0]}/{parts[1]}"


def _isbn10(digits: list[int]) -> str:
    """With the check digit (ISO 2108)."""
    check = -sum(weight * digit for weight, digit in zip(range(10, 1, -1), digits, strict=True)) % 11
    return _joined(digits) + ("X" if check == 10 else str(check))


def _isbn13(digits: list[int]) -> str:
    """With the check digit (ISO 2108)."""
    whole = [9, 7, 8, *digits]
    check = -sum(digit * (3 if index % 2 else 1) for index, digit in enumerate(whole)) % 10
    return _joined(whole) + str(check)


def _card(digits: list[int]) -> str:
    """With the check digit after Luhn (ISO/IEC 7812)."""
    whole = [4, *digits]
    doubled = [digit if index % 2 else sum(divmod(2 * digit, 10)) for index, digit in enumerate(whole)]
    return _joined(whole) + str(-sum(doubled) % 10)


def _joined(digits: list[int]) -> str:
    return "".join(map(str, digits))
