"""The string formats that are enforced, by name, and what they accept (behaviour J23).

They follow ``k8s.io/kube-openapi/pkg/validation/strfmt`` even where it is lenient (``01.2.3.4`` is an ipv4 address,
``1 hour`` a duration). Unknown formats are published but not enforced. Nothing here knows schemas.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from string import ascii_letters, digits, hexdigits
from typing import Final

from extapi.api.duration import parse_duration, run
from extapi.api.names import LABEL_LENGTH, SUBDOMAIN_LENGTH, is_dns_label, is_dns_subdomain
from extapi.api.strconv import has_pattern, only_digits, parse_int, parse_uint
from extapi.schema.mailbox import is_mailbox
from extapi.schema.pattern import matcher
from extapi.schema.uri import is_uri

_CREDIT_CARD = (
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\\d{3})\\d{11})$"
)
_CREDIT_CARD_LENGTH = 16
_DIGITS = frozenset(digits)
_SPACE = " \t\n\f\r"
_SPACES = frozenset(_SPACE)
_BASE64 = f"{ascii_letters}{digits}+/".encode()
_NO_SPACE_OR_DASH = str.maketrans("", "", f"{_SPACE}-")
_NO_DIGITS = bytes(set(range(256)) - set(digits.encode()))
_IN_LABEL = frozenset(f"{ascii_letters}{digits}-$+<=>^`|~")
"""The ASCII characters of host name labels: letters, digits, the dash, and Unicode's symbols."""
_IN_UNIT = frozenset(f"{ascii_letters}\u00b5")
_UNITS = {"ns", "us", "\u00b5s", "ms", "s", "m", "h", "hr", "d", "w", "wk"}
_UNIT_PREFIXES = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_MAC_DIGITS = frozenset((12, 16, 40))
_LONGEST_MAC = 59
_LONGEST_IP = 45
_MOST_GROUPS = 9
"""More than an IPv6 address has."""
_UUID_LENGTH = 36
_UUID_DASHES = frozenset((8, 12, 16, 20))
"""How many digits stand before each dash."""


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and not text.strip(hexdigits)


def _uuid(version: str = "", variant: str = "") -> Callable[[str], bool]:
    """Hexadecimal digits in five groups, with or without dashes between them.

    ``version`` is the first digit of the third group, ``variant`` has the allowed ones of the fourth.
    """

    def check(text: str) -> bool:
        if len(text) > _UUID_LENGTH:
            return False
        plain = text.replace("-", "")
        if (
            not _is_hex(plain, 32)
            or (version and plain[12] != version)
            or (variant and plain[16].lower() not in variant)
        ):
            return False
        *dashes, _ = accumulate(map(len, text.split("-")))
        return _UUID_DASHES.issuperset(dashes) and len(set(dashes)) == len(dashes)

    return check


def _bson_object_id(text: str) -> bool:
    return _is_hex(text, 24)


def _mac(text: str) -> bool:
    """Bytes separated by colons or dashes, pairs of bytes separated by dots, or digits alone (``net.ParseMAC``)."""
    if len(text) > _LONGEST_MAC:
        return False
    if text[2:3] in {":", "-"}:
        groups, size = text.split(text[2]), 2
    elif text[4:5] == ".":
        groups, size = text.split("."), 4
    else:
        groups, size = [text], len(text)
    return len(groups) * size in _MAC_DIGITS and all(_is_hex(group, size) for group in groups)


def _ssn(text: str) -> bool:
    return any(has_pattern(text, form) for form in (b"000-00-0000", b"000 00 0000", b"000-00 0000", b"000 00-0000"))


def _hex_color(text: str) -> bool:
    color = text.removeprefix("#")
    return _is_hex(color, 3) or _is_hex(color, 6)


def _rgb_color(text: str) -> bool:
    if not text.startswith("rgb(") or not text.endswith(")"):
        return False
    parts = [part.strip(_SPACE) for part in text[4:-1].split(",", 3)]
    return len(parts) == 3 and all(
        len(part) <= 3 and only_digits(part) and int(part) < 256 and part == str(int(part)) for part in parts
    )


def _sloppy(address: str) -> str:
    """The address without the leading zeros that older Go accepted."""
    groups = [group.split(".", 4) for group in address.split(":", _MOST_GROUPS)]
    return ":".join(".".join(number.lstrip("0") or number[:1] for number in group) for group in groups)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in text or len(text) > _LONGEST_IP:  # Python reads zones, net.ParseIP does not
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _sloppy_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    return _address(_sloppy(text))


def _ipv4(text: str) -> bool:
    return "." in text and _sloppy_address(text) is not None


def _ipv6(text: str) -> bool:
    return ":" in text and _address(text) is not None


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    found = _sloppy_address(address)
    if not slash or found is None:
        return False
    try:
        return parse_uint(bits) <= (32 if found.version == 4 else 128)
    except ValueError:
        return False


def _date(text: str) -> bool:
    if not has_pattern(text, b"0000-00-00"):
        return False
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    try:
        # Go has a year 0, Python has none; 2000 is a leap year too.
        dt.date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    date, _, time = text.replace("T", "t").replace("Z", "z").partition("t")
    time = time.partition("t")[0]
    return _date(date) and _is_clock(time[:8]) and _is_zoned(time[8:])


def _is_clock(text: str) -> bool:
    """``hh:mm:ss``."""
    return has_pattern(text, b"00:00:00") and text[:2] <= "23" and text[3:5] <= "59" and text[6:] <= "59"


def _is_zoned(text: str) -> bool:
    """A fraction of a second after any one character, and a zone."""
    if text.endswith("z"):
        fraction = text[:-1]
    else:
        fraction, zone = text[:-6], text[-6:]
        if not has_pattern(zone, b"+00:00") and not has_pattern(zone, b"-00:00"):
            return False
    return not fraction or (fraction[0] != "\n" and only_digits(fraction[1:]))


def _duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        return _loose_duration(text)
    return True


def _loose_duration(text: str) -> bool:
    """Numbers with units, and anything between them; at least one unit must be known."""
    known, at, end = False, 0, len(text)
    while at < end:
        number, at = run(text, at, _DIGITS)
        if not number:
            at += 1
            continue
        _, at = run(text, at, _SPACES)
        unit, at = run(text, at, _IN_UNIT)
        if not unit:
            continue
        try:
            parse_int(number)
        except ValueError:
            return False
        known = known or unit.lower() in _UNITS or unit.lower().startswith(_UNIT_PREFIXES)
    return known


def _byte(text: str) -> bool:
    if not text or len(text) % 4 or not text.isascii():
        return False
    return not text.removesuffix("=").removesuffix("=").encode().translate(None, _BASE64)


def _host_name(text: str) -> bool:
    """RFC 1034 labels, with letters and symbols of any script: one label, or several and a top level of letters."""
    if len(text) > 255 or len(text.encode("utf-8", "surrogatepass")) > 255:
        return False
    *labels, top = text.split(".")
    if not labels:
        # A single label may have a dash only as its second character: so Go's pattern says.
        return _fits_label(top) and "-" not in top[:1] + top[2:]
    if not all(_fits_label(label) and label[0] != "-" != label[-1] for label in labels):
        return False
    return len(top) >= 2 and _fits_label(top) and _characters().letters(top)


def _fits_label(text: str) -> bool:
    return 0 < len(text.encode("utf-8", "surrogatepass")) <= 63 and _characters().of_labels(text)


class _Characters:
    """The characters of host names, by Unicode 15.0 as in Go, whatever version Python has."""

    def __init__(self) -> None:
        self._of_labels = matcher(r"^[-a-zA-Z0-9\p{S}\p{L}]+$")
        self._letters = matcher(r"^[a-zA-Z\p{L}]+$")
        # RE2 has Unicode 15.1, which added these.
        self._newer = matcher(r"[\x{2FFC}-\x{2FFF}\x{31EF}\x{2EBF0}-\x{2EE5D}]")

    def of_labels(self, text: str) -> bool:
        """Letters, symbols, digits and dashes."""
        if text.isascii():
            return _IN_LABEL.issuperset(text)
        return self._of_labels(text) and not self._newer(text)

    def letters(self, text: str) -> bool:
        """Letters only."""
        if text.isascii():
            return text.isalpha()
        return self._letters(text) and not self._newer(text)


@cache
def _characters() -> _Characters:
    """Compiled when the first host name is checked."""
    return _Characters()


def _isbn10(text: str) -> bool:
    written = text.translate(_NO_SPACE_OR_DASH)
    if len(written) != 10 or not only_digits(written[:-1] + written[-1].replace("X", "0")):
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(written)) % 11 == 0


def _isbn13(text: str) -> bool:
    written = text.translate(_NO_SPACE_OR_DASH)
    if len(written) != 13 or not only_digits(written):
        return False
    return sum((1 if i % 2 == 0 else 3) * int(d) for i, d in enumerate(written)) % 10 == 0


def _credit_card(text: str) -> bool:
    written = text.encode("ascii", "ignore").translate(None, _NO_DIGITS).decode()
    if len(written) > _CREDIT_CARD_LENGTH or not _is_card_number()(written):
        return False
    total = 0
    for i, digit in enumerate(reversed(written)):
        doubled = int(digit) * (2 if i % 2 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


@cache
def _is_card_number() -> Callable[[str], bool]:
    """Compiled when the first card is checked: most servers see none."""
    return matcher(_CREDIT_CARD)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _bson_object_id,
    "uri": is_uri,
    "email": is_mailbox,
    "hostname": _host_name,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "89ab"),
    "uuid5": _uuid("5", "89ab"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _ssn,
    "hexcolor": _hex_color,
    "rgbcolor": _rgb_color,
    "byte": _byte,
    "password": lambda _text: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: len(text) <= LABEL_LENGTH and is_dns_label(text),
    "k8slongname": lambda text: len(text) <= SUBDOMAIN_LENGTH and is_dns_subdomain(text),
}


def string_format(name: str) -> Callable[[str], bool] | None:
    """The check of a format by its name, ignoring dashes; None if the format is not enforced."""
    return FORMATS.get(name.replace("-", ""))


def enforced(types: tuple[str, ...], name: str) -> str:
    """The format, if it is enforced for values of ``types``; otherwise empty."""
    only = types[0] if len(types) == 1 else ""
    if only in {"", "string"}:
        return name if string_format(name) else ""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(only, ())
    return name if name in known else ""
